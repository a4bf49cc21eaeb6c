use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn raw(_pointer: *const u8) {}

#[scheduled(fixed_rate = "5s")]
fn twice(_pointer: *const *mut u8) {}

#[scheduled(fixed_rate = "5s")]
fn text(_pointer: *const str) {}

fn main() {}
