mod reexport {
    pub use scheduler as timing;
}

mod module {
    use super::reexport::timing::scheduled as every;

    #[every(fixed_rate = "1s", crate = crate::reexport::timing)]
    #[every(fixed_rate = "2s", name = "other", crate = super::reexport::timing)]
    pub(super) fn tick() {}
}

fn main() {
    let names: Vec<&str> = scheduler::entries().iter().map(|entry| entry.name()).collect();
    assert_eq!(names, ["tick", "other"]);
    module::tick();
}
