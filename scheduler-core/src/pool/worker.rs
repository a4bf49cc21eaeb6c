//! The loop of a worker: take a task, run it, hand back what recurs.
//!
//! A thread and a virtual worker make the same [`step`](Worker::step). That of a virtual worker holds the outcome of
//! the run back, until [`finish`] makes it known.

use std::sync::Arc;

use super::entry::AnyItem;
use super::shared_worker::SharedWorker;
use super::shell::Shell;
use super::step::{Done, Take};
use super::workers::WorkerNumber;
use crate::task::current;
use crate::task::current::{AsWorker, ShownTask};
use crate::task::run::{Claim, Held, Ran, Rest, RunObserver, Verdict};
use crate::time::{Due, Now, Tick};

/// What a worker has done in one step.
pub(super) enum Step {
    /// It has run a task, or found that it had ended.
    Ran,
    /// It has run a task whose outcome is held back.
    Held(Box<Held>),
    Waits(Option<Tick>),
    Leaves,
}

/// A worker as its own thread sees it.
#[derive(Clone, Copy)]
pub(super) struct Worker<'a> {
    pub(super) shell: &'a Arc<Shell>,
    pub(super) number: WorkerNumber,
    pub(super) shared: &'a Arc<SharedWorker>,
    /// Whether the outcomes of runs are held back.
    pub(super) holds: bool,
}

/// The life of a worker on its own thread.
pub(super) fn work(shell: &Arc<Shell>, number: WorkerNumber) {
    let presence = Presence { shell, number, has_left: false };
    let Some(shared) = shell.shared_worker(number) else { return };
    let worker = Worker { shell, number, shared: &shared, holds: false };
    let as_worker = worker.enter();
    shell.clock.sharpen();
    shell.worker_arrived(number);
    let mut in_hand = InHand::new(&shared);
    loop {
        let seen = shared.gate.epoch();
        match worker.step(&mut in_hand) {
            Step::Ran => {}
            Step::Held(_) => unreachable!("a thread holds nothing back"),
            Step::Waits(until) => {
                shell.arena.give_away();
                shell.wait(&shared.gate, seen, until);
            }
            Step::Leaves => break,
        }
    }
    drop(in_hand);
    drop(as_worker);
    presence.leave();
}

impl Worker<'_> {
    /// The calling thread is the worker's while the answer lives.
    pub(super) fn enter(&self) -> AsWorker {
        let shown = Arc::clone(self.shared) as Arc<dyn ShownTask>;
        current::enter_as_worker(Arc::as_ptr(self.shell).addr(), shown)
    }

    /// Gives back the task that the worker has run, takes the next one, and runs it.
    pub(super) fn step(&self, in_hand: &mut InHand<'_>) -> Step {
        loop {
            let now = Now::read(&*self.shell.clock);
            let may_claim = in_hand.is_empty() && self.shared.activity.is_awake();
            if may_claim && let Some((task, armed)) = self.shell.claim(&self.shared.activity, now) {
                return self.run(task, now, armed, in_hand);
            }
            match self.shell.next(self.number, may_claim, in_hand.release(), now) {
                Take::Wait(until) => return Step::Waits(until),
                Take::Leave => return Step::Leaves,
                Take::Again => {}
                Take::Run(task, armed) => return self.run(task, now, armed, in_hand),
            }
        }
    }

    /// Runs a task that was taken from the queue.
    ///
    /// What has ended is dropped before the pool learns of that, which may be its end; it contains by itself
    /// what its user's destructors do.
    fn run(&self, task: AnyItem, now: Now, armed: Option<Due>, in_hand: &mut InHand<'_>) -> Step {
        let Self { shell, shared, holds, .. } = *self;
        cancel_if_overdue(shell, &task, now);
        let is_silent = shell.is_silent;
        let claim = Claim { now, armed, is_silent, by_worker: true, is_held: holds };
        match task.run(&claim, &**shell) {
            Ran::Nothing => {
                shared.activity.end(false);
                Step::Ran
            }
            Ran::Over(Verdict::Requeue(due), task) => {
                shared.activity.end(true);
                in_hand.done = Done::Recurs(task, due);
                Step::Ran
            }
            Ran::Over(Verdict::Ended(_), task) => {
                shared.activity.end(true);
                shell.arena.spend(task);
                Step::Ran
            }
            Ran::Suspended => Step::Ran,
            Ran::Held(held) => {
                shared.show_task(held.run.task());
                Step::Held(held)
            }
        }
    }
}

/// A task that a worker has run and not given back: it is shown where its clock panics, so that the pool can cancel it.
pub(super) struct InHand<'a> {
    shared: &'a SharedWorker,
    done: Done<AnyItem>,
}

impl<'a> InHand<'a> {
    pub(super) fn new(shared: &'a SharedWorker) -> Self {
        Self { shared, done: Done::Nothing }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        matches!(self.done, Done::Nothing)
    }

    #[inline]
    fn release(&mut self) -> Done<AnyItem> {
        std::mem::replace(&mut self.done, Done::Nothing)
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if let Done::Recurs(task, _) = &self.done {
            self.shared.show_task(task);
        }
    }
}

/// Makes the outcome of a run known that was held back, and gives the task back to the pool.
pub(super) fn finish(shell: &Arc<Shell>, number: WorkerNumber, held: Held) {
    let Held { run, rest } = held;
    let Some(shared) = shell.shared_worker(number) else { return };
    let worker = Worker { shell, number, shared: &shared, holds: true };
    let _as_worker = worker.enter();
    if rest == Rest::Pending {
        shell.suspend(run.task(), true);
        shared.clear();
        return;
    }
    let (verdict, task) = run.clone().enter(true, |run| run.task().settle(run, rest, &**shell));
    drop(run);
    shared.clear();
    shared.activity.end(true);
    if let Verdict::Requeue(due) = verdict {
        shell.settle(Done::Recurs(task, due));
    }
}

#[inline]
fn cancel_if_overdue(shell: &Arc<Shell>, task: &AnyItem, now: Now) {
    if task.header().is_overdue(now.tick) {
        shell.cancel(task);
    }
}

/// A worker's presence in its pool; if its thread unwinds, the pool loses it and replaces it.
struct Presence<'a> {
    shell: &'a Arc<Shell>,
    number: WorkerNumber,
    has_left: bool,
}

impl Presence<'_> {
    fn leave(mut self) {
        self.has_left = true;
        self.shell.worker_left(self.number);
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if !self.has_left {
            self.shell.replace_worker(self.number);
            self.shell.announce_refusal(self.number, "the worker's thread has died");
        }
    }
}

/// Runs a task that is in no pool's queue on the calling thread, once.
pub(super) fn run_outside(shell: &Arc<Shell>, task: &AnyItem) {
    let now = Now::read(&*shell.clock);
    cancel_if_overdue(shell, task, now);
    let is_silent = shell.is_silent;
    let claim = Claim { now, armed: None, is_silent, by_worker: false, is_held: false };
    if !matches!(Arc::clone(task).run(&claim, &**shell), Ran::Nothing) {
        shell.cancel(task);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{Begun, Event, Run, ScheduledThreadPool, TaskHandle, TaskState, VirtualWorkers};
    use std::sync::Mutex;
    use std::time::Duration;

    type Ends = Arc<Mutex<Vec<TaskState>>>;

    fn pool() -> (ScheduledThreadPool, VirtualWorkers, Ends) {
        let (workers, ends) = (VirtualWorkers::new(), Ends::default());
        let heard = Arc::clone(&ends);
        let pool = ScheduledThreadPool::builder()
            .virtual_workers(&workers)
            .listener(move |event: &Event<'_>| {
                if let Event::TaskEnded { state, .. } = event {
                    heard.lock().unwrap().push(*state);
                }
            })
            .build();
        (pool.unwrap(), workers, ends)
    }

    #[test]
    fn the_end_of_a_task_that_the_pool_cancels_during_a_poll_is_reported_once() {
        let (pool, workers, ends) = pool();
        let handle = pool.schedule_async(Duration::ZERO, std::future::pending::<()>()).unwrap();
        let Begun::Run(run) = workers.begin(1) else { panic!("the task is due") };
        drop(pool.shutdown_now());
        run.finish();
        assert!(handle.is_cancelled());
        assert_eq!(*ends.lock().unwrap(), [TaskState::Cancelled]);
    }

    #[test]
    fn the_end_of_a_task_that_cancels_itself_while_it_is_run_by_hand_is_reported_once() {
        let (pool, _workers, ends) = pool();
        let own: Arc<Mutex<Option<TaskHandle<()>>>> = Arc::default();
        let inside = Arc::clone(&own);
        let body = std::future::poll_fn(move |_| {
            assert!(Run::current().is_some());
            assert!(inside.lock().unwrap().as_ref().unwrap().cancel());
            std::task::Poll::Pending
        });
        let handle = pool.schedule_async(Duration::from_secs(1), body).unwrap();
        *own.lock().unwrap() = Some(handle.clone());
        pool.remove(&handle).unwrap().run();
        assert!(handle.is_cancelled());
        assert_eq!(*ends.lock().unwrap(), [TaskState::Cancelled]);
    }
}
