//! A seeded simulation of the whole engine, on one thread and in no time.
//!
//! The *real* pool, with virtual workers and a manual clock, is taken through operations that a seed
//! has drawn; a reference model of a hundred and fifty lines is taken through the same, and after each
//! step both must tell the same story. A million seeds find cases that no author has thought of.
//!
//! | file | content |
//! |---|---|
//! | `plan`, `op`, `prng` | a seed becomes settings and a list of operations |
//! | `client`, `body`, `timer`, `stage`, `clock` | performs the operations on the real pool, and records the results |
//! | `model`, `timers`, `words` | computes the expected results |
//! | `world`, `reflect`, `moments`, `checks`, `tally`, `verdict` | driving both, and comparing |
//! | `campaign`, `corners` | many seeds; shortening the one that fails; what the plans reach |
//! | `plant`, `planted` | planted bugs: the proof that the simulation can fail |
//!
//! # One step
//!
//! A client does something to the pool; or a worker that has a reason to (it was woken, its time has
//! come, it has ended a run) takes a step; or time moves: steadily, to the next event, on the wall only
//! or while the monotonic clock stands; or something goes wrong: a worker is refused, one wakes for
//! no reason, a run ends early, a body panics or cancels itself, a destructor panics. A worker that
//! nothing has woken stays where it is, so a wake-up that the pool forgets is a task that never starts.
//!
//! # The invariants
//!
//! | | holds after each step |
//! |---|---|
//! | I1 | no body is entered before its due time, by the true clock |
//! | I2 | an accepted one-shot ends once: run, cancelled or drained; each handle says what the model says |
//! | I3 | no run of a task begins during another |
//! | I4 | workers take, and `shutdown_now` drains, in the order of (due, sequence) |
//! | I5 | a cancellation says that it won exactly if the body does not start any more |
//! | I6 | fire times are those of the grid, or of the end of the run before |
//! | I7 | all counters are those of the model, and each submission has its worker |
//! | I8 | what is due is taken by a worker that is free, and a worker waits for what is next, for no longer than the pool's slack; who is idle for too long leaves |
//! | I9 | a body is dropped once, as soon as its task has ended; the pool terminates exactly if nothing is left |
//! | I10 | a timer fires once for the time that it is armed for; it is notified that the clock was set back, and that it was dropped |
//! | I11 | a final state stays; the run state goes forward |
//! | I12 | the queue keeps nothing but what waits, and cancelled tasks only if its options say so |
//! | I13 | events and callbacks come once each, and say the same |
//! | I14 | a step reads the clock a bounded number of times, and none waits for the past |
//!
//! # How to replay a failure
//!
//! A failing seed prints its shortened operations and the command:
//!
//! ```text
//! TEST_SIM_SEED=11 cargo test -p scheduler-core --release --test simulation -- --nocapture
//! ```
//!
//! Add the seed to `tests/seeds.txt`, which runs first. `TEST_SIM_SEEDS` is how many seeds run,
//! and `TEST_SIM_FIRST` the first of them.
//!
//! # Rules
//!
//! A run depends on its seed alone: no real time, no thread within a seed, no iteration over a hash map. The model
//! shares no code with the engine.

mod body;
mod campaign;
mod checks;
mod client;
mod clock;
mod corners;
mod model;
mod moments;
mod op;
mod plan;
mod plant;
mod planted;
mod prng;
mod reflect;
mod stage;
mod tally;
mod timer;
mod timers;
mod verdict;
mod words;
mod world;
