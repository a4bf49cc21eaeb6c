use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", until = "2027-01-01T00:00:00")]
fn without_offset() {}

#[scheduled(at = "2027-01-01")]
fn without_time() {}

#[scheduled(at = "2027-02-29T09:00:00Z")]
fn no_such_day() {}

#[scheduled(at = "tomorrow")]
fn no_instant() {}

#[scheduled(fixed_rate = "5s", until = 2027)]
fn number() {}

fn main() {}
