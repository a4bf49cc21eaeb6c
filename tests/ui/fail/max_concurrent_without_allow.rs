use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", max_concurrent = 4)]
fn default() {}

#[scheduled(fixed_rate = "5s", overlap = "queue_one", max_concurrent = 4)]
fn queue_one() {}

fn main() {}
