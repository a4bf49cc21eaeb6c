use scheduler::job;

#[job(name = "pair")]
fn pair(#[payload] _first: u8, #[payload] _second: u8) {}

fn main() {}
