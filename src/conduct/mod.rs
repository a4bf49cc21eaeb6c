//! Conducts tasks: when each runs, what becomes of runs that meet, and what one can tell a task.
//!
//! # What this room is for
//!
//! Every task, whatever its rule, is one engine's task that is paced by a [`Conductor`]. The conductor
//! answers when the task is due next, starts its runs, knows what became of them, and is told by a
//! [`Control`] to run the task now, to pause it, to go by another rule, to end it.
//!
//! | layer | files | knows | never |
//! |---|---|---|---|
//! | core | `rule`, `policy`, `chance`, `asking`, `timetable`, `passing`, `lookahead`, `meanwhile`, `judge`, `belated` | fire times, policies | a clock, a lock, a run |
//! | shell | `conductor`, `state`, `outlook`, `tale`, `start`, `future`, `finish`, `beside` | the lock, runs, events | decides about fire times |
//! | control | `control`, `control_error`, `snapshot` | wishes, and what is shown | starts anything by itself |
//!
//! # The policies, and what happens where two meet
//!
//! A *fire time* is what the rule asks for. It is *due* at its fire time plus `jitter`; whatever is
//! said below of the time at which a fire time comes is said of that instant. A run is *in progress*
//! from its start to the end of its last attempt, the waits between attempts included.
//!
//! | rule | fire times come while a run is in progress | can be missed |
//! |---|---|---|
//! | cron | yes | yes |
//! | fixed rate | yes | yes |
//! | custom trigger | those that the trigger gives, asked after the run, and that have passed | only by 60 s: the next is not known before the run |
//! | fixed delay | no, but during a manual run | no: it runs late |
//! | once | no, but during a manual run | no: it runs late |
//!
//! | when | `overlap` | `misfire` |
//! |---|---|---|
//! | in time, no run in progress | no say | no say |
//! | a fire time comes while a run is in progress | decides: `skip` skips it, `queue_one` lets the latest follow the run and skips the others, `allow` starts it beside | no say |
//! | fire times pass, no run in progress: no free thread, suspended, clock set forward | no say | decides: `run_once` starts the latest and skips the others, `skip` skips all, `catch_up` starts each, one after the other |
//! | the fire time behind a run (`queue_one`) finds no free thread | no say any more | decides as for any other; it counts as waiting since the end of that run |
//! | the run beside (`allow`) of a fire time finds no free thread | no say | decides when there is one: until it begins, its fire time waits as any other |
//! | further fire times come while missed ones are caught up | `skip` skips those that come during such a run, `queue_one` lets the latest of each such run follow, `allow` starts all at once | `catch_up` goes on with the missed ones |
//! | the wall clock is set back | no fire time is served twice; a fire time that waits for a thread keeps its turn | as before |
//!
//! | policy | meets | what happens |
//! |---|---|---|
//! | pause | a fire time | it is skipped as `paused`, never replayed, also when it was missed, queued or to be caught up |
//! | pause | a fixed delay that is due | it is skipped once; the delay begins anew when the task is resumed |
//! | pause | once, or an attempt that is due | it waits until the task is resumed |
//! | pause | a run in progress | it goes on; `overlap` decides about what comes meanwhile |
//! | the end of a pause, by hand or by its time | fire times | those that had come by then and wait are skipped as `paused`, also what was to follow a run in progress; later ones are not |
//! | run now | no run in progress | it starts at once, also while paused; the schedule does not move |
//! | run now | a run in progress | `skip` refuses, `queue_one` lets it follow, before a fire time, `allow` starts it beside |
//! | run now | a fire time that comes meanwhile | `overlap` decides; a fixed delay that `skip` skips begins anew after that run; a one-time task follows; what was to follow before gives way, unless all are caught up |
//! | retry | a fire time that comes between two attempts | `overlap` decides: the run is in progress |
//! | retry | timeout | the limit is that of one attempt; an attempt that timed out is tried again |
//! | retry | `on_error = "stop"` | the task ends after the last attempt only |
//! | retry | once, and a run beside its last one | the task ends after the last attempt of either |
//! | retry | the scheduler stops | there is no further attempt; the run ends as its last one did |
//! | timeout | async | its future is dropped where it awaits; outcome `Timeout` |
//! | timeout | plain function | it is asked to stop; when it returns its outcome is `Timeout`, whatever it returned |
//! | `on_error = "stop"` | runs beside (`allow`) | no further run or attempt starts; attempts in progress finish |
//! | cancel run | a wait between attempts | the run is over at once; outcome `Cancelled` |
//! | cancel run | a task | goes on with its next fire time |
//! | cancel | a run in progress | it is asked to stop as by cancel run; the task ends with it |
//! | reschedule | a fire time that has come and was not started | it is skipped as `rescheduled`, in a pause as `paused` unless it is a one-time task's; so is one whose jitter is not over |
//! | reschedule | a run in progress | the new rule counts from the call; `overlap` decides about what comes before the run ends; with `allow`, what comes during a run of a delay or once is late |
//! | jitter | any rule | the same delay in every process: of the seed, the name of the task, and the fire time |
//!
//! A fire time that comes exactly when a run ends is in time. One that comes exactly now is not missed.
//!
//! # What it must never do
//!
//! Hold the lock of a task while it calls anything of others: a trigger of the user's, a body, a listener, a destructor of
//! theirs, the pool. Show a time at which nothing will start. Skip a fire time without an event and a
//! count.
//!
//! # States and invariants
//!
//! The engine asks the pace and runs the body of one task one after the other, so one thread at a time
//! works with the judge; it takes it out of the state where it asks a trigger of the user's. A run beside asks it
//! under the lock, where it asks no such trigger and nobody has its pending fire time in his hands. Everybody else
//! leaves *wishes* in the state and has the engine renew the task.
//!
//! # How a neighbour uses it
//!
//! The runner makes [`Parts`] of each planned task, a conductor of them ([`Conductor::make`]), and submits
//! the task by the [`Control`] it gets.

mod asking;
mod belated;
mod beside;
mod chance;
mod conductor;
mod control;
mod control_error;
mod finish;
mod future;
mod judge;
mod lookahead;
mod meanwhile;
#[cfg(feature = "bench")]
mod measure;
mod outlook;
mod passing;
mod policy;
mod rule;
mod snapshot;
mod start;
mod state;
mod tale;
#[cfg(test)]
mod tests;
mod timetable;
mod watch;

pub(crate) use conductor::Conductor;
pub(crate) use conductor::OnEnd;
pub(crate) use conductor::Parts;
pub(crate) use control::Control;
pub use control_error::ControlError;
#[cfg(feature = "bench")]
pub use measure::Conducted;
pub(crate) use policy::Policy;
pub use policy::Retry;
pub(crate) use rule::Rule;
pub use watch::Until;
pub use watch::failures;
pub use watch::runs;
pub use watch::successes;
