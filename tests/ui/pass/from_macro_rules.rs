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

macro_rules! every_second {
    ($name:ident, $method:ident, $body:block) => {
        #[scheduled(fixed_rate = "1s")]
        fn $name() $body

        #[scheduled]
        impl Owner {
            #[scheduled(fixed_rate = "1s")]
            fn $method(&self) $body
        }
    };
}
pub struct Owner;
every_second!(with_block, method_with_block, { println!("tick") });

fn main() {
    let entries = scheduler::__private::entries();
    assert_eq!(entries[0].name, "one");
    assert_eq!(entries[0].attribute(Attribute::FixedRate), Some("1s"));
    assert!(entries[1].name.ends_with("::typed"));
    assert_eq!(entries[2].function, "Owner::method_with_block");
    assert_eq!(entries[3].function, "with_block");
    first().unwrap();
}
