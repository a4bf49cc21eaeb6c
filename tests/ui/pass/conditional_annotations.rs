//! A task has the same name in every build: absent annotations do not count.

use scheduler::scheduled;

#[cfg_attr(any(), scheduled(fixed_rate = "10s"))]
#[cfg_attr(not(any()), scheduled(fixed_rate = "1h"))]
#[cfg_attr(all(), cfg_attr(any(), scheduled(fixed_rate = "2h")))]
#[cfg_attr(all(), cfg_attr(all(), scheduled(fixed_rate = "3h")))]
#[scheduled(fixed_rate = "4h")]
#[cfg_attr(all(), scheduled(fixed_rate = "5h", name = "named"))]
#[scheduled(fixed_rate = "6h")]
fn rotate() {}

pub struct Logs;

#[scheduled]
impl Logs {
    #[cfg_attr(any(), scheduled(fixed_rate = "10s"))]
    #[cfg_attr(not(any()), scheduled(fixed_rate = "1h"))]
    #[cfg_attr(all(), cfg_attr(any(), scheduled(fixed_rate = "2h")))]
    #[cfg_attr(all(), cfg_attr(all(), scheduled(fixed_rate = "3h")))]
    #[scheduled(fixed_rate = "4h")]
    #[cfg_attr(all(), scheduled(fixed_rate = "5h", name = "named-too"))]
    #[scheduled(fixed_rate = "6h")]
    fn rotate(&self) {}
}

fn main() {
    let entries = scheduler::__private::entries();
    let names: Vec<&str> =
        entries.iter().map(|entry| entry.name.trim_start_matches(entry.module_path)).collect();
    assert_eq!(names[..5], ["::rotate", "::rotate-2", "::rotate-3", "named", "::rotate-5"]);
    assert_eq!(
        names[5..],
        ["::Logs::rotate", "::Logs::rotate-2", "::Logs::rotate-3", "named-too", "::Logs::rotate-5"]
    );
}
