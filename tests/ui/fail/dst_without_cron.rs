use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", dst_gap = "run_after", dst_overlap = "first")]
fn rate() {}

fn main() {}
