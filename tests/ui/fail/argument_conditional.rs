use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn sometimes(#[cfg(unix)] _path: &std::path::PathBuf) {}

fn main() {}
