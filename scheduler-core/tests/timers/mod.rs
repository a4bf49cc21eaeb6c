//! A timer that notes its calls, for the tests of timers.
#![allow(dead_code, reason = "each test file uses its own part")]

use crate::kit::{Journal, VirtualPool};
use scheduler_core::{
    Begun, Due, Fire, Fired, ManualClock, Now, Run, ScheduledThreadPool, Tick, Timer, VirtualRun,
};
use std::sync::Arc;
use std::time::Duration;

/// A call that a timer has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Fired(u64, Due),
    Finished(u64, Tick),
    SetBack(Tick),
    Dropped,
}

pub(crate) type OnSetBack = Box<dyn Fn(&Arc<Timer<Probe>>, Now) + Send + Sync>;
pub(crate) type OnFire = Box<dyn Fn(&Arc<Timer<Probe>>, &Run) -> Fired + Send + Sync>;

/// Notes its calls.
pub(crate) struct Probe {
    pub(crate) told: Journal<Told>,
    pub(crate) on_fire: OnFire,
    pub(crate) on_set_back: OnSetBack,
    pub(crate) on_dropped: Box<dyn Fn() + Send + Sync>,
}

impl Fire for Probe {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        timer.told.note(Told::Fired(run.number(), run.due()));
        (timer.on_fire)(timer, run)
    }

    fn finish(timer: &Arc<Timer<Self>>, run: &Run, now: Now) {
        assert_eq!(Run::with_current(Run::number), Some(run.number()));
        timer.told.note(Told::Finished(run.number(), now.tick));
    }

    fn clock_set_back(timer: &Arc<Timer<Self>>, now: Now) {
        assert_eq!(timer.due(), None);
        timer.told.note(Told::SetBack(now.tick));
        (timer.on_set_back)(timer, now);
    }

    fn dropped(timer: &Arc<Timer<Self>>) {
        assert_eq!(timer.due(), None);
        timer.told.note(Told::Dropped);
        (timer.on_dropped)();
    }
}

pub(crate) fn probe_with(
    on_fire: impl Fn(&Arc<Timer<Probe>>, &Run) -> Fired + Send + Sync + 'static,
) -> Probe {
    let (on_fire, on_dropped) = (Box::new(on_fire), Box::new(|| ()));
    Probe { told: Journal::new(), on_fire, on_set_back: Box::new(|_, _| ()), on_dropped }
}

pub(crate) fn timer_with(
    pool: &ScheduledThreadPool,
    on_fire: impl Fn(&Arc<Timer<Probe>>, &Run) -> Fired + Send + Sync + 'static,
) -> Arc<Timer<Probe>> {
    pool.timer("probe", probe_with(on_fire))
}

pub(crate) fn timer(pool: &ScheduledThreadPool) -> Arc<Timer<Probe>> {
    timer_with(pool, |_, _| Fired::NothingToFinish)
}

pub(crate) const fn tick(millis: u64) -> Tick {
    Tick::from_nanos(1_000_000 * millis)
}

pub(crate) const fn due(millis: u64) -> Due {
    Due::Tick(tick(millis))
}

pub(crate) fn arm(timer: &Arc<Timer<Probe>>, clock: &ManualClock, due: Due) {
    let wake = timer.arm(due, Now::read(clock));
    assert!(!wake.is_refused());
    wake.perform();
}

/// Arms a timer for some time after the one that a run was due at, which is on the monotonic clock.
pub(crate) fn arm_again(timer: &Arc<Timer<Probe>>, run: &Run, after: Duration) {
    let Due::Tick(due) = run.due() else { panic!("it was armed for a tick") };
    timer.arm(Due::Tick(due + after), run.started()).perform();
}

pub(crate) fn begin(stage: &VirtualPool, worker: u64) -> VirtualRun {
    match stage.workers.begin(worker) {
        Begun::Run(run) => run,
        other => panic!("worker {worker}: {other:?}"),
    }
}
