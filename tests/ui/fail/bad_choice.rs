use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", overlap = "queue-one", misfire = "catchUp")]
fn spelt() {}

#[scheduled(cron = "@daily", on_error = "ignore", dst_gap = "", dst_overlap = "both ")]
fn unknown() {}

#[scheduled(fixed_rate = "5s", overlap = allow)]
fn word() {}

fn main() {}
