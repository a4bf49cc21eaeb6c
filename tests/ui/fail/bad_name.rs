use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", name = "")]
fn empty() {}

#[scheduled(fixed_rate = "5s", name = " report")]
fn blank_before() {}

#[scheduled(fixed_rate = "5s", name = "a\nb")]
fn line_break() {}

#[scheduled(fixed_rate = "5s", name = report)]
fn word() {}

fn main() {}
