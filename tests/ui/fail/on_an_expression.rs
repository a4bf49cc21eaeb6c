use scheduler::scheduled;

fn outer() {
    let closure = #[scheduled(fixed_rate = "5s")]
    || {};
    closure();
}

fn main() {}
