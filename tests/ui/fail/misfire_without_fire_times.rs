use scheduler::scheduled;

#[scheduled(fixed_delay = "5s", misfire = "skip")]
fn delayed() {}

#[scheduled(initial_delay = "5s", misfire = "skip")]
fn once() {}

fn main() {}
