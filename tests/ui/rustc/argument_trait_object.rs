use scheduler::scheduled;

trait Mail {}

#[scheduled(fixed_rate = "5s")]
fn send(_mail: dyn Mail) {}

fn main() {}
