use scheduler::scheduled;

#[scheduled(fixed_rate = "5s" timeout = "1s")]
fn behind_a_text() {}

#[scheduled(fixed_rate = 5 time_unit = "seconds")]
fn behind_a_number() {}

#[scheduled(fixed_rate = "5s", retry(max = 3 base = "1s"))]
fn in_parentheses() {}

fn main() {}
