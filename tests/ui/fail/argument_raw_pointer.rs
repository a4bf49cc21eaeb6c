use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn raw(_pointer: *const u8) {}

fn main() {}
