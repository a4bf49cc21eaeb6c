use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", scheduler = "")]
fn empty() {}

#[scheduled(fixed_rate = "5s", scheduler = "io ")]
fn blanks() {}

#[scheduled(fixed_rate = "5s", pool = "io")]
fn other() {}

fn main() {}
