//! What the lock of a pool guards, and how it is taken: the core, the workers' posts, what was staged.

use std::sync::Arc;

use super::core::Core;
use super::few::Few;
use super::inbox::Calm;
use super::inbox::Letter;
use super::inbox::Mail;
use super::inbox::Withdrawal;
use super::item::AnyItem;
use super::post::Post;
use super::roster::WorkerNumber;
use super::shell::Shell;
use super::shutdown::Kind;
use super::step::Effects;
use super::step::Item;
use super::step::Rare;
use crate::error::Error;
use crate::sync::MutexGuard;
use crate::sync::planted;
use crate::task::AnyTask;
use crate::time::Due;
use crate::time::Now;
use crate::time::Tick;
use crate::unwind::drop_contained;

pub(super) struct Locked {
    pub(super) core: Core<AnyItem>,
    /// The post of each worker; entered before its thread is started.
    pub(super) posts: Vec<(WorkerNumber, Arc<Post>)>,
    /// What the inbox knows of [`Core::calm`].
    calm: Calm,
    /// What the next step begins with: between steps nothing, and room for what is staged.
    mail: Mail<AnyItem>,
}

/// What is to be done after a step, without the lock.
pub(super) struct Later {
    wake: Few<Arc<Post>>,
    rare: Option<Box<Rare<AnyItem>>>,
    interrupted: Vec<(Arc<Post>, u64)>,
    release: Few<AnyItem>,
}

impl Later {
    /// The post of a worker to wake, if there is nothing else to be done.
    pub(super) fn into_only_post(mut self) -> Result<Arc<Post>, Box<Self>> {
        let is_only = self.rare.is_none() && self.release.is_empty();
        let only = if is_only { self.wake.take_only() } else { None };
        only.ok_or_else(|| Box::new(self))
    }
}

/// How the starts of workers went that a step asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts {
    pub(super) started: u32,
    pub(super) refused: u32,
}

impl Locked {
    pub(super) fn new(core: Core<AnyItem>) -> Self {
        Self { core, posts: Vec::new(), calm: Calm::default(), mail: Mail::new() }
    }

    /// What a step asks for, so that it can be done without the lock.
    fn prepare(&mut self, mut effects: Effects<AnyItem>) -> Later {
        let rare = effects.take_rare();
        for worker in rare.iter().flat_map(|rare| &rare.start) {
            self.posts.push((*worker, Arc::new(Post::new())));
        }
        let mut wake = Few::new();
        wake.extend(effects.wake.iter().filter_map(|worker| self.post(*worker).cloned()));
        let interrupted = rare.iter().flat_map(|rare| &rare.interrupt);
        let interrupted = interrupted
            .filter_map(|(worker, number)| Some((Arc::clone(self.post(*worker)?), *number)))
            .collect();
        Later { wake, rare, interrupted, release: effects.release }
    }

    pub(super) fn post(&self, worker: WorkerNumber) -> Option<&Arc<Post>> {
        self.posts.iter().find(|(number, _)| *number == worker).map(|(_, post)| post)
    }
}

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

    /// As [`alter`](Self::alter), and says how the starts of workers went.
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

    /// As [`alter_locked`](Self::alter_locked), for a step to which nothing matters that is staged.
    pub(super) fn alter_only<R>(
        &self,
        locked: MutexGuard<'_, Locked>,
        step: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> R,
    ) -> (R, Starts) {
        self.alter_collected(locked, Effects::new(), step)
    }

    #[inline]
    fn alter_collected<R>(
        &self,
        mut locked: MutexGuard<'_, Locked>,
        mut effects: Effects<AnyItem>,
        step: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> R,
    ) -> (R, Starts) {
        let result = step(&mut locked.core, &mut effects);
        self.publish_calm(&mut locked, &mut effects);
        if effects.is_for_nobody() {
            drop(locked);
            if !effects.release.is_empty() {
                drop_contained(effects.release);
            }
            return (result, Starts::default());
        }
        (result, self.unlock_and_perform(locked, effects))
    }

    /// Makes what a step asks for known under the lock, as far as it has to be, and performs it then.
    fn unlock_and_perform(
        &self,
        mut locked: MutexGuard<'_, Locked>,
        effects: Effects<AnyItem>,
    ) -> Starts {
        let later = locked.prepare(effects);
        drop(locked);
        self.perform_later(later)
    }

    /// Takes one step of the core under the lock, to which nothing matters that is staged, and hands out what is to be
    /// done then, where that is anything.
    #[inline]
    pub(super) fn alter_later<R>(
        &self,
        step: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> R,
    ) -> (R, Option<Later>) {
        let (mut locked, mut effects) = (self.locked.lock(), Effects::new());
        let result = step(&mut locked.core, &mut effects);
        self.publish_calm(&mut locked, &mut effects);
        let is_done = effects.is_for_nobody() && effects.release.is_empty();
        let later = if is_done { None } else { Some(locked.prepare(effects)) };
        (result, later)
    }

    /// Does what a step has asked for.
    pub(super) fn perform_later(&self, later: Later) -> Starts {
        let Later { wake, rare, interrupted, release } = later;
        for post in wake {
            post.gate.open();
        }
        let Some(rare) = rare else {
            drop_contained(release);
            return Starts::default();
        };
        self.perform(*rare, release, interrupted)
    }

    /// Sees to what is staged. Somebody looks at the queue in time: see `inbox`.
    #[inline]
    fn collect(&self, locked: &mut Locked, effects: &mut Effects<AnyItem>) {
        let Locked { core, mail, .. } = locked;
        if mail.is_empty() {
            self.inbox.take(mail);
        }
        if !mail.is_empty() {
            collect_all(core, mail, effects);
        }
    }

    /// What a worker whose task has ended is to run next, where the core has to see to nothing else: see
    /// [`Core::relay`].
    #[inline]
    pub(super) fn relay(
        &self,
        locked: &mut Locked,
        worker: WorkerNumber,
        has_run: bool,
        earliest: Tick,
        now: Now,
    ) -> Option<(AnyItem, Option<Due>)> {
        let Locked { core, mail, .. } = locked;
        if !core.may_relay() {
            return None;
        }
        let task = core.relay(worker, has_run, earliest, now);
        if task.is_some() || earliest > now.tick {
            return task;
        }
        // The first of what is staged may be due before all that is in the queue.
        self.inbox.take(mail);
        if !mail.withdrawals.is_empty() {
            return None;
        }
        mail.letters.drain(..).for_each(|letter| core.collect(letter));
        mail.trim();
        core.relay(worker, has_run, Tick::MAX, now)
    }

    /// The lock before a step that closes the pool: what was staged by then is taken in by that step, and
    /// nothing is staged any more.
    pub(super) fn lock_closed(&self) -> MutexGuard<'_, Locked> {
        let mut locked = self.locked.lock();
        if !planted("L11 end") {
            locked.calm = Calm::default();
            self.inbox.renew(Calm::default(), &mut locked.mail);
        }
        locked
    }

    /// Tells submitters what the core need not hear of at once.
    ///
    /// RACE: a task may have been staged since the step has begun, when somebody was to look at the queue
    /// who now waits for longer. Whoever changes the calm finds it, and sees to it.
    #[inline]
    fn publish_calm(&self, locked: &mut Locked, effects: &mut Effects<AnyItem>) {
        while locked.calm != locked.core.calm() {
            self.renew_calm(locked, effects);
        }
    }

    #[inline(never)]
    fn renew_calm(&self, locked: &mut Locked, effects: &mut Effects<AnyItem>) {
        let Locked { core, calm, mail, .. } = locked;
        *calm = core.calm();
        self.inbox.renew(*calm, mail);
        mail.letters.drain(..).for_each(|letter| core.collect_late(letter, effects));
        if !mail.withdrawals.is_empty() {
            core.withdraw_all(&mail.withdrawals, effects);
            mail.withdrawals.clear();
        }
        mail.trim();
    }

    /// Takes a task that was just admitted out again, where no worker is there to run it.
    pub(super) fn check_manned(&self, task: &AnyItem) -> Result<(), Error> {
        let removed =
            self.alter(
                |core, effects| {
                    if core.roster.live() > 0 { None } else { core.remove(task, effects) }
                },
            );
        let Some(removed) = removed else { return Ok(()) };
        self.cancel(&removed);
        let reason = self.refusal.lock().clone();
        Err(Error::no_thread(removed.header().label(), reason))
    }

    /// Puts a task into the inbox, or hands it back because the core has to hear of it.
    pub(super) fn stage(
        &self,
        item: AnyItem,
        kind: Kind,
        due: Due,
        now: Now,
    ) -> Result<(), AnyItem> {
        let Due::Tick(due) = due else { return Err(item) };
        let (sequence, is_due) = (item.sequence(), due <= now.tick);
        if self.inbox.stage(Letter { item, sequence, kind, due, is_due })? {
            // Waits for the lock like anybody else: submitters that never wait would keep those away from
            // it who have something to say, such as that the pool ends.
            self.alter(|_, _| ());
        }
        Ok(())
    }

    /// Takes a task out of the pool that was cancelled when it was not known to be in the queue.
    ///
    /// RACE: it is in the inbox; or somebody is putting it into the queue, under the lock. Who has had the
    /// lock after that finds it there, by its ticket, unless a worker has taken it meanwhile, who sees
    /// that it was cancelled.
    pub(super) fn recall(&self, task: &dyn AnyTask) {
        let recalled = self.inbox.recall(|item| std::ptr::addr_eq(Arc::as_ptr(item), task));
        if recalled.is_some() {
            drop_contained(recalled);
        } else if !planted("L11 ticket") {
            let header = task.header();
            self.alter(|core, effects| {
                let sequence = header.id().0;
                let ticket = core.settled(header.ticket(), task.due(), sequence);
                core.withdraw_all(&[Withdrawal { sequence, ticket }], effects);
            });
        }
    }

    /// Takes a task that was cancelled out of the pool.
    pub(super) fn let_go(&self, withdrawal: Withdrawal) {
        match self.inbox.stage_withdrawal(withdrawal) {
            Some(false) => {}
            Some(true) => self.alter(|_, _| ()),
            None => self.alter(|core, effects| core.withdraw_all(&[withdrawal], effects)),
        }
    }
}

/// Puts what was staged into the queue, and what was cancelled out of it, in this order: both may be of one
/// task.
fn collect_all(core: &mut Core<AnyItem>, mail: &mut Mail<AnyItem>, effects: &mut Effects<AnyItem>) {
    mail.letters.drain(..).for_each(|letter| core.collect(letter));
    if !mail.withdrawals.is_empty() {
        core.withdraw_all(&mail.withdrawals, effects);
        mail.withdrawals.clear();
    }
    mail.trim();
}
