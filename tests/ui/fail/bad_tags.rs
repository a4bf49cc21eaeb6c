use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", tags = "billing nightly")]
fn blank() {}

#[scheduled(fixed_rate = "5s", tags = ["billing", "billing"])]
fn twice() {}

#[scheduled(fixed_rate = "5s", tags = [])]
fn none() {}

#[scheduled(fixed_rate = "5s", tags = [billing])]
fn no_text() {}

fn main() {}
