mod reexport {
    pub use scheduler as timing;
}

mod module {
    use super::reexport::timing::scheduled as every;

    #[every(fixed_rate = "1s", crate = crate::reexport::timing)]
    #[every(fixed_rate = "2s", name = "other", crate = super::reexport::timing)]
    pub(super) fn tick() {}
}

mod library {
    pub use scheduler;

    macro_rules! every_minute {
        ($name:ident) => {
            #[$crate::library::scheduler::scheduled(
                fixed_rate = "1m",
                crate = $crate::library::scheduler
            )]
            fn $name() {}
        };
    }
    pub(crate) use every_minute;
}
library::every_minute!(from_library);

fn main() {
    let names: Vec<&str> = scheduler::__private::entries().iter().map(|entry| entry.name.rsplit("::").next().unwrap()).collect();
    assert_eq!(names, ["from_library", "tick", "other"]);
    module::tick();
}
