//! How tasks and timers enter the queue: at once, collected from the staging lists, armed, or after their trigger was
//! asked anew.
//!
//! A task that waits is asked anew when it is due if the wall clock was set back. Meanwhile it is *in transit*, in no
//! queue, so it cannot begin; the core knows only how many there are, and does not end before they are back.

use super::core::Core;
use super::entry::{Entry, disarmed};
use super::shutdown::{Kind, RunState, may_run};
use super::staging::{MayStage, Newcomer, Place};
use super::step::{Effects, Item, Submitter};
use crate::sync::planted;
use crate::time::{Due, Now, Tick};
use scheduler_queue::Ticket;

impl<I: Item> Core<I> {
    /// Admits a new task, or hands it back if the pool takes none.
    pub(crate) fn admit(
        &mut self,
        item: I,
        kind: Kind,
        due: Due,
        now: Now,
        submitter: Submitter,
        effects: &mut Effects<I>,
    ) -> Result<(), I> {
        if self.state != RunState::Running && !planted("L2") {
            return Err(item);
        }
        self.enter(item, kind, due, now, submitter, effects);
        Ok(())
    }

    /// What may be staged: tasks, if a worker looks at the queue before they are due; removals, if no worker waits for
    /// the pool to be empty.
    pub(super) fn may_stage(&self) -> MayStage {
        if self.state != RunState::Running {
            return MayStage { from: None, removals: planted("L11 removal") };
        }
        let is_staffed = self.workers.live() >= self.workers.core_size.max(1);
        let from = if is_staffed { self.workers.wakes_by() } else { None };
        MayStage { from, removals: !self.workers.is_timed() }
    }

    /// Puts in tasks that were staged; no worker has to be woken for them.
    ///
    /// A task that was cancelled meanwhile is put in, too: its canceller takes it out.
    #[inline]
    pub(crate) fn collect(&mut self, newcomers: impl IntoIterator<Item = Newcomer<Entry<I>>>) {
        self.queues.collect(newcomers);
    }

    /// As [`collect`](Self::collect), when the worker that was to look at the queue may wait for longer now.
    pub(crate) fn collect_late(&mut self, newcomer: Newcomer<Entry<I>>, effects: &mut Effects<I>) {
        let due = newcomer.due;
        self.collect([newcomer]);
        self.came_late(due, effects);
    }

    /// Ensures that a worker looks at what came while the one that was to look may have begun to wait for longer.
    pub(crate) fn came_late(&mut self, due: Tick, effects: &mut Effects<I>) {
        self.hire_if_missing(effects);
        if due != Tick::MAX && !planted("L5 late") {
            effects.wake.extend(self.workers.appoint(self.lateness.look(due)));
        }
    }

    /// Admits what the pool itself has made, such as an alarm. It is cancelled if the pool is about to end.
    pub(crate) fn admit_own(
        &mut self,
        item: I,
        kind: Kind,
        due: Due,
        now: Now,
        effects: &mut Effects<I>,
    ) {
        if self.is_tidying {
            self.cancel(effects, item);
        } else {
            self.enter(item, kind, due, now, Submitter::Other, effects);
        }
    }

    pub(super) fn enter(
        &mut self,
        item: I,
        kind: Kind,
        due: Due,
        now: Now,
        submitter: Submitter,
        effects: &mut Effects<I>,
    ) {
        if !may_run(self.state, kind, due.is_reached(now), self.policy) && !planted("L2") {
            self.cancel(effects, item);
            self.after_removal(effects);
            return;
        }
        // First, so that a pool that finds the task ended does not declare its end beside the start.
        self.hire_if_missing(effects);
        self.put(item, kind, due.not_overtaking(now), now, effects);
        match submitter {
            Submitter::Worker => self.ensure_wake_up_after(now, effects),
            Submitter::Other => self.ensure_wake_up(now, effects),
        }
    }
}

/// Timers.
impl<I: Item> Core<I> {
    /// Puts a timer into the queue, or at another place there, and hands out a share in it that is not needed; hands
    /// the timer back if the pool takes none.
    ///
    /// It keeps its number as its sequence, as a recurring task does.
    ///
    /// RACE: a timer that a worker has taken is not in the queue, whether it has been fired yet or not. So what is put
    /// in here is one more firing.
    pub(crate) fn arm(
        &mut self,
        timer: I,
        due: Due,
        now: Now,
        effects: &mut Effects<I>,
    ) -> Result<Option<I>, I> {
        if self.state >= RunState::Stopping || self.is_tidying {
            return Err(timer);
        }
        let armed = timer.armed();
        if armed == Some(due) {
            return Ok(Some(timer));
        }
        let former = armed.and_then(|_| self.queues.remove(timer.place()));
        // First, as where a task enters.
        self.hire_if_missing(effects);
        timer.set_armed(Some(due));
        let sequence = timer.sequence();
        let entry = Entry { kind: Kind::Timer, item: timer };
        self.queues.push(due.not_overtaking(now), sequence, entry, now);
        self.ensure_wake_up(now, effects);
        Ok(former.map(|entry| entry.item))
    }

    /// Takes a timer out of the queue, if it is there.
    pub(crate) fn disarm(&mut self, place: Place, effects: &mut Effects<I>) -> Option<I> {
        if place.ticket == Ticket::NONE {
            return None;
        }
        let Entry { kind, item } = self.queues.remove(place)?;
        disarmed(kind, &item);
        self.after_removal(effects);
        Some(item)
    }
}

/// What asks anew because the wall clock was set back.
impl<I: Item> Core<I> {
    /// Puts a task back into the queue that has a new due time.
    pub(crate) fn enter_again(&mut self, item: I, due: Due, now: Now, effects: &mut Effects<I>) {
        self.in_transit -= 1;
        if may_run(self.state, Kind::Recurring, due.is_reached(now), self.policy) {
            self.hire_if_deserted(effects);
            self.put(item, Kind::Recurring, due.not_overtaking(now), now, effects);
            self.ensure_wake_up(now, effects);
        } else {
            self.cancel(effects, item);
            self.after_removal(effects);
            self.try_terminate(effects);
        }
    }

    /// Notes that a timer was called because the clock was set back, and is not in the queue.
    pub(crate) fn retire(&mut self, effects: &mut Effects<I>) {
        self.in_transit -= 1;
        self.after_removal(effects);
        self.try_terminate(effects);
    }

    /// Cancels a task whose trigger gave no answer, because the thread that asked has died.
    pub(crate) fn abandon(&mut self, item: &I, effects: &mut Effects<I>) {
        self.cancel(effects, item.clone());
        self.retire(effects);
    }

    /// Has triggers asked anew whose tasks wait for a time ahead on a wall clock that was set back.
    pub(super) fn renew_if_set_back(&mut self, now: Now, effects: &mut Effects<I>) {
        for entry in self.queues.extract_if_set_back(now) {
            let item = self.taken(entry);
            self.send_off(item, effects);
        }
    }

    /// Has the trigger of a task in no queue asked anew.
    pub(super) fn send_off(&mut self, item: I, effects: &mut Effects<I>) {
        self.in_transit += 1;
        effects.rare().renew.push(item);
    }

    /// Ensures that there is a worker at all: one may have been refused, or have died, while the trigger of
    /// the only waiting task was asked.
    fn hire_if_deserted(&mut self, effects: &mut Effects<I>) {
        if self.workers.live() == 0 {
            self.hire(effects);
        }
    }
}
