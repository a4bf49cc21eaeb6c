//! A task is named after its function: where it is one of several, has a raw identifier, or stands inside another function.

use scheduler::{Attribute, scheduled};

#[scheduled(fixed_rate = "1s")]
/// Documentation in between.
#[scheduler::scheduled(fixed_delay = "2s",)]
#[inline]
#[scheduled(initial_delay = "3s", name = "once")]
#[scheduled(cron = "0 0 6 * * *")]
fn often() {}

#[scheduled(fixed_rate = "1s")]
fn r#type() {}

#[scheduled(fixed_rate = "1s")]
#[scheduled(fixed_rate = "2s")]
async fn r#match() {}

#[scheduled(fixed_rate = "1s")]
fn straße() {}

mod r#mod {
    use scheduler::scheduled;

    #[scheduled(fixed_rate = "1s")]
    fn r#fn() {}
}

#[scheduled(cron = "-", zone = "not looked at")]
fn off() {}

fn main() {
    #[scheduled(fixed_rate = "1s")]
    fn tick() {}

    {
        #[scheduled(fixed_rate = "2s")]
        async fn tock() {}
    }

    let entries = scheduler::__private::entries();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.rsplit("::").next().unwrap()).collect();
    assert_eq!(names, [
        "often", "often-2", "once", "often-4", "type", "match", "match-2", "straße", "off", "tick", "tock", "fn",
    ]);
    assert!(entries[..4].iter().all(|entry| entry.function == "often"));
    assert_eq!(entries[1].attribute(Attribute::FixedDelay), Some("2s"));
    assert_eq!(entries[8].attribute(Attribute::Cron), Some("-"));
    assert!(entries[9..=10].iter().all(|entry| entry.module_path == module_path!()));
    r#type();
    tick();
}
