use scheduler::job;

#[job(name = "zero", version = 0)]
fn zero(#[payload] _it: u8) {}

#[job(name = "none", version = 2)]
fn none() {}

#[job(name = "first", upgrade = from_v1)]
fn first(#[payload] _it: u8) {}

#[job(name = "text", version = 2, upgrade = "from_v1")]
fn text(#[payload] _it: u8) {}

#[job(name = "blank", alias = " blank")]
fn blank(#[payload] _it: u8) {}

fn main() {}
