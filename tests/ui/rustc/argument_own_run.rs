use std::cell::Cell;

use scheduler::scheduled;

// It has the name of the scheduler's own type, but is another one.
struct Run(Cell<u8>);

#[scheduled(fixed_rate = "5s")]
fn race(run: &Run) {
    run.0.set(1);
}

fn main() {}
