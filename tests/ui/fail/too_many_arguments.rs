use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
#[rustfmt::skip]
fn thirteen(_: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _m: &u8) {}

fn main() {}
