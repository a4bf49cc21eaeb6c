use scheduler::scheduled;

#[scheduled(at = "2027-01-01T09:00:00Z", until = "2027-01-02T00:00:00Z")]
fn until() {}

#[scheduled(initial_delay = "5s", max_runs = 5)]
fn max_runs() {}

#[scheduled(at = "2027-01-01T09:00:00Z", initial_delay = "5s")]
fn delayed() {}

#[scheduled(at = "2027-01-01T09:00:00Z", cron = "@daily")]
fn two_triggers() {}

fn main() {}
