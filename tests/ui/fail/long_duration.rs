use scheduler::scheduled;

#[scheduled(initial_delay = "99999999999d")]
fn initial_delay() {}

#[scheduled(fixed_rate = "1s", timeout = "36526d")]
fn timeout() {}

fn main() {}
