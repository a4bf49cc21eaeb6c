use scheduler::scheduled;

#[scheduled(fixed_rate = "5x")]
fn unit() {}

#[scheduled(fixed_delay = "1s 1h")]
fn order() {}

#[scheduled(initial_delay = "P1Y")]
fn iso() {}

#[scheduled(fixed_rate = "99999999999999999999d")]
fn too_long() {}

fn main() {}
