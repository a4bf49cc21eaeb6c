#![deny(warnings)]

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
    assert_eq!(scheduler::__private::entries().len(), 3);
}
