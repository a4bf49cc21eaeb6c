use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", overlap = "queue-one", misfire = "catchUp")]
fn choice_spelt() {}

#[scheduled(cron = "@daily", on_error = "ignore", dst_gap = "", dst_overlap = "both ")]
fn choice_unknown() {}

#[scheduled(fixed_rate = "5s", overlap = allow)]
fn choice_word() {}

#[scheduled(fixed_rate = "5s", max_runs = 0)]
fn count_never() {}

#[scheduled(fixed_rate = "5s", overlap = "allow", max_concurrent = "many")]
fn count_word() {}

#[scheduled(fixed_rate = "5s", max_runs = 2.5)]
fn count_fraction() {}

#[scheduled(fixed_rate = "5s", enabled = "yes")]
fn enabled_text() {}

#[scheduled(fixed_rate = "5s", enabled = 0)]
fn enabled_number() {}

#[scheduled(fixed_rate = "5s", enabled = cfg!(unix))]
fn enabled_call() {}

#[scheduled(fixed_rate = "5s", disabled = true)]
fn enabled_other() {}

#[scheduled(fixed_rate = "5s", name = "")]
fn name_empty() {}

#[scheduled(fixed_rate = "5s", name = " report")]
fn name_blank_before() {}

#[scheduled(fixed_rate = "5s", name = "a\nb")]
fn name_line_break() {}

#[scheduled(fixed_rate = "5s", name = report)]
fn name_word() {}

#[scheduled(fixed_rate = "5s", tags = "billing nightly")]
fn tags_blank() {}

#[scheduled(fixed_rate = "5s", tags = ["billing", "billing"])]
fn tags_twice() {}

#[scheduled(fixed_rate = "5s", tags = [])]
fn tags_none() {}

#[scheduled(fixed_rate = "5s", tags = [billing])]
fn tags_no_text() {}

#[scheduled(fixed_rate = "5s", pool = "")]
fn scheduler_empty() {}

#[scheduled(fixed_rate = "5s", pool = "io ")]
fn scheduler_blanks() {}

#[scheduled(fixed_rate = "5s", executor = "io")]
fn scheduler_other() {}

#[scheduled(fixed_rate = 5, time_unit = "secs")]
fn time_unit_misspelt() {}

#[scheduled(fixed_rate = 5, time_unit = TimeUnit::SECONDS)]
fn time_unit_path() {}

#[scheduled(cron = "0 0 9 * * *", zone = "Europe/Belrin")]
fn zone_misspelt() {}

#[scheduled(cron = "0 0 9 * * *", zone = "Mars/Olympus_Mons")]
fn zone_unknown() {}

#[scheduled(cron = "")]
fn empty_cron() {}

#[scheduled(fixed_rate = "")]
fn empty_rate() {}

#[scheduled(cron = "0 0 9 * * *", zone = "")]
fn empty_zone() {}

fn main() {}
