use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", dst_gap = "run_after", dst_overlap = "first")]
fn dst() {}

#[scheduled(fixed_rate = "5s", zone = "Europe/Berlin")]
fn zone() {}

#[scheduled(fixed_rate = "5s", skip_days = "holidays")]
fn skip_days_rate() {}

#[scheduled(cron = "@daily", skip_days = "")]
fn skip_days_nameless() {}

#[scheduled(cron = "0 0 9 * * *", initial_delay = "5s")]
fn initial_delay() {}

#[scheduled(fixed_rate = "5s", retry(base = "1s"))]
fn retry() {}

#[scheduled(fixed_rate = "5s", retry(max = 3, base = "10s", cap = "5s"))]
fn retry_base_longer() {}

#[scheduled(fixed_rate = "5s", retry(max = 3, base = "10m"))]
fn retry_base_longer_than_default() {}

#[scheduled(cron = "0 0 9 * * *", time_unit = "seconds")]
fn time_unit() {}

#[scheduled(fixed_rate = "5s", jitter = "5s")]
fn jitter_as_long() {}

#[scheduled(fixed_rate = "${every:1m}", jitter = 2, time_unit = "minutes")]
fn jitter_longer_than_default() {}

#[scheduled(fixed_rate = "5s", max_concurrent = 4)]
fn max_concurrent_default() {}

#[scheduled(fixed_rate = "5s", overlap = "queue_one", max_concurrent = 4)]
fn max_concurrent_queue_one() {}

#[scheduled(fixed_delay = "5s", overlap = "allow")]
fn overlap_delayed() {}

#[scheduled(initial_delay = "5s", overlap = "allow")]
fn overlap_once() {}

#[scheduled(fixed_delay = "5s", misfire = "skip")]
fn misfire_delayed() {}

#[scheduled(initial_delay = "5s", misfire = "skip")]
fn misfire_once() {}

#[scheduled(initial_delay = "5s", on_error = "stop")]
fn on_error() {}

#[scheduled(at = "2027-01-01T09:00:00Z", until = "2027-01-02T00:00:00Z")]
fn end_until() {}

#[scheduled(initial_delay = "5s", max_runs = 5)]
fn end_max_runs() {}

#[scheduled(at = "2027-01-01T09:00:00Z", initial_delay = "5s")]
fn end_delayed() {}

#[scheduled(at = "2027-01-01T09:00:00Z", cron = "@daily")]
fn end_two_triggers() {}

fn main() {}
