use scheduler::scheduled;

#[scheduled(initial_delay = "5s", on_error = "stop")]
fn once() {}

fn main() {}
