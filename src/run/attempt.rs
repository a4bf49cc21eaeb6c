//! One attempt of a run: its parts, thread, notes and polls.

use std::cell::RefCell;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use scheduler_core::{Clock, ScheduledThreadPool, Tick, WallTime};

use crate::base::metadata::TaskFacts;
use crate::base::sync::Mutex;
use crate::run::handle::Run;
use crate::run::info::Cause;
use crate::run::job::ClaimedJob;
use crate::run::stop::Stop;

/// One attempt of a run.
pub(crate) struct Attempt {
    pub(crate) task: Arc<TaskFacts>,
    pub(crate) number: u64,
    pub(crate) attempt: u32,
    pub(crate) max_attempts: u32,
    pub(crate) cause: Cause,
    pub(crate) fire_time: WallTime,
    /// The fire time plus jitter, or the end of the wait after the attempt before.
    pub(crate) due: WallTime,
    pub(crate) started_at: WallTime,
    /// `None` outside of any scheduler.
    pub(crate) execution: Option<Execution>,
    pub(crate) stop: Stop,
    pub(crate) notes: Notes,
    /// Of a future.
    pub(crate) polls: Polls,
    /// The job that runs.
    pub(crate) claimed: Option<Arc<ClaimedJob>>,
}

/// The execution of an attempt.
pub(crate) struct Execution {
    /// The run as the engine sees it.
    firing: scheduler_core::Run,
    /// The same for a future that goes on as a task of the engine.
    continued: OnceLock<scheduler_core::Run>,
    /// RACE: weak, because a run may be kept by its task, and must not keep the pool from ending.
    pub(super) pool: Weak<ScheduledThreadPool>,
    pub(super) clock: Arc<dyn Clock>,
    /// When the time of this attempt is over, in nanoseconds. All workers may be busy then, so that no thread asks the run to
    /// stop.
    deadline: AtomicU64,
}

impl Attempt {
    /// One outside of any scheduler.
    pub(crate) fn detached(task: Arc<TaskFacts>) -> Self {
        let zero = WallTime::from_nanos(0);
        Self {
            task,
            number: 1,
            attempt: 1,
            max_attempts: 1,
            cause: Cause::Manual,
            fire_time: zero,
            due: zero,
            started_at: zero,
            execution: None,
            stop: Stop::default(),
            notes: Notes::default(),
            polls: Polls::default(),
            claimed: None,
        }
    }

    /// The attempt of a claimed job.
    pub(crate) fn of_job(task: Arc<TaskFacts>, claimed: &Arc<ClaimedJob>) -> Self {
        let job = claimed.job();
        #[cfg(not(feature = "durable"))]
        match (*job, task) {}
        #[cfg(feature = "durable")]
        {
            let tick = job.origin.as_ref().map(|origin| origin.tick);
            Self {
                attempt: job.attempt,
                max_attempts: job.max_attempts,
                cause: match tick {
                    None => Cause::Job,
                    Some(None) => Cause::Manual,
                    Some(Some(_)) => Cause::Schedule,
                },
                fire_time: tick.flatten().unwrap_or(job.run_at).utc().into(),
                due: job.run_at.utc().into(),
                claimed: Some(Arc::clone(claimed)),
                ..Self::detached(task)
            }
        }
    }

    #[cfg(test)]
    pub(super) fn of(info: &super::info::RunInfo, task: Arc<TaskFacts>) -> Self {
        Self {
            number: info.number,
            attempt: info.attempt,
            max_attempts: info.max_attempts,
            cause: info.cause,
            fire_time: info.fire_time.into(),
            due: info.due.into(),
            started_at: info.started_at.into(),
            ..Self::detached(task)
        }
    }
}

impl Execution {
    /// An execution in a firing of the engine.
    pub(crate) fn new(
        firing: &scheduler_core::Run,
        pool: &Weak<ScheduledThreadPool>,
        clock: &Arc<dyn Clock>,
        deadline: Option<Tick>,
    ) -> Self {
        Self {
            firing: firing.clone(),
            continued: OnceLock::new(),
            pool: Weak::clone(pool),
            clock: Arc::clone(clock),
            deadline: AtomicU64::new(nanos(deadline)),
        }
    }

    /// Returns the run as the engine sees it at present.
    pub(super) fn engine(&self) -> &scheduler_core::Run {
        self.continued.get().unwrap_or(&self.firing)
    }

    /// The attempt goes on as the task of the engine that the calling thread executes.
    pub(super) fn go_on(&self) {
        if self.continued.get().is_none()
            && let Some(run) = scheduler_core::Run::current()
        {
            drop(self.continued.set(run));
        }
    }

    /// Returns how long the attempt may still take.
    pub(super) fn left(&self) -> Duration {
        // ORDERING: relaxed; it is set before the attempt begins, on its thread.
        let deadline = Tick::from_nanos(self.deadline.load(Ordering::Relaxed));
        if deadline == Tick::MAX { Duration::MAX } else { deadline.since(self.clock.now()) }
    }

    pub(super) fn set_deadline(&self, deadline: Option<Tick>) {
        // ORDERING: relaxed, see `left`.
        self.deadline.store(nanos(deadline), Ordering::Relaxed);
    }
}

fn nanos(deadline: Option<Tick>) -> u64 {
    deadline.unwrap_or(Tick::MAX).as_nanos()
}

thread_local! {
    /// The run that this thread executes; borrowed while it does.
    static CURRENT: RefCell<Option<Run>> = const { RefCell::new(None) };
    /// Runs that it executes inside that one, the innermost last: a task may step a simulation.
    static INNER: RefCell<Vec<Run>> = const { RefCell::new(Vec::new()) };
}

impl Run {
    /// The run that the calling thread executes; `None` outside a scheduled task.
    ///
    /// ```
    /// use scheduler::Run;
    ///
    /// assert!(Run::current().is_none());
    /// ```
    #[must_use]
    pub fn current() -> Option<Self> {
        get()
    }

    /// Calls `step` with this run as the [`current`](Self::current) one.
    pub(crate) fn enter<R>(self, step: impl FnOnce(&Self) -> R) -> R {
        enter(self, step)
    }
}

/// The run that the calling thread executes; a thread that is ending may have none any more.
fn get() -> Option<Run> {
    let inner = INNER.try_with(|inner| inner.borrow().last().cloned()).ok().flatten();
    inner.or_else(|| CURRENT.try_with(|current| current.borrow().clone()).ok().flatten())
}

/// Calls `step` while a run is the current one.
///
/// The thread's share in the run is the one that is handed in, so that an outermost run costs none.
#[inline]
fn enter<R>(run: Run, step: impl FnOnce(&Run) -> R) -> R {
    let (mut run, mut step) = (Some(run), Some(step));
    let answer = CURRENT.try_with(|current| {
        let is_outermost = current.try_borrow_mut().is_ok_and(|current| current.is_none());
        if !is_outermost {
            return None;
        }
        current.replace(run.take());
        let _outermost = Outermost(current);
        let current = current.borrow();
        Some((step.take()?)(current.as_ref()?))
    });
    match (answer, run, step) {
        (Ok(Some(answer)), ..) => answer,
        (_, Some(run), Some(step)) => {
            let _inner = InnerRun::enter(run.clone());
            step(&run)
        }
        _ => unreachable!("a step that was taken has an answer"),
    }
}

/// While it lives, the thread executes a run that is not inside another.
struct Outermost<'a>(&'a RefCell<Option<Run>>);

impl Drop for Outermost<'_> {
    fn drop(&mut self) {
        // Dropping the run may free its task, and so comes last.
        drop(self.0.take());
    }
}

/// While it lives, the thread executes a run inside another.
struct InnerRun;

impl InnerRun {
    fn enter(run: Run) -> Self {
        let _ = INNER.try_with(|inner| inner.borrow_mut().push(run));
        Self
    }
}

impl Drop for InnerRun {
    fn drop(&mut self) {
        drop(INNER.try_with(|inner| inner.borrow_mut().pop()));
    }
}

/// The number of notes of a run that are kept; later ones are dropped.
const NOTES_MAX: usize = 16;

/// The number of bytes of a note that are kept.
const NOTE_BYTES_MAX: usize = 1_024;

/// The part of a note that is kept.
pub(crate) fn truncated(text: &str) -> &str {
    let mut end = text.len().min(NOTE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The notes of a run; nearly all runs have none.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Absent before the first note.
    notes: OnceLock<Mutex<Vec<Box<str>>>>,
}

impl Notes {
    pub(super) fn add(&self, text: &str) {
        let notes = self.notes.get_or_init(Mutex::default);
        let mut notes = notes.lock();
        if notes.len() < NOTES_MAX {
            notes.push(truncated(text).into());
        }
    }

    pub(super) fn take(&self) -> Vec<Box<str>> {
        let Some(notes) = self.notes.get() else { return Vec::new() };
        mem::take(&mut notes.lock())
    }

    /// Replaces the notes with those of the previous attempt.
    pub(super) fn carry_over(&self, previous: Vec<Box<str>>) {
        if !previous.is_empty() {
            let notes = self.notes.get_or_init(Mutex::default);
            *notes.lock() = previous;
        }
    }
}

/// The least duration of a poll that is remembered.
const BLOCKS: Duration = Duration::from_millis(100);

/// One poll of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Poll {
    pub(crate) from: Tick,
    pub(crate) took: Duration,
}

/// The polls of one attempt, in nanoseconds.
// ORDERING: all relaxed; another thread looks only for a message.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// When the present one began, plus one; zero if there is none.
    since: AtomicU64,
    longest_from: AtomicU64,
    longest: AtomicU64,
}

impl Polls {
    pub(super) fn begin(&self, now: Tick) {
        self.since.store(now.as_nanos().saturating_add(1), Ordering::Relaxed);
    }

    pub(super) fn end(&self, now: Tick) {
        let from = self.since.swap(0, Ordering::Relaxed).saturating_sub(1);
        let took = now.as_nanos().saturating_sub(from);
        if took > self.longest.load(Ordering::Relaxed) {
            self.longest_from.store(from, Ordering::Relaxed);
            self.longest.store(took, Ordering::Relaxed);
        }
    }

    pub(super) fn longest(&self, now: Tick) -> Option<Poll> {
        let since = self.since.load(Ordering::Relaxed);
        let from = Tick::from_nanos(since.saturating_sub(1));
        let present =
            Poll { from, took: if since == 0 { Duration::ZERO } else { now.since(from) } };
        let past = Poll {
            from: Tick::from_nanos(self.longest_from.load(Ordering::Relaxed)),
            took: Duration::from_nanos(self.longest.load(Ordering::Relaxed)),
        };
        let longest = if present.took > past.took { present } else { past };
        (longest.took >= BLOCKS).then_some(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn current() -> Option<String> {
        Run::current().map(|run| run.task_name().to_owned())
    }

    fn is(name: &str) -> bool {
        current().as_deref() == Some(name)
    }

    #[test]
    fn runs_inside_others_are_current_until_they_are_over() {
        assert_eq!(current(), None);
        Run::detached("outer").enter(|outer| {
            assert!(is("outer"));
            for name in ["first", "second"] {
                Run::detached(name).enter(|run| {
                    assert!(is(name));
                    outer.clone().enter(|_| assert!(is("outer")));
                    assert!(is(name) && run.task_name() == name);
                });
            }
            assert!(is("outer"));
        });
        assert_eq!(current(), None);
    }

    #[test]
    fn a_run_that_unwinds_is_not_current_any_more() {
        let unwinds = |name| {
            let step = || Run::detached(name).enter(|_| panic!("no"));
            catch_unwind(AssertUnwindSafe(step)).unwrap_err()
        };
        drop(unwinds("alone"));
        assert_eq!(current(), None);
        Run::detached("outer").enter(|_| {
            drop(unwinds("inner"));
            assert!(is("outer"));
        });
        assert_eq!(current(), None);
    }

    fn at(millis: u64) -> Tick {
        Tick::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_longest_poll_is_known_while_it_lasts_and_afterwards() {
        let polls = Polls::default();
        assert_eq!(polls.longest(at(0)), None);
        polls.begin(at(10));
        polls.end(at(20));
        assert_eq!(polls.longest(at(500)), None, "it was short");
        polls.begin(at(1_000));
        let took = Duration::from_millis(250);
        assert_eq!(polls.longest(at(1_250)), Some(Poll { from: at(1_000), took }));
        polls.end(at(1_300));
        let took = Duration::from_millis(300);
        assert_eq!(polls.longest(at(9_000)), Some(Poll { from: at(1_000), took }));
    }
}
