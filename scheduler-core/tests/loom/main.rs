//! Every interleaving of small models of the real pool, by loom.
//!
//! Each model is a handful of calls on two or three threads, with an assertion that holds in any
//! order. It is explored completely up to a number of preemptions: `LOOM_MAX_PREEMPTIONS`, 2 if not
//! set. A thread that no other will ever wake is a deadlock, which fails the model; so does a worker
//! that never leaves.
//!
//! | model | concurrent parts | file |
//! |---|---|---|
//! | L1 | submission, and a worker that goes to sleep | `submission` |
//! | L2 | submission, and the end of the pool | `submission` |
//! | L3 | cancel, a worker that takes the task, and a wait for it | `cancel` |
//! | L4 | cancel of a periodic task, and its way back into the queue | `cancel` |
//! | L5 | two due tasks and two workers, or a task that comes meanwhile | `workers` |
//! | L6 | completion, and waiting: blocked, polled with another waker, called back | `completion` |
//! | L7 | an idle worker's time-out, and submission | `workers` |
//! | L8 | a smaller pool, and a task that comes and is taken | `workers` |
//! | L9 | the last handle to a pool being dropped, and a running task that holds one | `ending` |
//! | L10 | `shutdown_now`, and workers taking what it hands out; `shutdown`, and what it cancels | `ending` |
//! | L11 | cancels, and who counts and drops the dead entries of the queue | `dead` |
//! | L12 | wake, poll, cancel and stop of a future | `futures` |
//! | L13 | events, a slow listener, and a flush | `events` |
//! | L14 | a clock being moved, and a wait being registered at it | `clock` |
//! | L15 | futures that sleep, their time, and the end of the pool | `alarms` |
//! | L16 | timers being armed and disarmed, workers that fire them, and the end of the pool | `timers` |
//! | L17 | tasks on their way into the queue, and the order in which they are taken | `order` |
//!
//! # Planted bugs
//!
//! A model that no bug can fail shows nothing. `ci/twins/` has patches that each plant a bug into the engine, with the
//! models that have to fail and how; `ci/twins.sh` checks that they do.
//!
//! # Rules
//!
//! Time ends no wait unless the model moves the clock. No lock of `std` is held across a call of the engine: loom
//! cannot see it.
//!
//! `ci/loom.sh` runs this; `ci/loom.sh deep` at bound 5.
#![cfg(loom)]

mod alarms;
mod cancel;
mod clock;
mod completion;
mod dead;
mod ending;
mod events;
mod futures;
mod kit;
mod order;
mod submission;
mod timers;
mod times;
mod workers;
