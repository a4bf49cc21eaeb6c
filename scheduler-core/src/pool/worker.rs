//! One worker's life: take, run, settle, again.
//!
//! The steps of a run are functions of their own, because a virtual worker takes them one by one:
//! [`Bench::take`] claims a task, [`execute`] runs its body, [`finish`] makes the outcome known. A thread
//! does the last two in one.

use std::sync::Arc;

use super::post::Post;
use super::roster::WorkerNumber;
use super::shell::AnyItem;
use super::shell::Shell;
use super::step::Done;
use super::step::Take;
use crate::sync::planted;
use crate::task::Home;
use crate::task::Run;
use crate::task::TaskState;
use crate::task::any;
use crate::task::any::Verdict;
use crate::task::state::Suspend;
use crate::time::Due;
use crate::time::Now;
use crate::time::Tick;

/// What a worker got when it asked for something to do.
pub(super) enum Taken {
    Run(Run),
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

/// A task whose body has been executed by a worker, and whose outcome is not known yet.
#[derive(Debug)]
pub(super) struct Executed {
    worker: WorkerNumber,
    run: Run,
    result: any::Executed,
}

impl Executed {
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Whether the future of the run is pending.
    pub(super) fn is_pending(&self) -> bool {
        self.result == any::Executed::Pending
    }
}

/// The life of a worker on its own thread.
pub(super) fn work(shell: &Arc<Shell>, worker: WorkerNumber) {
    let presence = Presence { shell, worker, has_left: false };
    let Some(post) = shell.post(worker) else { return };
    let bench = Bench { shell, worker, post: &post };
    shell.clock.sharpen();
    shell.worker_arrived(worker);
    let mut last = Last::Nothing;
    loop {
        let seen = post.gate.epoch();
        match bench.take(std::mem::replace(&mut last, Last::Nothing)) {
            Taken::Run(run) => last = bench.run_through(run),
            Taken::Waits(until) => shell.wait(&post.gate, seen, until),
            Taken::Leaves => break,
        }
    }
    presence.leave();
}

impl Bench<'_> {
    /// Gives back what the worker has run, and claims the next task that can be run.
    pub(super) fn take(&self, last: Last) -> Taken {
        let mut last = last;
        loop {
            let now = Now::read(&*self.shell.clock);
            let task = match self.shell.next(self.worker, last.clear(self.post), now) {
                Take::Wait(until) => return Taken::Waits(until),
                Take::Leave => return Taken::Leaves,
                Take::Again => {
                    last = Last::Nothing;
                    continue;
                }
                Take::Run(task) => task,
            };
            self.post.lay(&task);
            if let Some(run) = begin(self.shell, task, now) {
                return Taken::Run(run);
            }
            last = Last::Skipped;
        }
    }

    /// Executes the body of a claimed task, and makes the outcome known.
    fn run_through(&self, run: Run) -> Last {
        run.enter(|run| match run.task().run(run, &**self.shell) {
            Some(verdict) => verdict.into(),
            None => suspend(self.shell, self.worker, run),
        })
    }
}

/// What has become of the task that lies on the desk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Last {
    /// There is none, or it is among the suspended.
    Nothing,
    Skipped,
    Ended,
    Recurs(Due),
}

impl From<Verdict> for Last {
    #[inline]
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Requeue(due) => Self::Recurs(due),
            Verdict::Ended(_) => Self::Ended,
        }
    }
}

impl Last {
    /// Clears the desk. Before the pool hears of that, which may be its end; and not before the clock has
    /// answered: what lies on the desk of a worker that dies is cancelled.
    #[inline]
    fn clear(self, post: &Post) -> Done<AnyItem> {
        let task = post.clear();
        match (self, task) {
            (Self::Recurs(due), Some(task)) => return Done::Recurs(task, due),
            // Contains by itself what its user's destructors do.
            (_, task) => drop(task),
        }
        match self {
            Self::Nothing => Done::Nothing,
            Self::Skipped => Done::Skipped,
            Self::Ended | Self::Recurs(_) => Done::Ended,
        }
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
    let last = match result {
        any::Executed::Pending => suspend(shell, worker, &run),
        any::Executed::Over => run.enter(|run| run.task().settle(run, &**shell).into()),
    };
    if let Some(post) = shell.post(worker) {
        shell.settle(worker, last.clear(&post));
    }
}

#[inline]
fn begin(shell: &Arc<Shell>, task: AnyItem, now: Now) -> Option<Run> {
    if task.header().is_overdue(now.tick) {
        shell.cancel(&task);
    }
    let begun = task.begin(now)?;
    Some(Run::new(task, begun))
}

/// Lets go of a run whose future is pending.
///
/// RACE: the waker may be called at any time. The pool lists the task among the suspended *before*
/// the state says so, because from then on a wake puts the task back into the queue.
fn suspend(shell: &Arc<Shell>, worker: WorkerNumber, run: &Run) -> Last {
    let task = run.task();
    shell.suspend(worker, task);
    match task.suspend() {
        Suspend::Suspended => {}
        Suspend::Woken => shell.resume(Arc::clone(task)),
        Suspend::WasCancelled if planted("L12 cancel") => {}
        Suspend::WasCancelled => shell.withdraw(&**task),
    }
    Last::Nothing
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
    let Some(run) = begin(shell, Arc::clone(task), Now::read(&*shell.clock)) else { return };
    run.enter(|run| {
        let is_pending = task.run(run, &**shell).is_none();
        if is_pending && task.suspend() == Suspend::WasCancelled {
            shell.announce_end(&**task, TaskState::Cancelled);
        }
    });
    shell.cancel(task);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::Begun;
    use crate::Event;
    use crate::Run;
    use crate::ScheduledThreadPool;
    use crate::TaskHandle;
    use crate::TaskState;
    use crate::VirtualCrew;
    use std::sync::Arc;
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
