use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", crate = ::not_there)]
fn path_to_nowhere() {}

fn main() {}
