//! A step of the core: take the lock, collect what is staged, call the core, unlock, perform the effects.

use super::core::Core;
use super::entry::{AnyItem, Entry, place_of};
use super::locked::{Later, Locked, Starts};
use super::queues::is_due;
use super::shell::Shell;
use super::shutdown::Kind;
use super::staging::{MayStage, Newcomer, Staged};
use super::step::Effects;
use crate::error::Error;
use crate::sync::{MutexGuard, planted};
use crate::task::{Header, TaskId};
use crate::time::{Due, Now};
use scheduler_queue::Ticket;

impl Shell {
    /// Takes one step of the core at the present time.
    pub(super) fn step<R>(
        &self,
        step: impl FnOnce(&mut Core<AnyItem>, Now, &mut Effects<AnyItem>) -> R,
    ) -> R {
        let now = Now::read(&*self.clock);
        self.alter(|core, effects| step(core, now, effects))
    }

    /// Takes one step of the core under the lock, and performs what it asks for after unlocking.
    pub(super) fn alter<R>(
        &self,
        step: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> R,
    ) -> R {
        self.alter_and_count(step).0
    }

    /// As [`alter`](Self::alter), and returns how the starts of workers went.
    pub(super) fn alter_and_count<R>(
        &self,
        step: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> R,
    ) -> (R, Starts) {
        self.alter_locked(self.locked.lock(), step)
    }

    pub(super) fn alter_locked<R>(
        &self,
        mut locked: MutexGuard<'_, Locked>,
        step: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> R,
    ) -> (R, Starts) {
        let mut effects = Effects::new();
        self.collect(&mut locked, &mut effects);
        self.alter_collected(locked, effects, step)
    }

    /// As [`alter_locked`](Self::alter_locked), when what is staged has been collected.
    #[inline]
    pub(super) fn alter_collected<R>(
        &self,
        mut locked: MutexGuard<'_, Locked>,
        mut effects: Effects<AnyItem>,
        step: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> R,
    ) -> (R, Starts) {
        let result = step(&mut locked.core, &mut effects);
        self.publish_may_stage(&mut locked, &mut effects);
        if effects.is_quiet() {
            drop(locked);
            if !effects.release.is_empty() {
                self.arena.give_back(&mut effects.release);
            }
            return (result, Starts::default());
        }
        (result, self.unlock_and_perform(locked, effects))
    }

    /// Prepares what a step asks for under the lock, and performs it after unlocking.
    fn unlock_and_perform(
        &self,
        mut locked: MutexGuard<'_, Locked>,
        effects: Effects<AnyItem>,
    ) -> Starts {
        let later = locked.prepare(effects);
        drop(locked);
        self.perform_later(later)
    }

    /// Takes one step of the core under the lock, and returns what is to be done after unlocking, if anything.
    ///
    /// What is staged is collected first: it may come before a timer that is due at once.
    #[inline]
    pub(super) fn alter_later<R>(
        &self,
        step: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> R,
    ) -> (R, Option<Later>) {
        let (mut locked, mut effects) = (self.locked.lock(), Effects::new());
        self.collect(&mut locked, &mut effects);
        let result = step(&mut locked.core, &mut effects);
        self.publish_may_stage(&mut locked, &mut effects);
        let is_done = effects.is_quiet() && effects.release.is_empty();
        let later = if is_done { None } else { Some(locked.prepare(effects)) };
        (result, later)
    }

    /// Puts what is staged into the queue. No worker has to be woken for it: see `staging`.
    #[inline]
    pub(super) fn collect(&self, locked: &mut Locked, effects: &mut Effects<AnyItem>) {
        let Locked { core, staged, .. } = locked;
        if staged.is_empty() {
            self.staging.take(staged);
        }
        if !staged.is_empty() {
            collect_all(core, staged, effects);
            self.staging.arrived();
        }
    }

    /// The lock before a step that closes the pool: what was staged by then is taken in by that step, and
    /// nothing is staged any more.
    pub(super) fn lock_closed(&self) -> MutexGuard<'_, Locked> {
        let mut locked = self.locked.lock();
        if !planted("L11 end") {
            locked.may_stage = MayStage::default();
            self.staging.renew(MayStage::default(), &mut locked.staged);
            self.ready.renew(MayStage::default());
        }
        locked
    }

    /// Publishes what may be staged from now on.
    ///
    /// RACE: a task may have been staged since the step began, when a worker was to look at the queue
    /// that now waits for longer. The change of the rule takes it out, and wakes a worker if one is needed.
    #[inline]
    fn publish_may_stage(&self, locked: &mut Locked, effects: &mut Effects<AnyItem>) {
        while locked.may_stage != locked.core.may_stage() {
            self.renew_may_stage(locked, effects);
        }
    }

    #[inline(never)]
    fn renew_may_stage(&self, locked: &mut Locked, effects: &mut Effects<AnyItem>) {
        let Locked { core, may_stage, staged, .. } = locked;
        *may_stage = core.may_stage();
        self.staging.renew(*may_stage, staged);
        if let Some(due) = self.ready.renew(*may_stage) {
            core.came_late(due, effects);
        }
        if staged.is_empty() {
            return;
        }
        staged.newcomers.drain(..).for_each(|newcomer| core.collect_late(newcomer, effects));
        if !staged.removals.is_empty() {
            core.withdraw_all(&staged.removals, effects);
            staged.removals.clear();
        }
        staged.trim();
        self.staging.arrived();
    }

    /// Takes a task that was just admitted out again, where no worker is there to run it.
    pub(super) fn check_manned(&self, task: &AnyItem) -> Result<(), Error> {
        let removed =
            self.alter(
                |core, effects| {
                    if core.workers.live() > 0 { None } else { core.remove(task, effects) }
                },
            );
        let Some(removed) = removed else { return Ok(()) };
        self.cancel(&removed);
        let reason = self.refusal.lock().clone();
        Err(Error::no_thread(removed.header().label(), reason))
    }

    /// Puts a task in line or stages it, or hands it back if it has to go to the core.
    #[inline]
    pub(super) fn stage(
        &self,
        item: AnyItem,
        id: TaskId,
        kind: Kind,
        due: Due,
        now: Now,
    ) -> Result<(), AnyItem> {
        let Due::Tick(due) = due else { return Err(item) };
        let is_due = is_due(due.as_nanos(), now.tick.as_nanos());
        let mut entry = Entry { kind, item };
        let may_enter = || self.ready.is_empty() || self.is_called_by_worker();
        if is_due && self.staging.is_empty() && may_enter() {
            match self.ready.submit(due, id.0, entry, || self.grace()) {
                Ok(()) => return Ok(()),
                Err(back) => entry = back,
            }
        }
        let newcomer = Newcomer { due, sequence: id.0, item: entry, is_due };
        if self.staging.stage(newcomer, || self.grace()).map_err(|entry| entry.item)? {
            // Waits for the lock: submitters that never wait could keep it from other threads, such as one that ends
            // the pool.
            self.alter(|_, _| ());
        }
        Ok(())
    }

    /// Takes a task that was cancelled out of the pool.
    ///
    /// RACE: one that is not known to be in the queue is staged or in line; or a thread is putting it into the queue,
    /// under the lock. A later holder of the lock finds it there, unless a worker has taken it meanwhile, which sees
    /// that it was cancelled.
    pub(super) fn let_go(&self, header: &Header, due: Due) {
        let place = || place_of(header, due);
        let staged = place();
        let is_known = staged.ticket != Ticket::STAGED;
        match if is_known { self.staging.stage_removal(staged) } else { None } {
            Some(false) => {}
            Some(true) => self.alter(|_, _| ()),
            None if planted("L11 ticket") && !is_known => {}
            None => self.alter(|core, effects| core.withdraw_all(&[place()], effects)),
        }
    }
}

/// Puts staged tasks into the queue, then takes cancelled ones out: in this order, because a task may be both.
fn collect_all(
    core: &mut Core<AnyItem>,
    staged: &mut Staged<Entry<AnyItem>>,
    effects: &mut Effects<AnyItem>,
) {
    if !staged.newcomers.is_empty() {
        core.collect(staged.newcomers.drain(..));
    }
    if !staged.removals.is_empty() {
        core.withdraw_all(&staged.removals, effects);
        staged.removals.clear();
    }
    staged.trim();
}
