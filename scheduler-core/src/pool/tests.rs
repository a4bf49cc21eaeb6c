//! Steps of the core that threads come to only when they meet.

use std::time::Duration;

use super::activity::Running;
use super::core::Core;
use super::entry::{Entry, disarmed};
use super::lateness::Lateness;
use super::shutdown::{Kind, ShutdownPolicy};
use super::staging::{Newcomer, Place};
use super::step::{Done, Effects, Item, Submitter, Take};
use super::workers::Workers;
use crate::time::{Due, Now, Tick, WallTime};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use scheduler_queue::{Key, Ticket};

/// A task that is nothing but its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plain(u64);

impl Item for Plain {
    fn sequence(&self) -> u64 {
        self.0
    }

    fn place(&self) -> Place {
        Place { ticket: Ticket::NONE, key: Key { due: 0, sequence: self.0 } }
    }

    fn set_ticket(&self, _: Ticket) {}

    fn look(&self) {}

    fn armed(&self) -> Option<Due> {
        None
    }

    fn set_armed(&self, _: Option<Due>) {}

    fn is_ended(&self) -> bool {
        false
    }
}

fn at(nanos: u64) -> Now {
    Now { tick: Tick::from_nanos(nanos), wall: WallTime::from_nanos(0) }
}

/// A core of so many workers, all of whom wait.
fn core(count: usize) -> Core<Plain> {
    let lateness = Lateness::default();
    let workers = Workers::new(count, Duration::from_secs(1), false);
    let mut core = Core::new(workers, ShutdownPolicy::default(), false, lateness);
    let mut effects = Effects::new();
    core.prestart(count, &mut effects);
    for worker in effects.take_rare().expect("workers are to be started").start {
        let take = core.next(worker, Done::Nothing, at(0), &mut effects);
        assert_eq!(take, Take::Wait(None));
    }
    core
}

fn newcomer(sequence: u64, due: Tick) -> Newcomer<Entry<Plain>> {
    let item = Entry { kind: Kind::OneShot, item: Plain(sequence) };
    Newcomer { due, sequence, item, is_due: false }
}

fn woken(effects: &Effects<Plain>) -> Vec<u64> {
    effects.wake.clone()
}

/// When it was submitted a worker was to look in time; that worker waits for longer now.
#[test]
fn a_worker_is_woken_for_a_task_that_comes_late() {
    let (mut core, mut effects) = (core(2), Effects::new());
    core.collect_late(newcomer(1, Tick::MAX), &mut effects);
    assert_eq!(woken(&effects), [0; 0], "it is never due");
    core.collect_late(newcomer(2, Tick::from_nanos(50)), &mut effects);
    let [leader] = woken(&effects)[..] else { panic!("one is to be woken") };
    core.collect_late(newcomer(3, Tick::from_nanos(60)), &mut effects);
    assert_eq!(woken(&effects), [leader], "that one wake_ups before");
    let take = core.next(leader, Done::Nothing, at(40), &mut effects);
    assert_eq!(take, Take::Wait(Some(Tick::from_nanos(50))));
}

/// A worker that left in the step that cancels a task could report it after another has declared the end.
#[test]
fn a_worker_whose_task_is_cancelled_leaves_in_a_later_step() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let admitted = core.admit(
        Plain(7),
        Kind::Recurring,
        Due::Tick(Tick::ZERO),
        at(0),
        Submitter::Other,
        &mut effects,
    );
    assert_eq!(admitted, Ok(()));
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Run(Plain(7), None));
    assert!(core.shutdown_now(at(0), &mut effects).is_empty());

    let (mut effects, done) = (Effects::new(), Done::Recurs(Plain(7), Due::Tick(Tick::ZERO)));
    assert_eq!(core.next(1, done, at(0), &mut effects), Take::Again);
    let rare = effects.take_rare().expect("the task is to be cancelled");
    assert_eq!((rare.cancel, rare.tidy), (vec![Plain(7)], false));

    let mut effects = Effects::new();
    core.cancelled(1, &mut effects);
    assert!(effects.take_rare().is_none());
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Leave);
    assert!(effects.take_rare().is_some_and(|rare| rare.tidy && rare.cancel.is_empty()));
}

/// A shutdown drops what it cancels after unlocking, when the last worker may have left.
#[test]
fn a_pool_ends_when_the_tasks_are_gone_that_its_shutdown_cancels() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let later = Due::Tick(Tick::from_nanos(9));
    assert_eq!(
        core.admit(Plain(7), Kind::Recurring, later, at(0), Submitter::Other, &mut effects),
        Ok(())
    );

    let mut effects = Effects::new();
    core.shutdown(at(0), &mut effects);
    let rare = effects.take_rare().expect("the task is to be cancelled");
    assert_eq!((rare.cancel, rare.tidy), (vec![Plain(7)], false));

    let mut effects = Effects::new();
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Leave);
    assert!(effects.take_rare().is_none_or(|rare| !rare.tidy));
    core.cancelled(1, &mut effects);
    assert!(effects.take_rare().is_some_and(|rare| rare.tidy));
}

/// A worker that starts threads or asks triggers may be held up by that, and gets its task afterwards.
#[test]
fn a_worker_that_has_something_slow_to_do_goes_on_in_a_later_step() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let due = Due::Tick(Tick::ZERO);
    for task in [7, 8] {
        assert_eq!(
            core.admit(Plain(task), Kind::Recurring, due, at(0), Submitter::Other, &mut effects),
            Ok(())
        );
    }
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Run(Plain(7), None));
    core.set_core_size(2, &mut effects);
    core.lose(2, None, at(0), &mut effects);
    let done = Done::Recurs(Plain(7), Due::Tick(Tick::from_nanos(50)));
    let mut effects = Effects::new();
    assert_eq!(core.next(1, done, at(0), &mut effects), Take::Again);
    assert_eq!(effects.take_rare().map(|rare| rare.start.len()), Some(1));
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Run(Plain(8), None));
    assert!(effects.take_rare().is_none());
}

#[test]
fn what_is_due_after_the_next_look_may_be_staged() {
    let (mut core, mut effects) = (core(1), Effects::new());
    assert_eq!(core.may_stage().from, None, "its worker waits for ever");
    let (due, then) = (Tick::from_nanos(50), at(50));
    assert_eq!(
        core.admit(Plain(1), Kind::OneShot, Due::Tick(due), at(0), Submitter::Other, &mut effects),
        Ok(())
    );
    assert_eq!(core.may_stage().from, Some(due));
    assert_eq!(core.next(1, Done::Nothing, then, &mut effects), Take::Run(Plain(1), None));
    assert_eq!(core.may_stage().from, Some(Tick::ZERO), "its worker wake_ups before it waits");
    core.shutdown(then, &mut effects);
    assert_eq!(core.may_stage().from, None);
}

/// What a worker got to run, if anything.
fn run_of(take: &Take<Plain>) -> Option<u64> {
    if let Take::Run(Plain(number), _) = take { Some(*number) } else { None }
}

/// A step that takes what is due from the line where it may.
fn short_step(
    core: &mut Core<Plain>,
    worker: u64,
    done: Done<Plain>,
    now: Now,
) -> (Option<u64>, bool) {
    let activity = std::sync::Arc::clone(core.workers.activity(worker).expect("it is there"));
    if matches!(done, Done::Nothing) && activity.is_awake() {
        let note = |key: Key, entry: &Entry<Plain>| {
            activity.begin(Running { kind: entry.kind, sequence: key.sequence });
            disarmed(entry.kind, &entry.item)
        };
        if let Some((entry, _)) = core.ready().claim(now, note) {
            return (Some(entry.item.0), true);
        }
    }
    let take = core.next(worker, done, now, &mut Effects::new());
    (run_of(&take), false)
}

/// One core whose workers take what is due from the line, and one whose workers do not.
struct Both {
    long: Core<Plain>,
    short: Core<Plain>,
    busy: [bool; 4],
    now: Now,
    claims: u32,
}

impl Both {
    fn new() -> Self {
        Self { long: core(3), short: core(3), busy: [false; 4], now: at(100), claims: 0 }
    }

    fn act(&mut self, number: u64, (action, worker, choice): (u8, u64, u64)) {
        match action {
            0..=2 => {
                let kinds = [Kind::OneShot, Kind::Recurring, Kind::Alarm];
                let due = self.now.tick.as_nanos() + choice - 30;
                let kind = kinds[choice as usize % 3];
                self.admit(number, kind, Due::Tick(Tick::from_nanos(due)));
            }
            3 => self.now = at(self.now.tick.as_nanos() + choice),
            4 if choice < 2 => {
                let due = WallTime::from_nanos(if choice == 0 { 0 } else { i64::MAX });
                self.admit(number, Kind::OneShot, Due::Wall(due));
            }
            _ => self.activity(number, worker, choice % 3),
        }
        assert_eq!(format!("{:?}", self.long.stats()), format!("{:?}", self.short.stats()));
        assert_eq!(self.long.first_due(self.now), self.short.first_due(self.now));
    }

    fn admit(&mut self, number: u64, kind: Kind, due: Due) {
        let now = self.now;
        let [long, short] = [&mut self.long, &mut self.short].map(|core| {
            core.admit(Plain(number), kind, due, now, Submitter::Other, &mut Effects::new())
        });
        assert_eq!(long, short);
    }

    /// A worker comes back with what it has done, or looks for something to do.
    fn activity(&mut self, number: u64, worker: u64, choice: u64) {
        let (now, is_busy) = (self.now, &mut self.busy[worker as usize]);
        let is_free = !*is_busy;
        if *is_busy {
            for core in [&self.long, &self.short] {
                core.workers.activity(worker).expect("it is there").end(choice > 0);
            }
        }
        let done = || match choice {
            0 if !is_free => Done::Recurs(Plain(1000 + number), Due::Tick(now.tick)),
            _ => Done::Nothing,
        };
        let take = self.long.next(worker, done(), now, &mut Effects::new());
        let long = run_of(&take);
        let (short, is_claim) = short_step(&mut self.short, worker, done(), now);
        assert_eq!(long, short);
        *is_busy = matches!(take, Take::Run(..));
        self.claims += u32::from(is_claim);
    }
}

/// A claim from the line takes what the core would have given.
#[test]
fn a_claim_gives_what_a_step_gives() {
    let claims = std::cell::Cell::new(0);
    let histories = prop::collection::vec((0..8u8, 1..4u64, 0..60u64), 1..150);
    let played = TestRunner::default().run(&histories, |history| {
        let mut both = Both::new();
        for (number, action) in (0..).zip(history) {
            both.act(number, action);
        }
        claims.set(claims.get() + both.claims);
        Ok(())
    });
    assert_eq!(played, Ok(()));
    assert!(claims.get() > 500, "only {} claims", claims.get());
}
