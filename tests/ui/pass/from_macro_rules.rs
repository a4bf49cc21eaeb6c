#![deny(warnings)]

use scheduler::{Attribute, scheduled};

macro_rules! every {
    ($vis:vis $name:ident, $period:expr, $option:ident = $value:literal) => {
        #[scheduled(fixed_rate = $period, $option = $value)]
        $vis fn $name() -> Result<(), std::fmt::Error> {
            Ok(())
        }
    };
}
every!(pub(crate) first, "1s", name = "one");

macro_rules! typed {
    ($output:ty, $($options:tt)*) => {
        #[scheduled($($options)*)]
        async fn typed() -> $output {
            Ok(())
        }
    };
}
typed!(std::io::Result<()>, cron = "0 0 6 * * *", zone = "UTC");

fn main() {
    let entries = scheduler::entries();
    assert_eq!(entries[0].name(), "one");
    assert_eq!(entries[0].attribute(Attribute::FixedRate), Some("1s"));
    assert!(entries[1].name().ends_with("::typed"));
    first().unwrap();
}
