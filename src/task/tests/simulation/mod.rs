//! Random lives of tasks, under a checker.
//!
//! A seed decides everything: the zone and the instant at which it begins, the workers, the tasks with their
//! rules and policies, how each of their attempts goes, and what people and clocks do meanwhile. A world
//! simulates it on a clock of its own, and each task has a checker, which hears its events and knows nothing of
//! the planner but what `docs/policies.md` promises:
//!
//! * *nothing lost*: each fire time is run, or skipped with a reason; at rest none is overdue;
//! * *nothing twice*: each is decided once, and none runs twice, whatever the wall clock does;
//! * *nothing early*, and every run at a fire time of its rule, with jitter within its limit;
//! * *nothing overlapping*, unless `allow`, and then at most `max_concurrent`;
//! * *nothing silent*: while a run hangs, what is skipped is reported at growing distances;
//! * a pause starts no run of the schedule, an end none at all;
//! * attempts, waits, time limits, outcomes, streaks and counters are those of what was drawn;
//! * what the snapshot and the end of a run show as next is what comes, if no command does; so does what would
//!   come if the task were resumed.
//!
//! `specification` checks one task exactly.
//!
//! | file | content |
//! |---|---|
//! | `random` | numbers from a seed |
//! | `plan` | the plan of a seed |
//! | `times` | the fire times of one rule, and which of them are decided |
//! | `checker` | the promises for one task |
//! | `announced` | the next start that was shown, and whether it comes |
//! | `runs` | the promises for its runs in progress |
//! | `world` | clock, workers, tasks: goes through a plan |
//! | `random_lives` | many seeds, and bugs that are planted to be found |
//!
//! A checker never asks the planner. The fire times of cron come from the trigger, which
//! `scheduler-core/tests/cron_properties/` compares with a walk over every second.
//!
//! `TEST_SIM_SEEDS=100000 cargo test --release --lib simulation -- --nocapture` simulates
//! more seeds, and `TEST_SIM_SEED=7` one.

mod announced;
mod checker;
mod plan;
mod random_lives;
mod runs;
mod times;
mod world;
