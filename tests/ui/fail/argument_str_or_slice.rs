use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn text(_greeting: &str) {}

#[scheduled(fixed_rate = "5s")]
fn slice(_hosts: &[String]) {}

#[scheduled(fixed_rate = "5s")]
fn optional(_greeting: Option<&str>) {}

fn main() {}
