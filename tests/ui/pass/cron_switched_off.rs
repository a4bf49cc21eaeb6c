use scheduler::{Attribute, scheduled};

#[scheduled(cron = "-", zone = "not looked at")]
fn off() {}

fn main() {
    assert_eq!(scheduler::__private::entries()[0].attribute(Attribute::Cron), Some("-"));
}
