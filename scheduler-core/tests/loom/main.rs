//! Every interleaving of small models: the real pool, on threads that loom runs one step at a time.
//!
//! # What this room is for
//!
//! Each model is a handful of calls on two or three threads, and what has to hold whatever their
//! order. It is explored completely up to a number of preemptions: `LOOM_MAX_PREEMPTIONS`, 3 if not
//! set. A thread that nobody will ever wake is a deadlock, which fails the model; so does a worker
//! that never leaves.
//!
//! | model | what meets | file |
//! |---|---|---|
//! | L1 | submission of an earlier head, and the leader going to sleep | `submission` |
//! | L2 | submission, and shutdown | `submission` |
//! | L3 | cancel, and a worker taking the task | `cancel` |
//! | L4 | cancel of a periodic task, and its way back into the queue | `cancel` |
//! | L5 | two due tasks, and the hand-over between two workers, or one that comes meanwhile | `workers` |
//! | L6 | completion, and waiting: blocked, polled with another waker, called back | `completion` |
//! | L7 | an idle worker's time-out, and submission | `workers` |
//! | L8 | a smaller pool, and a task that comes and is taken | `workers` |
//! | L9 | the last end of a pool being dropped, and a running task that holds one | `ending` |
//! | L10 | `shutdown_now`, and workers taking what it hands out; `shutdown`, and what it cancels | `ending` |
//! | L11 | tasks and removals that are staged, and the worker that takes them in, or a close of the pool | `staging` |
//! | L12 | wake, poll and cancel of a future | `futures` |
//! | L13 | events, a slow listener, and a flush | `events` |
//! | L14 | a clock being moved, and a wait being registered at it | `clock` |
//! | L15 | futures that sleep, their time, and the end of the pool | `sleepers` |
//! | L16 | what workers take from the line, and what comes before it, the end of the pool, and who is to come for the next | `line` |
//!
//! # Planted bugs
//!
//! Each model has a twin or two: the same model in a child process, with one bug planted into the engine
//! (`sync::planted`) or into the models' clock. It has to fail, in the way the model says. A model that no bug can fail shows
//! nothing.
//!
//! # What it must never do
//!
//! Let time end a wait: no clock here does, unless the model moves it. Share anything with an engine's
//! thread through locks of `std` that are held across a call of the engine: loom cannot see them.
//!
//! `ci/loom.sh` runs this; `ci/loom.sh deep` at bound 5.
#![cfg(loom)]

mod cancel;
mod clock;
mod completion;
mod ending;
mod events;
mod futures;
mod kit;
mod line;
mod sleepers;
mod staging;
mod submission;
mod times;
mod workers;
