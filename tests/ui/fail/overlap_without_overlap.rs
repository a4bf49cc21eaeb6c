use scheduler::scheduled;

#[scheduled(fixed_delay = "5s", overlap = "allow")]
fn delayed() {}

#[scheduled(initial_delay = "5s", overlap = "allow")]
fn once() {}

fn main() {}
