//! Steps of the core that threads come to only when they meet.

use std::time::Duration;

use super::core::Core;
use super::inbox::Letter;
use super::roster::Roster;
use super::shutdown::Kind;
use super::shutdown::ShutdownPolicy;
use super::step::Done;
use super::step::Effects;
use super::step::Item;
use super::step::Take;
use crate::queue::Ticket;
use crate::time::Due;
use crate::time::Now;
use crate::time::Tick;
use crate::time::WallTime;

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

    fn is_ended(&self) -> bool {
        false
    }

    fn note_renewal(&self) {}

    fn wants_renewal(&self) -> bool {
        false
    }
}

fn at(nanos: u64) -> Now {
    Now { tick: Tick::from_nanos(nanos), wall: WallTime::from_nanos(0) }
}

/// A core of so many workers, all of whom wait.
fn core(workers: usize) -> Core<Plain> {
    let roster = Roster::new(workers, Duration::from_secs(1), false);
    let mut core = Core::new(roster, ShutdownPolicy::default(), false, Duration::ZERO);
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

/// A worker that left in the step that cancels a task could tell of it after another has declared the end.
#[test]
fn a_worker_whose_task_is_cancelled_leaves_in_a_later_step() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let admitted =
        core.admit(Plain(7), Kind::Recurring, Due::Tick(Tick::ZERO), at(0), &mut effects);
    assert_eq!(admitted, Ok(()));
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Run(Plain(7)));
    assert!(core.shutdown_now(at(0), &mut effects).is_empty());

    let (mut effects, done) = (Effects::new(), Done::Recurs(Plain(7), Due::Tick(Tick::ZERO)));
    assert_eq!(core.next(1, done, at(0), &mut effects), Take::Again);
    let rare = effects.take_rare().expect("the task is to be cancelled");
    assert_eq!((rare.cancel, rare.tidy), (vec![Plain(7)], false));

    let mut effects = Effects::new();
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Leave);
    assert!(effects.take_rare().is_some_and(|rare| rare.tidy && rare.cancel.is_empty()));
}

/// A step that hires somebody asks for something rare, and cancels nothing.
#[test]
fn a_worker_goes_on_in_the_step_that_sees_to_others() {
    let (mut core, mut effects) = (core(1), Effects::new());
    let due = Due::Tick(Tick::ZERO);
    for task in [7, 8] {
        assert_eq!(core.admit(Plain(task), Kind::Recurring, due, at(0), &mut effects), Ok(()));
    }
    assert_eq!(core.next(1, Done::Nothing, at(0), &mut effects), Take::Run(Plain(7)));
    core.set_core_size(2, &mut effects);
    core.lose(2, None, at(0), &mut effects);
    let done = Done::Recurs(Plain(7), Due::Tick(Tick::from_nanos(50)));
    let mut effects = Effects::new();
    assert_eq!(core.next(1, done, at(0), &mut effects), Take::Run(Plain(8)));
    assert_eq!(effects.take_rare().map(|rare| rare.start.len()), Some(1));
}
