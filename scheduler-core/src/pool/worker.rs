//! One worker's life: take, run, settle, again.
//!
//! A thread claims a task, runs it and makes the outcome known in one ([`Bench::run_through`]). A virtual worker
//! takes the steps one by one: [`Bench::take`] claims a task, [`execute`] runs its body, [`finish`] makes the
//! outcome known.

use std::sync::Arc;

use super::item::AnyItem;
use super::post::Post;
use super::roster::WorkerNumber;
use super::shell::Shell;
use super::step::Done;
use super::step::Take;
use super::turn::Turn;
use crate::sync::planted;
use crate::task::Home;
use crate::task::Run;
use crate::task::TaskState;
use crate::task::current;
use crate::task::current::Desk;
use crate::task::run;
use crate::task::run::RanThrough;
use crate::task::run::Verdict;
use crate::task::state::Suspend;
use crate::time::Due;
use crate::time::Now;
use crate::time::Tick;

/// What a worker got when it asked for something to do.
pub(super) enum Taken<R> {
    Run(R),
    Waits(Option<Tick>),
    Leaves,
}

/// Where a worker works: its pool, and its post there.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) shell: &'a Arc<Shell>,
    pub(super) worker: WorkerNumber,
    pub(super) post: &'a Post,
}

/// What a worker has taken from the queue, when, and for a timer what it was armed for.
struct Claimed {
    task: AnyItem,
    now: Now,
    armed: Option<Due>,
}

/// A task whose body has been executed by a worker, and whose outcome is not known yet.
#[derive(Debug)]
pub(super) struct Executed {
    worker: WorkerNumber,
    run: Run,
    result: run::Executed,
}

impl Executed {
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Whether nothing is left of which the end is to be made known.
    pub(super) fn is_spent(&self) -> bool {
        self.result == run::Executed::Spent
    }

    /// Whether the future of the run is pending.
    pub(super) fn is_pending(&self) -> bool {
        self.result == run::Executed::Pending
    }
}

/// The life of a worker on its own thread.
pub(super) fn work(shell: &Arc<Shell>, worker: WorkerNumber) {
    let presence = Presence { shell, worker, has_left: false };
    let Some(post) = shell.post(worker) else { return };
    let seat = current::sit_down(Arc::as_ptr(shell).addr(), Arc::clone(&post) as Arc<dyn Desk>);
    let bench = Bench { shell, worker, post: &post };
    shell.clock.sharpen();
    shell.worker_arrived(worker);
    let mut done = Done::Nothing;
    loop {
        let seen = post.gate.epoch();
        match bench.claim(std::mem::replace(&mut done, Done::Nothing)) {
            Taken::Run(claimed) => done = bench.run_through(claimed),
            Taken::Waits(until) => shell.wait(&post.gate, seen, until),
            Taken::Leaves => break,
        }
    }
    drop(seat);
    presence.leave();
}

impl Bench<'_> {
    /// Gives back what the worker has in hand, and claims the next task, which may have ended.
    fn claim(&self, done: Done<AnyItem>) -> Taken<Claimed> {
        let mut in_hand = InHand { post: self.post, done };
        loop {
            let now = Now::read(&*self.shell.clock);
            let may_claim = matches!(in_hand.done, Done::Nothing) && self.post.turn.is_awake();
            if may_claim && let Some((task, armed)) = self.shell.claim(&self.post.turn, now) {
                return Taken::Run(Claimed { task, now, armed });
            }
            match self.shell.next(self.worker, may_claim, in_hand.release(), now) {
                Take::Wait(until) => return Taken::Waits(until),
                Take::Leave => return Taken::Leaves,
                Take::Again => {}
                Take::Run(task, armed) => return Taken::Run(Claimed { task, now, armed }),
            }
        }
    }

    /// Claims the next task that can be run, for a virtual worker.
    pub(super) fn take(&self) -> Taken<Run> {
        loop {
            let Claimed { task, now, armed } = match self.claim(Done::Nothing) {
                Taken::Run(claimed) => claimed,
                Taken::Waits(until) => return Taken::Waits(until),
                Taken::Leaves => return Taken::Leaves,
            };
            self.post.lay(&task);
            cancel_if_overdue(self.shell, &task, now);
            if let Some(begun) = task.begin(now, armed) {
                return Taken::Run(Run::new(task, begun));
            }
            self.post.clear();
            self.post.turn.end(false);
        }
    }

    /// Runs a claimed task, and makes the outcome known.
    ///
    /// What has ended is dropped before the pool hears of that, which may be its end; it contains by itself
    /// what its user's destructors do.
    fn run_through(&self, claimed: Claimed) -> Done<AnyItem> {
        let Claimed { task, now, armed } = claimed;
        cancel_if_overdue(self.shell, &task, now);
        match task.run_through(now, armed, &**self.shell, true) {
            None => {
                self.post.turn.end(false);
                Done::Nothing
            }
            Some(RanThrough::Over(verdict, task)) => {
                self.post.turn.end(true);
                done(verdict, task)
            }
            Some(RanThrough::Pending(run)) => {
                run.pass_through(true, |run| suspend(self.shell, &self.post.turn, run.task()));
                Done::Nothing
            }
        }
    }
}

/// What a worker has done that still has it in hand: it lays it on its desk where its clock panics, so that the
/// pool can cancel it.
struct InHand<'a> {
    post: &'a Post,
    done: Done<AnyItem>,
}

impl InHand<'_> {
    #[inline]
    fn release(&mut self) -> Done<AnyItem> {
        std::mem::replace(&mut self.done, Done::Nothing)
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if let Done::Recurs(task, _) = &self.done {
            self.post.lay(task);
        }
    }
}

#[inline]
fn done(verdict: Verdict, task: AnyItem) -> Done<AnyItem> {
    match verdict {
        Verdict::Requeue(due) => Done::Recurs(task, due),
        Verdict::Ended(_) => Done::Nothing,
    }
}

/// Executes the body of a task that a virtual worker has claimed.
pub(super) fn execute(bench: &Bench<'_>, run: Run) -> Executed {
    let result = run.clone().enter(|run| run.task().execute(run, &**bench.shell));
    Executed { worker: bench.worker, run, result }
}

/// Makes the outcome of a virtual worker's run known, and gives the task back to the pool.
pub(super) fn finish(shell: &Arc<Shell>, executed: Executed) {
    let Executed { worker, run, result } = executed;
    let Some(post) = shell.post(worker) else { return };
    if result == run::Executed::Pending {
        suspend(shell, &post.turn, run.task());
        post.clear();
        return;
    }
    let verdict = run.clone().enter(|run| run.task().settle(run, result, &**shell));
    let done = done(verdict, run.into_task());
    post.clear();
    post.turn.end(true);
    if let Done::Recurs(..) = done {
        shell.settle(done);
    }
}

#[inline]
fn cancel_if_overdue(shell: &Arc<Shell>, task: &AnyItem, now: Now) {
    if task.header().is_overdue(now.tick) {
        shell.cancel(task);
    }
}

/// Lets go of a run whose future is pending.
///
/// RACE: the waker may be called at any time. The pool lists the task among the suspended *before*
/// the state says so, because from then on a wake puts the task back into the queue.
fn suspend(shell: &Arc<Shell>, turn: &Turn, task: &AnyItem) {
    shell.suspend(turn, task);
    match task.suspend() {
        Suspend::Suspended => {}
        Suspend::Woken => shell.resume(Arc::clone(task)),
        Suspend::WasCancelled if planted("L12 cancel") => {}
        Suspend::WasCancelled => shell.withdraw(&**task, task.due()),
    }
}

/// A worker's presence in its pool; if its thread unwinds, the pool loses it and replaces it.
struct Presence<'a> {
    shell: &'a Arc<Shell>,
    worker: WorkerNumber,
    has_left: bool,
}

impl Presence<'_> {
    fn leave(mut self) {
        self.has_left = true;
        self.shell.worker_left(self.worker);
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if !self.has_left {
            self.shell.replace_worker(self.worker);
            self.shell.announce_refusal(self.worker, "the worker's thread has died");
        }
    }
}

/// Runs a task that is in no pool's queue on the calling thread, once.
pub(super) fn run_outside(shell: &Arc<Shell>, task: &AnyItem) {
    let now = Now::read(&*shell.clock);
    cancel_if_overdue(shell, task, now);
    match Arc::clone(task).run_through(now, None, &**shell, false) {
        None => return,
        Some(RanThrough::Over(..)) => {}
        Some(RanThrough::Pending(run)) => run.enter(|_| {
            if task.suspend() == Suspend::WasCancelled {
                shell.announce_end(&**task, TaskState::Cancelled);
            }
        }),
    }
    shell.cancel(task);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Begun;
    use crate::Event;
    use crate::ScheduledThreadPool;
    use crate::TaskHandle;
    use crate::VirtualCrew;
    use std::sync::Mutex;
    use std::time::Duration;

    type Ends = Arc<Mutex<Vec<TaskState>>>;

    fn pool() -> (ScheduledThreadPool, VirtualCrew, Ends) {
        let (crew, ends) = (VirtualCrew::new(), Ends::default());
        let heard = Arc::clone(&ends);
        let pool = ScheduledThreadPool::builder()
            .virtual_crew(&crew)
            .listener(move |event: &Event<'_>| {
                if let Event::TaskEnded { state, .. } = event {
                    heard.lock().unwrap().push(*state);
                }
            })
            .build();
        (pool.unwrap(), crew, ends)
    }

    #[test]
    fn the_end_of_a_task_that_the_pool_cancels_during_a_poll_is_reported_once() {
        let (pool, crew, ends) = pool();
        let handle = pool.schedule_async(Duration::ZERO, std::future::pending::<()>()).unwrap();
        let Begun::Run(run) = crew.begin(1) else { panic!("the task is due") };
        drop(pool.shutdown_now());
        run.finish();
        assert!(handle.is_cancelled());
        assert_eq!(*ends.lock().unwrap(), [TaskState::Cancelled]);
    }

    #[test]
    fn the_end_of_a_task_that_cancels_itself_while_it_is_run_by_hand_is_reported_once() {
        let (pool, _crew, ends) = pool();
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
