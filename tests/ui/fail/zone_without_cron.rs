use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", zone = "Europe/Berlin")]
fn rate() {}

fn main() {}
