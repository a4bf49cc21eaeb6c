use scheduler::{Attribute, scheduled};

#[scheduled(fixed_rate = "1s")]
/// Documentation in between.
#[scheduler::scheduled(fixed_delay = "2s",)]
#[inline]
#[scheduled(initial_delay = "3s", name = "once")]
#[scheduled(cron = "0 0 6 * * *")]
fn often() {}

fn main() {
    let entries = scheduler::__private::entries();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.rsplit("::").next().unwrap()).collect();
    assert_eq!(names, ["often", "often-2", "once", "often-4"]);
    assert_eq!(entries[1].attribute(Attribute::FixedDelay), Some("2s"));
    assert!(entries.iter().all(|entry| entry.function == "often"));
}
