//! A scheduled task: its immutable parts, and its state behind a mutex.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use scheduler_core::{Clock, Due, Now, ScheduledThreadPool, Tick, Timer};

use crate::base::set_once::Wakers;
use crate::base::sync::{Mutex, MutexGuard};
use crate::base::wake_all;
use crate::observe::{
    Bus, Event, EventKind, Failure, History, LATE, PoolEvents, TaskFacts, TaskState, catch,
};
use crate::run::inject::Call;
use crate::run::{Poll, Run};
use crate::task::fire_times::{JitterKind, SeededJitter};
use crate::task::gate::{Gates, Permits};
use crate::task::jobs::JobNumbers;
use crate::task::planner::{Planner, Start};
use crate::task::policy::TaskSpec;

/// The surroundings that all tasks of a pool share.
pub(crate) struct TaskEnv {
    /// Weak, because the pool owns the armed timers.
    pub(crate) pool: Weak<ScheduledThreadPool>,
    /// The clock of that pool.
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) gates: Arc<Gates>,
    /// Explains scheduled runs that start at least a second late.
    pub(crate) pool_events: Option<Arc<PoolEvents>>,
    pub(crate) on_end: Option<Arc<OnEnd>>,
}

/// Called with the name of a task that has ended.
pub(crate) type OnEnd = dyn Fn(&Arc<str>) + Send + Sync;

/// One task: its immutable parts, and its state behind a mutex. The value inside a [`Timer`].
pub(crate) struct ScheduledTask {
    pub(super) env: Arc<TaskEnv>,
    /// The errors in the attributes of a disabled task.
    pub(super) faults: LazyBox<String>,
    state: Mutex<TaskInner>,
}

pub(super) type Guard<'a> = MutexGuard<'a, TaskInner>;

impl ScheduledTask {
    /// Makes a task in its pool. [`Control::begin`](super::Control::begin) starts it.
    pub(super) fn make(
        spec: TaskSpec,
        env: Arc<TaskEnv>,
        pool: &Arc<ScheduledThreadPool>,
    ) -> Arc<Timer<Self>> {
        let (rule, policy) = spec.rule_and_policy();
        let TaskSpec { facts, call, disabled, .. } = spec;
        let name = Arc::clone(&facts.name);
        let jitter_source = SeededJitter::new(policy.seed, &name);
        let now = Now::read(&*env.clock);
        let planner = Planner::new(rule, policy, jitter_source, now);
        let mut state = TaskInner::new(facts, call, planner);
        state.end = disabled.as_ref().map(|_| TaskState::Disabled);
        let faults = LazyBox::new(disabled.unwrap_or_default());
        let task = Self { env, faults, state: Mutex::new(state) };
        pool.timer(name, task)
    }

    pub(super) fn lock(&self) -> Guard<'_> {
        self.state.lock()
    }

    pub(super) fn now(&self) -> Now {
        Now::read(&*self.env.clock)
    }

    /// Delivers events that [`TaskInner::events_to_deliver`] gave, and events of transitions meanwhile. No lock may be held.
    pub(super) fn deliver(&self, mut events: Vec<Event>) {
        loop {
            self.env.bus.emit_all(&mut events);
            let mut state = self.lock();
            std::mem::swap(&mut state.outbox, &mut events);
            if events.is_empty() {
                state.is_delivering = false;
                let watchers = state.is_end_reported.then(|| state.take_watchers());
                drop(state);
                // RACE: threads that wait for the end may have looked while this thread still delivered.
                wake_all(watchers.into_iter().flatten());
                return;
            }
        }
    }

    /// Reports that the run of the calling thread starts late, if the threads of its pool were all busy. No lock may be
    /// held.
    pub(super) fn report_late(&self) {
        if let Some(pool_events) = &self.env.pool_events {
            scheduler_core::Run::with_current(|run| pool_events.explain(run));
        }
    }

    /// Reports that the task has ended. No lock may be held.
    pub(super) fn report_end(task: &Timer<Self>) {
        task.env.on_end.iter().for_each(|on_end| on_end(task.name()));
    }

    /// Drops a value whose destructor may be user code. No lock may be held.
    pub(super) fn drop_contained<V>(&self, value: V) {
        if let Err(failure) = catch(|| drop(value)) {
            let facts = Arc::clone(&self.lock().facts);
            self.report_drop(&facts, failure);
        }
    }

    pub(super) fn report_drop(&self, facts: &Arc<TaskFacts>, failure: Failure) {
        self.env.bus.emit(Event::of(
            self.env.clock.wall(),
            facts,
            EventKind::DropPanicked { failure },
        ));
    }

    /// Reports a panic of a hook. No lock may be held.
    pub(super) fn report_hook(&self, hook: &'static str, failure: Failure) {
        let facts = Arc::clone(&self.lock().facts);
        self.env.bus.emit(Event::of(
            self.env.clock.wall(),
            &facts,
            EventKind::HookFailed { hook, failure },
        ));
    }
}

/// The function with its captures, and the trigger, are user code: a panic of their destructors is reported.
impl Drop for ScheduledTask {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let call = state.call.take();
        let rule = state.planner.take_rule();
        let facts = Arc::clone(&state.facts);
        for dropped in [catch(|| drop(call)), catch(|| drop(rule))] {
            if let Err(failure) = dropped {
                self.report_drop(&facts, failure);
            }
        }
    }
}

crate::base::opaque! { ScheduledTask }

/// The longest time between two looks at the wall clock, where a task waits for both clocks at once.
pub(super) const WALL_CHECK: Duration = Duration::from_secs(1);

/// The state of a task.
///
/// INVARIANT: no user code runs while it is locked: no trigger, body, gate, listener or destructor. At unlock the
/// timer is armed for [`TaskInner::wake`].
pub(super) struct TaskInner {
    pub(super) facts: Arc<TaskFacts>,
    /// The function; `None` after the end of the task.
    pub(super) call: Option<Call>,
    pub(super) planner: Planner,
    /// Runs in progress, the oldest first.
    #[expect(clippy::vec_box, reason = "a task that has run keeps no memory of its runs")]
    pub(super) active: Vec<Box<ActiveRun>>,
    /// The number of runs that have started.
    pub(super) runs: u64,
    /// The numbers of runs whose jobs wait for another attempt.
    pub(super) numbers: JobNumbers,
    /// The end of the task, now or with the runs in progress; or that it is disabled.
    pub(super) end: Option<TaskState>,
    pub(super) is_end_reported: bool,
    /// Why the custom trigger could not answer.
    pub(super) trigger_failure: Option<Box<Failure>>,
    pub(super) history: History,
    /// The longest poll of the last run whose future blocked its thread.
    pub(super) longest_poll: Option<Box<Poll>>,
    /// Those who wait for the end of a run.
    pub(super) watchers: LazyBox<Wakers>,
    /// The time for which the timer is armed.
    pub(super) armed: Option<Due>,
    /// Events in the order of the transitions, to be delivered after unlocking.
    pub(super) outbox: Vec<Event>,
    /// True if a thread delivers them.
    pub(super) is_delivering: bool,
}

impl Empty for Wakers {
    const EMPTY: &'static Self = &Self::new();
}

/// A run in progress, from its start to the end of its last attempt.
pub(super) struct ActiveRun {
    pub(super) run: Run,
    pub(super) start: Start,
    pub(super) began: Now,
    pub(super) phase: Phase,
    /// The engine's number of the firing that executes the attempt.
    pub(super) firing: u64,
    /// When the attempt, or the gate, has to be over.
    pub(super) deadline: Option<Tick>,
    /// True if it was cancelled: there is no further attempt.
    pub(super) is_cancelled: bool,
    /// True if all gates have admitted it.
    pub(super) is_admitted: bool,
    /// True if the next attempt has another number than the last: not if that was only admitted.
    pub(super) has_attempted: bool,
    /// Why the last attempt failed.
    pub(super) failure: Option<Box<Failure>>,
    /// Why a gate has refused it.
    pub(super) refusal: Option<Arc<str>>,
    pub(super) permits: Option<Permits>,
}

/// The phase of a run in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A gate decides whether it may start.
    Gate,
    Attempt,
    /// It waits for its next attempt.
    Wait(Tick),
}

impl ActiveRun {
    /// Returns true if it waits for its next attempt.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Wait(_))
    }

    /// Returns how long one poll of its future has held its thread, if at least for so long.
    pub(super) fn blocked(&self, now: Tick, at_least: Duration) -> Option<Duration> {
        let poll = self.run.longest_poll(now)?;
        (poll.took >= at_least).then_some(poll.took)
    }
}

impl TaskInner {
    /// Takes the events that the calling thread has to deliver. `None` if there are none, or another thread delivers them:
    /// so events come in the order of the transitions.
    #[inline]
    pub(super) fn events_to_deliver(&mut self) -> Option<Vec<Event>> {
        if self.is_delivering || self.outbox.is_empty() {
            return None;
        }
        self.is_delivering = true;
        Some(std::mem::take(&mut self.outbox))
    }

    pub(super) fn new(facts: Arc<TaskFacts>, call: Call, planner: Planner) -> Self {
        Self {
            facts,
            call: Some(call),
            planner,
            active: Vec::new(),
            runs: 0,
            numbers: JobNumbers::default(),
            end: None,
            is_end_reported: false,
            trigger_failure: None,
            history: History::default(),
            longest_poll: None,
            watchers: LazyBox::default(),
            armed: None,
            outbox: Vec::new(),
            is_delivering: false,
        }
    }

    /// Returns when the timer has to fire next.
    #[inline]
    pub(super) fn wake(&self, now: Now) -> Option<Due> {
        let planned = if self.end.is_none() { self.planner.wake() } else { None };
        if self.active.is_empty() {
            return planned;
        }
        self.earlier(planned, now)
    }

    /// Returns the earlier of the planned look and the deadlines of the runs in progress.
    fn earlier(&self, planned: Option<Due>, now: Now) -> Option<Due> {
        let is_held = self.end.is_some() || self.planner.paused().is_some();
        let waits_until = |run: &ActiveRun| match run.phase {
            Phase::Wait(until) => (!is_held).then_some(until),
            Phase::Gate | Phase::Attempt => run.deadline,
        };
        let Some(run) = self.active.iter().filter_map(|run| waits_until(run)).min() else {
            return planned;
        };
        Some(match planned {
            None => Due::Tick(run),
            Some(planned) if planned.as_tick(now) <= run => planned,
            Some(Due::Tick(_)) => Due::Tick(run),
            // The wall clock may be set forward meanwhile.
            Some(Due::Wall(_)) => Due::Tick(run.min(now.tick + WALL_CHECK)),
        })
    }

    /// Returns how long a poll of a future of this task has held its thread at this time or later, if that is long.
    pub(super) fn blocked_since(&self, from: Tick, now: Now) -> Option<Duration> {
        let active = self.active.iter().filter_map(|run| run.run.longest_poll(now.tick));
        let polls = active
            .chain(self.longest_poll.as_deref().copied())
            .filter(|poll| poll.from + poll.took >= from);
        polls.map(|poll| poll.took).filter(|took| *took >= LATE).max()
    }

    /// The wait before the next attempt in this process of a run whose attempt has failed; none if that was the last.
    pub(super) fn next_attempt_in(&self, index: usize) -> Option<Duration> {
        let (active, retry) = (&self.active[index], self.planner.policy().retry);
        let (number, attempt) = (active.run.number(), active.run.attempt());
        if attempt > retry.max || active.is_cancelled || self.end.is_some() {
            return None;
        }
        let longest = retry.longest_wait_after(attempt);
        let kind = JitterKind::Retry(number, attempt);
        Some(self.planner.jitter_source().part_of(longest, kind))
    }

    /// Takes out the wakers of those who wait for the end of a run.
    #[must_use = "the wakers must be woken"]
    pub(super) fn take_watchers(&mut self) -> impl Iterator<Item = Waker> + use<> {
        // Not the box: it remembers which ids are in use.
        let watchers = (!self.watchers.is_empty()).then(|| Wakers::take(&mut self.watchers));
        watchers.into_iter().flatten()
    }

    pub(super) fn find(&self, run: &Run) -> Option<usize> {
        self.active.iter().position(|active| active.run.is_same_attempt(run))
    }

    /// Returns true if no further run starts.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some_and(TaskState::is_ended)
    }
}

/// A value that takes one word until it is changed.
#[derive(Clone, Debug)]
pub(super) struct LazyBox<T>(Option<Box<T>>);

/// A type with an empty value that can be shared.
pub(super) trait Empty: Default + 'static {
    const EMPTY: &'static Self;
}

impl<T: 'static> Empty for Vec<T> {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: 'static> Empty for VecDeque<T> {
    const EMPTY: &'static Self = &Self::new();
}

impl<K: 'static, V: 'static> Empty for BTreeMap<K, V> {
    const EMPTY: &'static Self = &Self::new();
}

impl Empty for String {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: Empty + PartialEq> LazyBox<T> {
    pub(super) fn new(value: T) -> Self {
        Self((value != *T::EMPTY).then(|| Box::new(value)))
    }
}

impl<T: Empty> LazyBox<T> {
    /// Takes the value out, and frees its memory.
    pub(super) fn take(&mut self) -> T {
        self.0.take().map(|value| *value).unwrap_or_default()
    }
}

impl<T> Default for LazyBox<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Empty> Deref for LazyBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty> DerefMut for LazyBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::ScheduledTask;
    use scheduler_core::Timer;

    /// There may be very many tasks: with its facts, its names and its place in the queue, one that waits takes less than 1 kB.
    #[test]
    fn the_block_of_a_task_is_small() {
        let counts = 2 * size_of::<usize>();
        let block = counts + size_of::<Timer<ScheduledTask>>();
        assert!(block <= 496, "{block} bytes");
    }
}
