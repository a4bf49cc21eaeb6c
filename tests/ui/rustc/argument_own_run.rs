use std::cell::Cell;

use scheduler::scheduled;

// Its name is that of the scheduler's own, but it is another type.
struct Run(Cell<u8>);

#[scheduled(fixed_rate = "5s")]
fn race(run: &Run) {
    run.0.set(1);
}

fn main() {}
