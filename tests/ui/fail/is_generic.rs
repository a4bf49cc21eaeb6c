use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn types<T: Default, const N: usize>() {}

#[scheduled(fixed_rate = "5s")]
fn lifetimes<'a>() {}

fn main() {}
