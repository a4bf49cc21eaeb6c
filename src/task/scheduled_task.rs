//! A scheduled task: its immutable parts, and its state behind a mutex.

use std::sync::{Arc, Weak};

use scheduler_core::{Clock, Now, ScheduledThreadPool, Timer};

use super::gate::Gates;
use super::inner::TaskInner;
use super::jitter::SeededJitter;
use super::lazy_box::LazyBox;
use super::planner::Planner;
use super::spec::TaskSpec;
use crate::base::sync::{Mutex, MutexGuard};
use crate::base::unwind::wake_all;
use crate::observe::{Bus, Event, EventKind, Failure, PoolEvents, TaskFacts, TaskState, catch};

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

crate::base::opaque::opaque! { ScheduledTask }

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
