//! A timer: a call that a pool makes each time it is armed for.
//!
//! It has no state of a run, because several of its firings may be in progress at the same time, each on a worker of
//! its own. They are known behind one lock: which there are, and which of them were asked to stop.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::header::{Header, TaskId, TaskOptions};
use super::run::Run;
use super::spec::Around;
use super::state::{TaskState, Waiter, Waiters, notify};
use super::{
    Cancelled, HeldRun, Interruptible, NothingToRun, PoolLink, Queued, Requeue, RunRequest,
    RunResult, TaskPool,
};
use crate::error::Failure;
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::time::{Due, EventCount, Now};
use crate::unwind::{OnDrop, catch, catch_drop};

/// The calls that a [`Timer`] makes.
///
/// Each call is made without a lock of the engine, and a panic of it is contained and reported as
/// [`Event::TimerPanicked`](crate::Event::TimerPanicked).
pub trait Fire: Sized + Send + Sync + 'static {
    /// Is called by a worker when the timer was due; it is disarmed by then, unless it was armed again.
    ///
    /// The call is part of a run: [`Run::current`] returns it, its [`number`](Run::number) is the number of the firing, from 1,
    /// its [`due`](Run::due) time the one that the timer was armed for. Several calls may be in progress at the same
    /// time. One that the timer is disarmed for meanwhile is made all the same if a worker had taken it before.
    ///
    /// Answers whether [`finish`](Self::finish) is to be called. A panic is the answer [`Fired::NothingToFinish`].
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired;

    /// Is called when [`fire`](Self::fire) has answered [`Fired::Returned`], inside the same run; does nothing by default.
    ///
    /// On a thread that is at once. A virtual worker may let time pass in between, until
    /// [`VirtualRun::finish`](crate::VirtualRun::finish).
    fn finish(_timer: &Arc<Timer<Self>>, _run: &Run, _now: Now) {}

    /// Is called when the wall clock was set back while the timer was armed for a time ahead on it.
    ///
    /// The timer is disarmed then; it is to be armed again by this call, if that is wanted. Does nothing by default, so that a
    /// timer of the wall clock stays disarmed: where it is armed for a [`Due::Wall`], implement this.
    fn clock_set_back(_timer: &Arc<Timer<Self>>, _now: Now) {}

    /// Is called when the timer was armed and will not fire, because its pool has stopped or has lost its last worker.
    ///
    /// The timer is disarmed then. A pool that stops is seen as terminated after this call only. Does nothing by default.
    fn dropped(_timer: &Arc<Timer<Self>>) {}
}

/// The result of a firing.
#[must_use = "it decides whether `finish` is called"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// The body of the firing has returned: [`Fire::finish`] is called now and reports its end.
    Returned,
    /// [`Fire::finish`] is not called now: the end of this firing needs no report, or comes later, from elsewhere.
    NothingToFinish,
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
///         Fired::Returned
///     }
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
    name: Arc<str>,
    ticket: Arc<Ticket<T>>,
    around: Option<Around>,
    firings: Firings,
    /// None in the destructor only.
    content: Option<T>,
}

/// The item that stands in the queue for a timer, and keeps it while it is armed.
///
/// A dead entry keeps no timer, however long it stays in the queue; and arming a timer anew needs no memory.
struct Ticket<T> {
    /// The identity of the timer.
    header: Header,
    armed: Mutex<Option<Armed<T>>>,
}

/// The effect of arming a timer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arming {
    /// It was armed for this time already.
    Unchanged,
    /// It was not armed.
    New,
    /// It was armed for another time, whose entry is dead now.
    Replaces,
}

/// A timer that is armed.
struct Armed<T> {
    due: Due,
    /// Where its entry stands in the queue.
    place: Due,
    /// The last sweep that kept its entry.
    kept_in: u64,
    timer: Arc<Timer<T>>,
}

impl<T: Fire> Timer<T> {
    /// A timer that is not armed.
    pub(crate) fn new(
        header: Header,
        name: Arc<str>,
        around: Option<Around>,
        content: T,
    ) -> Arc<Self> {
        let ticket = Arc::new(Ticket { header, armed: Mutex::new(None) });
        let firings = Firings::default();
        Arc::new(Self { name, ticket, around, firings, content: Some(content) })
    }

    /// Notes the time for which the timer is armed, and where its entry is to stand; the pool puts it there.
    pub(crate) fn note_armed(self: &Arc<Self>, due: Due, place: Due) -> Arming {
        let timer = Arc::clone(self);
        let mut armed = self.ticket.armed.lock();
        if armed.as_ref().is_some_and(|armed| armed.due == due) {
            return Arming::Unchanged;
        }
        // The share that is left over is not the last one.
        match armed.replace(Armed { due, place, kept_in: 0, timer }) {
            Some(_) => Arming::Replaces,
            None => Arming::New,
        }
    }

    /// Disarms the timer; returns true if it was armed, so that its entry is dead.
    pub(crate) fn note_disarmed(&self) -> bool {
        self.ticket.armed.lock().take().is_some()
    }

    pub(crate) fn link(&self) -> &Arc<PoolLink> {
        &self.ticket.header.link
    }

    pub(crate) fn armed_due(&self) -> Option<Due> {
        self.ticket.armed.lock().as_ref().map(|armed| armed.due)
    }

    /// The item that stands in the queue for the timer.
    pub(crate) fn ticket(&self) -> Arc<dyn Queued> {
        Arc::clone(&self.ticket) as Arc<dyn Queued>
    }

    /// The number of the timer, unique in its pool among those of tasks and timers.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.ticket.header.id()
    }

    /// The name of the timer.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
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
        fired.unwrap_or(Fired::NothingToFinish)
    }

    /// Makes a firing, whose end is reported unless it is held back.
    fn run(self: Arc<Self>, due: Due, request: &RunRequest<'_>, pool: &dyn TaskPool) -> RunResult {
        let started = request.started.unwrap_or_else(|| pool.now());
        let number = self.firings.begin();
        let timer = Arc::clone(&self);
        let run = Run::new(self, number, due, started, request.by_worker);
        let (held, _) = request.thread.enter(run, |run| {
            let fired = timer.fire(run);
            if request.is_held {
                return Some(HeldRun { run: run.clone(), fired: Some(fired) });
            }
            timer.close(run, fired, pool);
            None
        });
        held.map_or(RunResult::Over(None), |held| RunResult::Held(Box::new(held)))
    }

    /// Ends a firing, and reports the end of a body that has returned.
    ///
    /// Where the clock panics the firing ends all the same, and the worker is lost.
    fn close(self: &Arc<Self>, run: &Run, fired: Fired, pool: &dyn TaskPool) {
        let _underway = OnDrop(|| self.firings.end(run.number()));
        if fired == Fired::Returned {
            let now = Cell::new(run.started());
            let _unfinished = OnDrop(|| self.call("finish", || T::finish(self, run, now.get())));
            now.set(pool.now());
        }
    }

    fn call(&self, name: &'static str, call: impl FnOnce()) {
        if let Err(failure) = catch(call) {
            self.report(name, &failure);
        }
    }

    #[cold]
    fn report(&self, call: &'static str, failure: &Failure) {
        if let Some(pool) = self.ticket.header.link.pool() {
            pool.timer_panicked(self.id(), Some(self.name()), call, failure);
        }
    }
}

impl<T: Fire> Interruptible for Timer<T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn header(&self) -> &Header {
        &self.ticket.header
    }

    fn options(&self) -> Option<&TaskOptions> {
        None
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn is_call(&self) -> bool {
        true
    }

    fn settle(self: Arc<Self>, run: &Run, fired: Fired, pool: &dyn TaskPool) -> Option<Requeue> {
        self.close(run, fired, pool);
        None
    }

    /// The pool has taken the timer out of its queue, for good. It has no waiters.
    fn cancel(self: Arc<Self>) -> Option<Cancelled> {
        self.call("dropped", || T::dropped(&self));
        None
    }

    /// The pool has taken the timer out of its queue.
    fn clock_set_back(self: Arc<Self>, now: Now) {
        self.call("clock_set_back", || T::clock_set_back(&self, now));
    }

    fn ask_to_stop(self: Arc<Self>, run: u64) {
        self.firings.ask(run);
    }

    fn is_asked_to_stop(&self, run: u64) -> bool {
        self.firings.is_asked(run)
    }

    fn add_interruptible(&self, run: u64, gate: &Arc<EventCount>) -> u64 {
        self.firings.add_interruptible(run, gate)
    }

    fn remove_interruptible(&self, run: u64, number: u64) {
        self.firings.remove_interruptible(run, number);
    }
}

/// A ticket is taken out of the queue, or makes its timer fire.
impl<T: Fire> Queued for Ticket<T> {
    fn run_plainly(&self) -> Result<(), NothingToRun> {
        unreachable!("the entry of a timer is never of the kind `Plain`")
    }

    fn run(self: Arc<Self>, request: &RunRequest<'_>, pool: &dyn TaskPool) -> RunResult {
        let armed = self.armed.lock().take_if(|armed| armed.place == request.due);
        match armed {
            None => RunResult::Nothing(NothingToRun { was_counted: false }),
            Some(Armed { due, timer, .. }) => timer.run(due, request, pool),
        }
    }

    fn take_out(self: Arc<Self>, place: Due) -> Option<Arc<dyn Interruptible>> {
        let armed = self.armed.lock().take_if(|armed| armed.place == place)?;
        Some(armed.timer)
    }

    fn stands_at(&self, place: Due) -> bool {
        self.armed.lock().as_ref().is_some_and(|armed| armed.place == place)
    }

    fn stands_once(&self, place: Due, sweep: u64) -> bool {
        let mut armed = self.armed.lock();
        armed.as_mut().is_some_and(|armed| {
            armed.place == place && std::mem::replace(&mut armed.kept_in, sweep) != sweep
        })
    }
}

impl<T> fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("id", &self.header.id()).finish_non_exhaustive()
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
        let leftover = (self.content.take(), self.around.take());
        let header = &self.ticket.header;
        if let Err(failure) = catch_drop(leftover)
            && let Some(pool) = header.link.pool()
        {
            pool.drop_panicked(header.id(), Some(&self.name), &failure);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("name", &self.name)
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}

/// The firings of one timer.
///
/// INVARIANT: the lock is an innermost one; threads are notified after it is given back.
#[derive(Default)]
struct Firings {
    list: Mutex<List>,
    /// True if any firing in progress was asked to stop; changed under the lock only.
    is_any_asked: AtomicBool,
}

#[derive(Default)]
struct List {
    /// The number of the last one that has begun.
    last: u64,
    in_progress: Vec<Firing>,
}

struct Firing {
    number: u64,
    is_asked: bool,
    /// The threads that wait inside it, to be woken when it is asked to stop.
    interruptible: Waiters,
}

impl List {
    fn find(&mut self, number: u64) -> Option<&mut Firing> {
        self.in_progress.iter_mut().find(|firing| firing.number == number)
    }
}

impl Firings {
    /// Counts a firing that begins, and returns its number.
    pub(super) fn begin(&self) -> u64 {
        let mut list = self.list.lock();
        list.last += 1;
        let number = list.last;
        // Most timers have one firing at most, and there may be very many timers.
        if list.in_progress.is_empty() {
            list.in_progress.reserve_exact(1);
        }
        let interruptible = Waiters::default();
        list.in_progress.push(Firing { number, is_asked: false, interruptible });
        number
    }

    /// Records that a firing is over; requests to stop it mean nothing from now on.
    pub(super) fn end(&self, number: u64) {
        let mut list = self.list.lock();
        if let Some(index) = list.in_progress.iter().position(|firing| firing.number == number)
            && list.in_progress.swap_remove(index).is_asked
        {
            let is_any_asked = list.in_progress.iter().any(|firing| firing.is_asked);
            self.is_any_asked.store(is_any_asked, Ordering::Release);
        }
    }

    /// Asks one firing to stop, if it is in progress.
    pub(super) fn ask(&self, number: u64) {
        let waiters = {
            let mut list = self.list.lock();
            let Some(firing) = list.find(number) else { return };
            firing.is_asked = true;
            // ORDERING: release, so that a body that sees the request sees what its canceller did before.
            self.is_any_asked.store(true, Ordering::Release);
            firing.interruptible.take()
        };
        notify(waiters, TaskState::Running);
    }

    /// Returns true if a firing was asked to stop.
    pub(super) fn is_asked(&self, number: u64) -> bool {
        // ORDERING: acquire, see `ask`.
        if !self.is_any_asked.load(Ordering::Acquire) {
            return false;
        }
        self.list.lock().find(number).is_some_and(|firing| firing.is_asked)
    }

    /// Adds a thread that waits inside a firing; one that is over is asked no more.
    pub(super) fn add_interruptible(&self, number: u64, gate: &Arc<EventCount>) -> u64 {
        let thread = Waiter::Thread(Arc::clone(gate));
        self.list.lock().find(number).map_or(0, |firing| firing.interruptible.add(thread))
    }

    pub(super) fn remove_interruptible(&self, number: u64, waiter: u64) {
        let removed =
            self.list.lock().find(number).and_then(|firing| firing.interruptible.remove(waiter));
        drop(removed);
    }
}
