use scheduler::scheduled;

fn main() {
    let closure = #[scheduled(fixed_rate = "5s")]
    || {};
    closure();

    #[scheduled(fixed_rate = "5s")]
    let variable = 1;
    drop(variable);
}
