//! Steps of the core that threads come to only when they meet.

use std::time::Duration;

use super::core::Core;
use super::inbox::Letter;
use super::looks::Ease;
use super::roster::Roster;
use super::shutdown::Kind;
use super::shutdown::ShutdownPolicy;
use super::step::Done;
use super::step::Effects;
use super::step::Item;
use super::step::Others;
use super::step::Take;
use crate::time::Due;
use crate::time::Now;
use crate::time::Tick;
use crate::time::WallTime;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use scheduler_queue::Ticket;

/// A task that is nothing but its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plain(u64);

impl Item for Plain {
    fn sequence(&self) -> u64 {
        self.0
    }

    fn ticket(&self) -> Ticket {
        Ticket::NONE
    }

    fn due(&self) -> Due {
        Due::Tick(Tick::ZERO)
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
fn core(workers: usize) -> Core<Plain> {
    core_at_ease(workers, Ease::default())
}

fn core_at_ease(workers: usize, ease: Ease) -> Core<Plain> {
    let roster = Roster::new(workers, Duration::from_secs(1), false);
    let mut core = Core::new(roster, ShutdownPolicy::default(), false, ease);
    let mut effects = Effects::new();
    core.prestart(workers, &mut effects);
    for worker in effects.take_rare().expect("workers are to be started").start {
        let take = core.next(worker, Done::Nothing, at(0), &mut effects);
        assert_eq!(take, Take::Wait(None));
    }
    core
}

fn letter(sequence: u64, due: Tick) -> Letter<Plain> {
    Letter { item: Plain(sequence), sequence, kind: Kind::OneShot, due, is_due: false }
}

fn woken(effects: &Effects<Plain>) -> Vec<u64> {
    effects.wake.iter().copied().collect()
}

/// Its submitter had been told that somebody would look in time, and that one has gone to rest since.
#[test]
fn somebody_is_woken_for_a_task_that_comes_late_by_the_inbox() {
    let (mut core, mut effects) = (core(2), Effects::new());
    core.collect_late(letter(1, Tick::MAX), &mut effects);
    assert_eq!(woken(&effects), [0; 0], "it is never due");
    core.collect_late(letter(2, Tick::from_nanos(50)), &mut effects);
    let [leader] = woken(&effects)[..] else { panic!("one is to be woken") };
    core.collect_late(letter(3, Tick::from_nanos(60)), &mut effects);
    assert_eq!(woken(&effects), [leader], "that one looks before");
    let take = core.next(leader, Done::Nothing, at(40), &mut effects);
    assert_eq!(take, Take::Wait(Some(Tick::from_nanos(50))));
}

/// When two workers look for what is due at 21,000 and soon after it, where a wake-up takes 40, and some of them
/// have run so many tasks in turn, ten times.
fn looks_after(tasks: u64, workers: &[u64]) -> [Take<Plain>; 2] {
    let ease = Ease { slack: Duration::ZERO, wake_up: Duration::from_nanos(40) };
    let (mut core, mut effects) = (core_at_ease(2, ease), Effects::new());
    let submit = |core: &mut Core<Plain>, number, due, now| {
        let due = Due::Tick(Tick::from_nanos(due));
        core.admit(Plain(number), Kind::OneShot, due, at(now), &mut Effects::new()).unwrap();
    };
    for now in (1..=10).map(|round| 1_000 * round) {
        (0..tasks).for_each(|task| submit(&mut core, now + task, now, now));
        let mut busy = Vec::new();
        for worker in workers.iter().cycle() {
            let done = if busy.contains(worker) { Done::Ended } else { Done::Nothing };
            busy.retain(|other| other != worker);
            match core.next(*worker, done, at(now), &mut effects) {
                Take::Run(..) => busy.push(*worker),
                _ => break,
            }
        }
        for worker in [1, 2] {
            let done = if busy.contains(&worker) { Done::Ended } else { Done::Nothing };
            assert_eq!(core.next(worker, done, at(now), &mut effects), Take::Wait(None));
        }
    }
    (0..5).for_each(|task| submit(&mut core, 20_000 + task, 21_000 + task, 20_000));
    // The one that was woken comes first.
    [2, 1].map(|worker| core.next(worker, Done::Nothing, at(20_000), &mut effects))
}

#[test]
fn a_worker_that_has_run_many_tasks_alone_has_a_longer_head_start() {
    let looks = |times: [u64; 2]| times.map(|time| Take::Wait(Some(Tick::from_nanos(time))));
    assert_eq!(looks_after(40, &[1]), looks([21_000, 21_160]));
    assert_eq!(looks_after(4, &[1]), looks([21_000, 21_040]), "they were few");
    assert_eq!(looks_after(40, &[1, 2]), looks([21_000, 21_040]), "two were needed");
}

/// A core of so many workers, of whom the first two have taken a task each, in turn.
fn core_with_two_at_work(workers: usize) -> Core<Plain> {
    let (mut core, mut effects) = (core(workers), Effects::new());
    for worker in [1, 2] {
        let (task, due) = (Plain(worker), Due::Tick(Tick::ZERO));
        assert_eq!(core.admit(task, Kind::OneShot, due, at(0), &mut effects), Ok(()));
        assert_eq!(core.next(worker, Done::Nothing, at(0), &mut effects), Take::Run(task, None));
    }
    core
}

/// Whoever rests is not listed as waiting.
#[test]
fn the_end_of_a_pool_wakes_who_rests_and_nobody_rests_after_it() {
    for stops in [false, true] {
        let (mut core, mut effects) = (core_with_two_at_work(3), Effects::new());
        core.settle(1, Done::Ended, at(0), &mut effects);
        assert_eq!(core.others(1), Some(Others { completed: 1, busy: 1 }));
        if stops {
            assert!(core.shutdown_now(at(0), &mut effects).is_empty());
        } else {
            core.shutdown(at(0), &mut effects);
        }
        assert_eq!(woken(&effects), [1, 3], "the other one is at a task");
        assert_eq!(core.others(1), None);
    }
}

/// Where nobody else is at a task there is nobody to be met, and a rest would be for nothing.
#[test]
fn nobody_rests_who_was_the_last_to_take_a_task_or_works_alone() {
    let (mut core, mut effects) = (core_with_two_at_work(2), Effects::new());
    core.settle(1, Done::Ended, at(0), &mut effects);
    assert_eq!((core.others(1), core.others(2)), (Some(Others { completed: 1, busy: 1 }), None));
    assert_eq!(core.next(2, Done::Ended, at(0), &mut effects), Take::Wait(None));
    assert_eq!(core.others(1), None);
}

/// A worker that left in the step that cancels a task could tell of it after another has declared the end.
#[test]
fn a_worker_whose_task_is_cancelled_leaves_in_a_later_step() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let admitted =
        core.admit(Plain(7), Kind::Recurring, Due::Tick(Tick::ZERO), at(0), &mut effects);
    assert_eq!(admitted, Ok(()));
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Run(Plain(7), None));
    assert!(core.shutdown_now(at(0), &mut effects).is_empty());

    let (mut effects, done) = (Effects::new(), Done::Recurs(Plain(7), Due::Tick(Tick::ZERO)));
    assert_eq!(core.next(1, done, at(0), &mut effects), Take::Again);
    let rare = effects.take_rare().expect("the task is to be cancelled");
    assert_eq!((rare.cancel, rare.tidy), (vec![Plain(7)], false));

    let mut effects = Effects::new();
    core.parted(1, &mut effects);
    assert!(effects.take_rare().is_none());
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Leave);
    assert!(effects.take_rare().is_some_and(|rare| rare.tidy && rare.cancel.is_empty()));
}

/// Who shuts down drops what that cancels after unlocking, when the last worker may have left.
#[test]
fn a_pool_ends_when_the_tasks_are_gone_that_its_shutdown_cancels() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let later = Due::Tick(Tick::from_nanos(9));
    assert_eq!(core.admit(Plain(7), Kind::Recurring, later, at(0), &mut effects), Ok(()));

    let mut effects = Effects::new();
    core.shutdown(at(0), &mut effects);
    let rare = effects.take_rare().expect("the task is to be cancelled");
    assert_eq!((rare.cancel, rare.tidy), (vec![Plain(7)], false));

    let mut effects = Effects::new();
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Leave);
    assert!(effects.take_rare().is_none_or(|rare| !rare.tidy));
    core.parted(1, &mut effects);
    assert!(effects.take_rare().is_some_and(|rare| rare.tidy));
}

/// Whoever starts threads or asks triggers may be kept by that, and gets its task when it is done.
#[test]
fn a_worker_with_an_errand_goes_on_in_a_later_step() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let due = Due::Tick(Tick::ZERO);
    for task in [7, 8] {
        assert_eq!(core.admit(Plain(task), Kind::Recurring, due, at(0), &mut effects), Ok(()));
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
fn a_core_need_not_hear_of_what_is_due_after_somebody_looks() {
    let (mut core, mut effects) = (core(1), Effects::new());
    assert_eq!(core.calm().patience, None, "its worker waits for ever");
    let (due, then) = (Tick::from_nanos(50), at(50));
    assert_eq!(core.admit(Plain(1), Kind::OneShot, Due::Tick(due), at(0), &mut effects), Ok(()));
    assert_eq!(core.calm().patience, Some(due));
    assert_eq!(core.next(1, Done::Nothing, then, &mut effects), Take::Run(Plain(1), None));
    assert_eq!(core.calm().patience, Some(Tick::ZERO), "its worker looks before it waits");
    core.shutdown(then, &mut effects);
    assert_eq!(core.calm().patience, None);
}

#[test]
fn what_is_due_before_all_that_is_staged_is_known_until_the_shutdown() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let (due, later) = (Tick::from_nanos(50), Tick::from_nanos(51));
    assert_eq!(core.admit(Plain(1), Kind::OneShot, Due::Tick(due), at(0), &mut effects), Ok(()));
    assert!(core.has_due_before(later, at(50)));
    assert!(!core.has_due_before(due, at(50)) && !core.has_due_before(later, at(49)));
    core.shutdown(at(50), &mut effects);
    assert!(!core.has_due_before(later, at(50)));
}

/// What has happened in a step: what the worker got, and whom the others are to wake or start.
fn told(take: &Take<Plain>, mut effects: Effects<Plain>) -> String {
    let rare = effects.take_rare();
    format!("{take:?}, {:?}, {rare:?}, {:?}", woken(&effects), effects.release)
}

fn step(core: &mut Core<Plain>, worker: u64, done: Done<Plain>, now: Now) -> (Take<Plain>, String) {
    let mut effects = Effects::new();
    let take = core.next(worker, done, now, &mut effects);
    let told = told(&take, effects);
    (take, told)
}

/// As [`step`], by the short way where there is one.
fn short_step(core: &mut Core<Plain>, worker: u64, done: Done<Plain>, now: Now) -> (String, bool) {
    let has_run = matches!(done, Done::Ended);
    if (has_run || matches!(done, Done::Skipped))
        && core.may_relay()
        && let Some(task) = core.relay(worker, has_run, Tick::MAX, now)
    {
        return (told(&Take::Run(task.0, task.1), Effects::new()), true);
    }
    (step(core, worker, done, now).1, false)
}

/// One core whose workers take the short way, and one whose workers do not.
struct Both {
    long: Core<Plain>,
    short: Core<Plain>,
    busy: [bool; 4],
    now: Now,
    relays: u32,
}

impl Both {
    fn new() -> Self {
        Self { long: core(3), short: core(3), busy: [false; 4], now: at(100), relays: 0 }
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
            _ => self.turn(number, worker, choice % 3),
        }
        assert_eq!(format!("{:?}", self.long.stats()), format!("{:?}", self.short.stats()));
        assert_eq!(self.long.calm(), self.short.calm());
        assert_eq!(self.long.first_due(self.now), self.short.first_due(self.now));
    }

    fn admit(&mut self, number: u64, kind: Kind, due: Due) {
        let now = self.now;
        let [long, short] = [&mut self.long, &mut self.short].map(|core| {
            let mut effects = Effects::new();
            let taken = core.admit(Plain(number), kind, due, now, &mut effects);
            (taken, woken(&effects))
        });
        assert_eq!(long, short);
    }

    /// A worker comes back with what it has done, or looks for something to do.
    fn turn(&mut self, number: u64, worker: u64, choice: u64) {
        let (now, is_busy) = (self.now, &mut self.busy[worker as usize]);
        let is_free = !*is_busy;
        let done = || match choice {
            _ if is_free => Done::Nothing,
            0 => Done::Recurs(Plain(1000 + number), Due::Tick(now.tick)),
            1 => Done::Skipped,
            _ => Done::Ended,
        };
        let (take, long) = step(&mut self.long, worker, done(), now);
        let (short, is_relay) = short_step(&mut self.short, worker, done(), now);
        assert_eq!(long, short);
        *is_busy = matches!(take, Take::Run(..));
        self.relays += u32::from(is_relay);
    }
}

/// A worker that gets its next task by the short way leaves the core as it would have by the long one.
#[test]
fn a_relay_is_a_step() {
    let relays = std::cell::Cell::new(0);
    let histories = prop::collection::vec((0..8u8, 1..4u64, 0..60u64), 1..150);
    let played = TestRunner::default().run(&histories, |history| {
        let mut both = Both::new();
        for (number, action) in (0..).zip(history) {
            both.act(number, action);
        }
        relays.set(relays.get() + both.relays);
        Ok(())
    });
    assert_eq!(played, Ok(()));
    assert!(relays.get() > 500, "only {} relays", relays.get());
}
