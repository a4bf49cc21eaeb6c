//! The clients of the pool, each on its own thread.

use std::time::Duration;

use scheduler_core::{Body, Clock, ManualClock, ScheduledThreadPool, Task};

use super::watch::Watches;

const MS: Duration = Duration::from_millis(1);

/// A user of the pool.
#[derive(Clone, Copy)]
pub(super) enum Client {
    /// Submits tasks that run once, and cancels every third.
    Submitter,
    /// Submits tasks that recur, asks them to stop, and cancels two.
    Recurrer,
    /// Submits futures that sleep on the pool's clock, and cancels one.
    Dreamer,
    /// Changes the number of workers.
    Resizer,
    /// Lets time pass.
    Mover,
}

impl Client {
    pub(super) const ALL: [Self; 5] =
        [Self::Submitter, Self::Recurrer, Self::Dreamer, Self::Resizer, Self::Mover];

    pub(super) fn act(self, pool: &ScheduledThreadPool, clock: &ManualClock, watches: &Watches) {
        match self {
            Self::Submitter => submit(pool, clock, watches),
            Self::Recurrer => recur(pool, clock, watches),
            Self::Dreamer => dream(pool, clock, watches),
            Self::Resizer => resize(pool),
            Self::Mover => (0..4).for_each(|_| clock.advance(MS)),
        }
    }
}

fn submit(pool: &ScheduledThreadPool, clock: &ManualClock, watches: &Watches) {
    for number in 0..14 {
        let delay = MS * [0, 0, 1, 2, 100][number % 5];
        let watch = watches.one_run(clock.now() + delay);
        let accepted = pool.schedule(delay, watch.body(clock)).ok();
        let Some(accepted) = accepted.map(|handle| watches.add(watch, handle)) else { continue };
        match number % 6 {
            2 => accepted.cancel(),
            5 => accepted.cancel_now(),
            _ => {}
        }
    }
}

fn recur(pool: &ScheduledThreadPool, clock: &ManualClock, watches: &Watches) {
    let tasks: [fn(Body) -> Task<()>; 4] = [
        |body| Task::at_fixed_rate(MS, body),
        |body| Task::with_fixed_delay(MS, body),
        |body| Task::at_fixed_rate(MS * 2, body),
        |body| Task::with_fixed_delay(MS * 2, body),
    ];
    let mut accepted = Vec::new();
    for task in tasks {
        let watch = watches.many_runs(clock.now());
        let task = task(Body::new(watch.body(clock)));
        accepted.extend(pool.submit_task(task).ok().map(|handle| watches.add(watch, handle)));
    }
    for accepted in &accepted {
        accepted.handle.ask_to_stop();
    }
    for accepted in accepted.iter().skip(1).step_by(2) {
        accepted.cancel();
    }
}

fn dream(pool: &ScheduledThreadPool, clock: &ManualClock, watches: &Watches) {
    for number in 0..4 {
        let watch = watches.one_run(clock.now());
        let (mut body, sleep) = (watch.body(clock), pool.sleep(MS));
        let future = async move {
            sleep.await;
            body();
        };
        let accepted = pool.schedule_async(Duration::ZERO, future).ok();
        let Some(accepted) = accepted.map(|handle| watches.add(watch, handle)) else { continue };
        match number {
            1 => accepted.cancel(),
            2 => accepted.handle.ask_to_stop(),
            _ => {}
        }
    }
}

fn resize(pool: &ScheduledThreadPool) {
    for size in [1, 4, 0, 3] {
        pool.set_core_size(size);
        pool.purge();
    }
}
