//! How tasks come into the queue: told at once, or collected from where they were staged.

use super::core::Core;
use super::entry::Entry;
use super::shutdown::Kind;
use super::shutdown::RunState;
use super::shutdown::may_run;
use super::staging::MayStage;
use super::staging::Newcomer;
use super::step::Effects;
use super::step::Item;
use super::step::Submitter;
use crate::sync::planted;
use crate::time::Due;
use crate::time::Now;
use crate::time::Tick;

impl<I: Item> Core<I> {
    /// Takes a new task in, or hands it back because the pool takes none.
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

    /// What may be staged: tasks, because somebody will look at the queue before they are due; removals, because
    /// nobody waits for the pool to be empty.
    pub(super) fn may_stage(&self) -> MayStage {
        if self.state != RunState::Running {
            return MayStage { from: None, removals: planted("L11 removal") };
        }
        let is_staffed = self.roster.live() >= self.roster.core_size.max(1);
        let from = if is_staffed { self.roster.looks_by() } else { None };
        MayStage { from, removals: !self.roster.is_timed() }
    }

    /// Puts in tasks that were staged and that nobody has to be told of.
    ///
    /// One that was cancelled on its way is not looked at: its canceller comes to take it out.
    #[inline]
    pub(crate) fn collect(&mut self, newcomers: impl IntoIterator<Item = Newcomer<Entry<I>>>) {
        self.agenda.collect(newcomers);
    }

    /// As [`collect`](Self::collect), where those who were to look at the queue may wait for longer now.
    pub(crate) fn collect_late(&mut self, newcomer: Newcomer<Entry<I>>, effects: &mut Effects<I>) {
        let due = newcomer.due;
        self.collect([newcomer]);
        self.came_late(due, effects);
    }

    /// Sees to it that somebody looks for what has come while those who were to look may have begun to wait for longer.
    pub(crate) fn came_late(&mut self, due: Tick, effects: &mut Effects<I>) {
        self.hire_if_missing(effects);
        if due != Tick::MAX && !planted("L5 late") {
            effects.wake.extend(self.roster.appoint(self.ease.look(due), due));
        }
    }

    /// Takes in what the pool itself has made: the time limit of a task that was taken in before, or an
    /// alarm. It is cancelled if the pool is too near its end.
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
            Submitter::Worker => self.see_to_what_is_left(now, effects),
            Submitter::Other => self.see_to_the_queue(now, effects),
        }
    }
}
