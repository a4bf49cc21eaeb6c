//! Annotations that macros write, on functions and on blocks of methods.

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

mod library {
    pub use scheduler;

    #[macro_export]
    macro_rules! sweeper {
        ($(#[$attr:meta])* $name:ident, $period:literal, $argument:ty) => {
            $(#[$attr])*
            pub struct $name;

            #[$crate::library::scheduler::scheduled(crate = $crate::library::scheduler)]
            impl $name {
                #[scheduled(fixed_rate = $period)]
                fn sweep(&self, _argument: $argument) {}
            }
        };
    }
}

struct Database;

sweeper!(#[derive(Debug)] Sweeper, "1m", &Database);

mod inner {
    crate::sweeper!(Other, "2m", Option<&'_ super::Database>);
}

fn main() {
    #[derive(Clone, Copy)]
    struct Local;

    #[scheduler::scheduled]
    impl Local {
        #[scheduled(initial_delay = "1s")]
        async fn once(&self) {}
    }

    let _ = (Sweeper, Database, inner::Other, Local);
    let entries = scheduler::__private::entries();
    assert_eq!(entries[0].name, "one");
    assert_eq!(entries[0].attribute(Attribute::FixedRate), Some("1s"));
    assert!(entries[1].name.ends_with("::typed"));
    assert_eq!(entries[2].function, "Owner::method_with_block");
    assert_eq!(entries[3].function, "with_block");
    first().unwrap();
    assert_eq!(entries.len(), 7);
}
