//! A timer: a call that a pool makes each time it is armed for, and that may run beside itself.
//!
//! It has no state of a run, because several of its firings may be in progress at the same time, each on a worker of
//! its own. What is known of them is behind one lock: which there are, and which of them were asked to stop.

use std::any::Any;
use std::fmt;
use std::hint::black_box;
use std::ops::Deref;
use std::sync::{Arc, Weak};
use std::task::Waker;

use super::current;
use super::firings::Firings;
use super::header::{Header, TaskId};
use super::rhythm::LastRun;
use super::run::{
    AnyTask, Cancelled, Claim, Held, Ran, Rest, Run, RunEntry, RunObserver, RunStart, Verdict,
};
use super::slot::{Around, discard};
use super::state::{Suspend, TaskState};
use crate::error::Failure;
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use crate::time::{Due, Gate, Now, Tick};
use crate::unwind::catch;
use scheduler_queue::Ticket;

/// What a [`Timer`] calls.
///
/// Each call is made without a lock of the engine, and a panic of it is contained and reported as
/// [`Event::TimerPanicked`](crate::Event::TimerPanicked).
pub trait Fire: Sized + Send + Sync + 'static {
    /// Is called by a worker when the timer was due; it is disarmed by then, unless it was armed again.
    ///
    /// The call is part of a run: [`Run::current`] gives it, its [`number`](Run::number) is that of the firing, from 1,
    /// its [`due`](Run::due) time the one that the timer was armed for. Several calls may be in progress at the same
    /// time. One that the timer is disarmed for meanwhile is made all the same if a worker had taken it before.
    ///
    /// Answers whether something is in progress whose end is to be reported by [`finish`](Self::finish). A panic is the
    /// answer [`Fired::Done`].
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired;

    /// Is called when what [`fire`](Self::fire) has left in progress is over, inside the same run.
    ///
    /// On a thread that is at once. A virtual worker may let time pass in between, until
    /// [`VirtualRun::finish`](crate::VirtualRun::finish).
    fn finish(timer: &Arc<Timer<Self>>, run: &Run, now: Now);

    /// Is called when the wall clock was set back while the timer was armed for a time ahead on it.
    ///
    /// The timer is disarmed then; it is to be armed again by this call, if that is wanted.
    fn clock_set_back(timer: &Arc<Timer<Self>>, now: Now);

    /// Is called when the timer was armed and will not fire, because its pool has stopped or has lost its last worker.
    ///
    /// The timer is disarmed then. A pool that stops is seen as terminated after this call only.
    fn dropped(timer: &Arc<Timer<Self>>);
}

/// What a firing has led to.
#[must_use = "it decides whether the end of the firing is reported"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// Nothing is in progress any more.
    Done,
    /// The end of what is in progress is to be reported by [`Fire::finish`].
    InProgress,
}

/// A call that a pool makes at the time for which it is armed, again and again, and also beside itself.
///
/// It is made by [`ScheduledThreadPool::timer`](crate::ScheduledThreadPool::timer) and is its content, too, as a box
/// is. Arming it anew needs no memory. Unlike a task it is not taken out of its pool for as long as it is called: armed
/// again during a call it fires at its time, on another worker, however long the call takes.
///
/// The pool keeps a timer while it is armed. A pool that [shuts down](crate::ScheduledThreadPool::shutdown) ends when
/// no timer is armed and nothing runs; until then its timers fire, and may be armed.
///
/// In the queue it stands as a recurring task does: what is due first is first, and of what is due at the same time
/// what was made, or submitted, first. A timer that is armed for a time that has passed is before all that became due
/// after that time; this holds for the monotonic clock, while a wall-clock time that has passed counts as the present.
/// In the [`stats`](crate::ScheduledThreadPool::stats) an armed timer is queued, and a firing is active and then
/// completed. No hook is called for a firing, and no event reports it.
///
/// ```
/// use scheduler_core::{Due, Fire, Fired, ManualClock, Now, Run, ScheduledThreadPool, Timer, VirtualWorkers};
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::{sync::Arc, time::Duration};
///
/// const SECOND: Duration = Duration::from_secs(1);
///
/// #[derive(Default)]
/// struct Ticker(AtomicU64);
///
/// impl Fire for Ticker {
///     fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
///         if let Due::Tick(due) = run.due() {
///             timer.arm(Due::Tick(due + SECOND), run.started()).perform();
///         }
///         timer.0.fetch_add(1, Ordering::Relaxed);
///         Fired::Done
///     }
///
///     fn finish(_: &Arc<Timer<Self>>, _: &Run, _: Now) {}
///     fn clock_set_back(_: &Arc<Timer<Self>>, _: Now) {}
///     fn dropped(_: &Arc<Timer<Self>>) {}
/// }
///
/// let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
/// let pool = ScheduledThreadPool::builder()
///     .clock(Arc::new(clock.clone()))
///     .virtual_workers(&workers)
///     .build()?;
/// let ticker = pool.timer("ticker", Ticker::default());
/// let now = Now::read(&clock);
/// ticker.arm(Due::Tick(now.tick + SECOND), now).perform();
/// for _ in 0..3 {
///     clock.advance(SECOND);
///     workers.run_until_idle();
/// }
/// assert_eq!(ticker.0.load(Ordering::Relaxed), 3);
/// assert_eq!(ticker.due(), Some(Due::Tick(now.tick + SECOND * 4)));
/// ticker.disarm().perform();
/// assert_eq!(ticker.due(), None);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub struct Timer<T> {
    header: Header,
    me: Weak<Self>,
    armed: Armed,
    around: Option<Around>,
    firings: Firings,
    /// None in the destructor only.
    content: Option<T>,
}

/// When a timer is due, while its ticket is that of an entry in the queue.
struct Armed {
    is_by_wall: AtomicBool,
    due: AtomicU64,
}

impl<T: Fire> Timer<T> {
    /// A timer that is not armed.
    pub(crate) fn new(header: Header, around: Option<Around>, content: T) -> Arc<Self> {
        header.set_ticket(Ticket::NONE);
        let armed = Armed { is_by_wall: AtomicBool::new(false), due: AtomicU64::new(0) };
        Arc::new_cyclic(|me| {
            let (me, content) = (Weak::clone(me), Some(content));
            Self { header, me, armed, around, firings: Firings::default(), content }
        })
    }

    /// The number of the timer, unique in its pool among those of tasks and timers.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.header.id()
    }

    /// The name of the timer.
    #[must_use]
    pub fn name(&self) -> &str {
        self.header.name().unwrap_or_default()
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    fn begin(&self, claim: &Claim) -> RunStart {
        let due = claim.armed.unwrap_or(Due::Tick(claim.now.tick));
        let number = self.firings.begin();
        RunStart { number, last: LastRun { due, started: claim.now }, entry: RunEntry::Begun }
    }

    /// Calls the content, inside what surrounds it.
    fn fire(self: &Arc<Self>, run: &Run) -> Fired {
        let mut fired = None;
        let mut step = || fired = Some(T::fire(self, run));
        let outer = match &self.around {
            None => catch(step),
            Some(around) => catch(|| around(&mut step)),
        };
        let failure = match (outer, fired) {
            (Err(failure), _) => failure,
            (Ok(()), Some(fired)) => return fired,
            (Ok(()), None) => Failure::from_error("the decorator did not run the task"),
        };
        self.report("fire", &failure);
        fired.unwrap_or(Fired::Done)
    }

    /// Ends a firing, and reports the end of what it has left in progress.
    ///
    /// Where the clock panics the firing ends all the same, and the worker is lost.
    fn close(self: &Arc<Self>, run: &Run, rest: Rest, observer: &dyn RunObserver) {
        let _underway = Underway { firings: &self.firings, number: run.number() };
        if rest == Rest::Over {
            let mut unfinished = Unfinished { timer: self, run, now: run.started() };
            unfinished.now = observer.now();
        }
    }

    fn call(&self, name: &'static str, call: impl FnOnce()) {
        if let Err(failure) = catch(call) {
            self.report(name, &failure);
        }
    }

    #[cold]
    fn report(&self, call: &'static str, failure: &Failure) {
        if let Some(home) = self.header.home() {
            home.timer_panicked(&self.header, call, failure);
        }
    }

    /// This timer, which its caller holds.
    fn share(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }
}

/// A firing whose end is reported when this is dropped, whatever happens.
struct Unfinished<'a, T: Fire> {
    timer: &'a Arc<Timer<T>>,
    run: &'a Run,
    now: Now,
}

impl<T: Fire> Drop for Unfinished<'_, T> {
    fn drop(&mut self) {
        self.timer.call("finish", || T::finish(self.timer, self.run, self.now));
    }
}

/// A firing that is over when this is dropped, whatever happens.
struct Underway<'a> {
    firings: &'a Firings,
    number: u64,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.firings.end(self.number);
    }
}

impl<T: Fire> AnyTask for Timer<T> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn look(&self) {
        black_box((self.header.deadline(), self.firings.is_any_asked()));
    }

    fn state(&self) -> TaskState {
        TaskState::Scheduled
    }

    fn due(&self) -> Due {
        self.armed().unwrap_or(Due::Tick(Tick::MAX))
    }

    fn run(self: Arc<Self>, claim: &Claim, observer: &dyn RunObserver) -> Ran {
        let begun = self.begin(claim);
        let timer = Arc::clone(&self);
        let (held, task) = Run::new(self, begun).enter(claim.by_worker, |run| {
            current::show();
            let fired = timer.fire(run);
            let rest = if fired == Fired::InProgress { Rest::Over } else { Rest::Spent };
            if claim.is_held {
                return Some(rest);
            }
            timer.close(run, rest, observer);
            None
        });
        match held {
            None => Ran::Over(Verdict::Ended(TaskState::Completed), task),
            Some(rest) => Ran::Held(Box::new(Held { run: Run::new(task, begun), rest })),
        }
    }

    fn settle(&self, run: &Run, rest: Rest, observer: &dyn RunObserver) -> Verdict {
        if let Some(timer) = self.share() {
            timer.close(run, rest, observer);
        }
        Verdict::Ended(TaskState::Completed)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn is_spent(&mut self) -> bool {
        false
    }

    /// The pool has taken the timer out of its queue, because the wall clock was set back.
    fn renew(&self, now: Now) -> Verdict {
        if let Some(timer) = self.share() {
            self.call("clock_set_back", || T::clock_set_back(&timer, now));
        }
        Verdict::Ended(TaskState::Completed)
    }

    fn waker(self: Arc<Self>) -> Waker {
        unreachable!("a firing is not polled")
    }

    fn suspend(&self) -> Suspend {
        unreachable!("a firing is not polled")
    }

    fn is_over(&self) -> bool {
        false
    }

    /// The pool has taken the timer out of its queue, for good. It has no waiters.
    fn cancel(&self) -> Option<Cancelled> {
        if let Some(timer) = self.share() {
            self.call("dropped", || T::dropped(&timer));
        }
        None
    }

    fn interrupt(&self) {
        self.firings.ask_every();
    }

    fn ask_to_stop(self: Arc<Self>, run: Option<u64>) {
        // Only a handle means the present run, and a timer has none.
        if let Some(number) = run {
            self.firings.ask(number);
        }
    }

    fn is_asked_to_stop(&self, run: u64) -> bool {
        self.firings.is_asked(run)
    }

    fn add_interruptible(&self, gate: &Arc<Gate>) -> u64 {
        self.firings.add_gate(gate)
    }

    fn remove_interruptible(&self, number: u64) {
        self.firings.remove_gate(number);
    }

    fn armed(&self) -> Option<Due> {
        // ORDERING: relaxed is enough, the ticket orders the accesses.
        let Armed { is_by_wall, due } = &self.armed;
        let due =
            || Due::from_parts(is_by_wall.load(Ordering::Relaxed), due.load(Ordering::Relaxed));
        (self.header.ticket() != Ticket::NONE).then(due)
    }

    fn set_armed(&self, due: Option<Due>) {
        let Some(due) = due else { return self.header.set_ticket(Ticket::NONE) };
        self.header.set_ticket(Ticket::STAGED);
        let (is_by_wall, due) = due.into_parts();
        // ORDERING: relaxed is enough, see `armed`.
        self.armed.is_by_wall.store(is_by_wall, Ordering::Relaxed);
        self.armed.due.store(due, Ordering::Relaxed);
    }
}

impl<T> Deref for Timer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.content {
            Some(content) => content,
            None => unreachable!("the content is there until the timer is dropped"),
        }
    }
}

impl<T> Drop for Timer<T> {
    fn drop(&mut self) {
        discard(&self.header, (self.content.take(), self.around.take()));
    }
}

impl<T: fmt::Debug> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("name", &self.header.name())
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}
