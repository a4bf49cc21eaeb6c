use scheduler::job;

#[job(name = "number")]
fn number() -> u8 {
    7
}

#[job(name = "generic")]
fn generic<T>(#[payload] _it: T) {}

fn main() {}
