//! Timers: armed, disarmed, fired beside themselves, called after set clocks, dropped.

use std::sync::{Arc, OnceLock, Weak};

use crate::kit::{HOUR, Journal, Random, VirtualPool, is_in_own_process, ms, resident_bytes};
use crate::timers::{Probe, Told, arm, arm_again, begin, due, probe_with, tick, timer, timer_with};
use scheduler_core::{
    Begun, Clock, Due, Fired, Now, Run, RunState, ScheduledThreadPool, Stepped, Timer,
};

#[test]
fn ec_o1_a_timer_fires_once_at_the_time_it_is_armed_for() {
    let stage = VirtualPool::new(1);
    let timer = timer_with(&stage.pool, |timer, run| {
        assert_eq!((run.task_name(), run.task_id()), (Some("probe"), timer.id()));
        assert_eq!(Run::with_current(Run::number), Some(run.number()));
        assert_eq!((run.started().tick, timer.due()), (tick(10), None));
        Fired::NothingToFinish
    });
    assert_eq!((&**timer.name(), timer.due()), ("probe", None));
    stage.run_for(ms(4));
    arm(&timer, &stage.clock, due(10));
    assert_eq!(timer.due(), Some(due(10)));
    stage.run_for(ms(5));
    assert_eq!(timer.told.entries(), []);
    stage.run_for(ms(10));
    assert_eq!(timer.told.entries(), [Told::Fired(1, due(10))]);
    assert_eq!(timer.due(), None);
    stage.run_for(HOUR);
    assert_eq!(timer.told.len(), 1);
}

#[test]
fn ec_o1_arming_replaces_the_time_and_disarming_takes_it_back() {
    let stage = VirtualPool::new(1);
    let timer = timer(&stage.pool);
    arm(&timer, &stage.clock, due(10));
    stage.run_due();
    arm(&timer, &stage.clock, due(30));
    arm(&timer, &stage.clock, due(20));
    arm(&timer, &stage.clock, due(20));
    assert_eq!((timer.due(), stage.pool.stats().queued), (Some(due(20)), 1));
    stage.run_for(ms(19));
    assert_eq!(timer.told.entries(), []);
    stage.run_for(ms(30));
    assert_eq!(timer.told.entries(), [Told::Fired(1, due(20))]);
    arm(&timer, &stage.clock, due(60));
    timer.disarm().perform();
    timer.disarm().perform();
    assert_eq!((timer.due(), stage.pool.stats().queued), (None, 0));
    stage.run_for(HOUR);
    assert_eq!(timer.told.len(), 1);
    let now = Now::read(&stage.clock).tick;
    arm(&timer, &stage.clock, due(60));
    stage.run_due();
    assert_eq!(timer.told.entries()[1..], [Told::Fired(2, due(60))]);
    assert_eq!(stage.clock.now(), now, "a time that has passed is due at once");
}

#[test]
fn ec_o1_what_comes_after_a_worker_has_taken_a_timer_is_another_firing() {
    let (armed, disarmed) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
    let (first, second) = (Arc::clone(&armed), Arc::clone(&disarmed));
    // The decorator is entered after the worker has taken the timer.
    let builder = ScheduledThreadPool::builder().core_size(1).decorate_task(move |_, name| {
        let is_first = name == Some("armed");
        let timer: Arc<OnceLock<Weak<Timer<Probe>>>> =
            Arc::clone(if is_first { &first } else { &second });
        let is_over = OnceLock::new();
        Box::new(move |step| {
            let timer = timer.get().and_then(Weak::upgrade).expect("it was made");
            let now = Run::with_current(Run::started).expect("this is a run");
            if is_first && is_over.set(()).is_ok() {
                timer.arm(due(10), now).perform();
            }
            timer.disarm().perform();
            if is_first {
                timer.arm(due(20), now).perform();
            }
            step();
        })
    });
    let stage = VirtualPool::build(builder);
    let make = |name: &str, keep: &OnceLock<_>| {
        let timer = stage.pool.timer(name, probe_with(|_, _| Fired::NothingToFinish));
        assert!(keep.set(Arc::downgrade(&timer)).is_ok());
        arm(&timer, &stage.clock, due(10));
        timer
    };
    let (armed, disarmed) = (make("armed", &armed), make("disarmed", &disarmed));
    stage.run_for(ms(10));
    assert_eq!(armed.told.entries(), [Told::Fired(1, due(10))]);
    assert_eq!((armed.due(), disarmed.due()), (Some(due(20)), None));
    assert_eq!(disarmed.told.entries(), [Told::Fired(1, due(10))], "it had been taken");
    armed.disarm().perform();
}

#[test]
fn ec_o1_timers_and_tasks_are_in_one_order() {
    let (stage, ran) = (VirtualPool::new(1), Journal::new());
    let noting = |name: &'static str| {
        let ran = ran.clone();
        move |_: &Arc<Timer<Probe>>, _: &Run| {
            ran.note(name);
            Fired::NothingToFinish
        }
    };
    let first = timer_with(&stage.pool, noting("first"));
    let task = stage.pool.schedule(ms(10), ran.noting("task")).unwrap();
    let second = timer_with(&stage.pool, noting("second"));
    let late = timer_with(&stage.pool, noting("late"));
    arm(&second, &stage.clock, due(10));
    arm(&first, &stage.clock, due(10));
    stage.clock.advance(ms(10));
    arm(&late, &stage.clock, due(9));
    stage.run_due();
    assert_eq!(ran.entries(), ["late", "first", "task", "second"]);
    assert!(task.is_done());
}

/// Tasks that were submitted while the worker was busy may still be in the inbox when a timer is armed for a time that has come.
#[test]
fn ec_o1_a_timer_that_is_due_comes_after_tasks_that_were_due_before() {
    let (stage, ran) = (VirtualPool::new(1), Journal::new());
    let noting = ran.clone();
    let timer = timer_with(&stage.pool, move |_, _| {
        noting.note("timer");
        Fired::NothingToFinish
    });
    stage.pool.execute(ran.noting("first")).unwrap();
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("it is due") };
    stage.pool.execute(ran.noting("second")).unwrap();
    stage.clock.advance(ms(1));
    stage.pool.execute(ran.noting("third")).unwrap();
    stage.clock.advance(ms(1));
    arm(&timer, &stage.clock, Due::Tick(stage.clock.now()));
    run.finish();
    stage.run_due();
    assert_eq!(ran.entries(), ["first", "second", "third", "timer"]);
}

#[test]
fn ec_o2_a_timer_fires_beside_itself_on_another_worker() {
    let stage = VirtualPool::new(2);
    let timer = timer_with(&stage.pool, |timer, run| {
        arm_again(timer, run, ms(10));
        Fired::Returned
    });
    arm(&timer, &stage.clock, due(10));
    assert_eq!(stage.workers.numbers(), [1]);
    stage.run_due();
    stage.clock.advance(ms(10));
    let first = begin(&stage, 1);
    assert_eq!(stage.workers.numbers(), [1, 2], "one was started for the next time");
    assert_eq!(stage.workers.step(2), Stepped::Waits(Some(tick(20))));
    stage.clock.advance(ms(10));
    let second = begin(&stage, 2);
    assert!(!first.is_over() && !first.is_pending() && !second.is_over());
    let stats = stage.pool.stats();
    assert_eq!((stats.active, stats.queued, stats.completed), (2, 1, 0));
    timer.disarm().perform();
    stage.clock.advance(ms(1));
    second.finish();
    stage.clock.advance(ms(1));
    first.finish();
    let fired = [Told::Fired(1, due(10)), Told::Fired(2, due(20))];
    let finished = [Told::Finished(2, tick(21)), Told::Finished(1, tick(22))];
    assert_eq!(timer.told.entries(), [fired, finished].concat());
    let stats = stage.pool.stats();
    assert_eq!((stats.active, stats.queued, stats.completed), (0, 0, 2));
}

#[test]
fn ec_o2_a_firing_with_nothing_to_finish_is_over_at_once() {
    let stage = VirtualPool::new(1);
    let timer = timer(&stage.pool);
    arm(&timer, &stage.clock, due(0));
    let run = begin(&stage, 1);
    assert!(run.is_over() && !run.is_pending());
    run.finish();
    assert_eq!(timer.told.entries(), [Told::Fired(1, due(0))]);
    assert_eq!((stage.pool.stats().active, stage.pool.stats().completed), (0, 1));
    let task = stage.pool.submit(|| 7).unwrap();
    let run = begin(&stage, 1);
    assert!(!run.is_over());
    run.finish();
    assert!(task.is_done());
}

#[test]
fn ec_o2_a_sleeper_is_woken_for_the_next_time_only_if_no_worker_looks_by_then() {
    let stage = VirtualPool::new(2);
    let timer = timer_with(&stage.pool, |timer, run| {
        arm_again(timer, run, ms(10));
        Fired::NothingToFinish
    });
    assert_eq!(stage.pool.prestart_all(), 2);
    stage.run_due();
    arm(&timer, &stage.clock, due(10));
    stage.run_due();
    let (fires, sleeps) =
        if stage.workers.step(1) == Stepped::Waits(None) { (2, 1) } else { (1, 2) };
    stage.clock.advance(ms(10));
    let run = begin(&stage, fires);
    assert!(stage.workers.is_woken(sleeps));
    assert_eq!(stage.workers.step(sleeps), Stepped::Waits(Some(tick(20))));
    run.finish();
    let _ = stage.workers.step(fires);
    // There is another one now that looks at this time.
    let other = timer_with(&stage.pool, |timer, run| {
        arm_again(timer, run, ms(10));
        Fired::NothingToFinish
    });
    arm(&other, &stage.clock, due(11));
    let begins = if stage.workers.is_woken(sleeps) { sleeps } else { fires };
    let waits = 3 - begins;
    let _ = stage.workers.step(waits);
    stage.clock.advance(ms(1));
    let run = begin(&stage, begins);
    assert!(!stage.workers.is_woken(waits), "it looks at 20 ms by itself");
    run.finish();
}

#[test]
fn ec_o2_a_pool_of_one_fires_when_its_worker_is_free() {
    let stage = VirtualPool::new(1);
    let timer = timer_with(&stage.pool, |timer, run| {
        arm_again(timer, run, ms(10));
        Fired::Returned
    });
    arm(&timer, &stage.clock, due(10));
    stage.run_for(ms(9));
    stage.clock.advance(ms(1));
    let run = begin(&stage, 1);
    assert_eq!(stage.workers.numbers(), [1]);
    stage.clock.advance(ms(25));
    run.finish();
    stage.run_due();
    let fired = |number, at| [Told::Fired(number, due(at)), Told::Finished(number, tick(35))];
    assert_eq!(timer.told.entries(), [fired(1, 10), fired(2, 20), fired(3, 30)].concat());
    assert_eq!(timer.due(), Some(due(40)));
}

#[test]
fn ec_o3_a_timer_of_the_wall_clock_fires_when_that_shows_its_time() {
    let stage = VirtualPool::new(1);
    let timer = timer(&stage.pool);
    let at = Due::Wall(Now::read(&stage.clock).wall + ms(5_000));
    arm(&timer, &stage.clock, at);
    stage.run_for(ms(1_000));
    assert_eq!((timer.due(), timer.told.len()), (Some(at), 0));
    stage.clock.step_wall(chrono::TimeDelta::seconds(10));
    stage.run_due();
    assert_eq!(timer.told.entries(), [Told::Fired(1, at)], "with the time it was armed for");
}

#[test]
fn ec_o3_a_timer_is_told_of_a_wall_clock_that_was_set_back() {
    let stage = VirtualPool::new(1);
    let mut probe = probe_with(|_, _| Fired::NothingToFinish);
    probe.on_set_back =
        Box::new(|timer, now| timer.arm(Due::Tick(now.tick + ms(50)), now).perform());
    let timer = stage.pool.timer("probe", probe);
    let of_ticks = self::timer(&stage.pool);
    let forgets = self::timer(&stage.pool);
    let at = Due::Wall(Now::read(&stage.clock).wall + ms(5_000));
    for timer in [&timer, &forgets] {
        arm(timer, &stage.clock, at);
    }
    arm(&of_ticks, &stage.clock, due(5_000));
    stage.run_for(ms(1_000));
    stage.clock.step_wall(chrono::TimeDelta::seconds(-10));
    stage.run_due();
    assert_eq!(timer.told.entries(), [Told::SetBack(tick(1_000))]);
    assert_eq!((timer.due(), forgets.due()), (Some(due(1_050)), None));
    stage.run_for(HOUR);
    assert_eq!(timer.told.entries()[1..], [Told::Fired(1, due(1_050))]);
    assert_eq!(forgets.told.entries(), [Told::SetBack(tick(1_000))]);
    assert_eq!(of_ticks.told.entries(), [Told::Fired(1, due(5_000))]);
}

#[test]
fn ec_o4_a_pool_that_shuts_down_ends_when_no_timer_is_armed() {
    let stage = VirtualPool::new(2);
    let timer = timer_with(&stage.pool, |timer, run| {
        if run.number() < 3 {
            arm_again(timer, run, ms(10));
        }
        Fired::Returned
    });
    let disarmed = self::timer(&stage.pool);
    arm(&timer, &stage.clock, due(10));
    arm(&disarmed, &stage.clock, due(10_000));
    stage.run_due();
    stage.pool.shutdown();
    assert_eq!(timer.due(), Some(due(10)));
    stage.run_for(ms(25));
    assert_eq!(stage.pool.run_state(), RunState::ShuttingDown);
    arm(&disarmed, &stage.clock, due(20_000));
    stage.run_for(ms(25));
    assert_eq!((timer.told.len(), stage.pool.is_terminated()), (6, false));
    disarmed.disarm().perform();
    stage.run_due();
    assert!(stage.pool.is_terminated());
    let wake = timer.arm(due(60), Now::read(&stage.clock));
    assert!(wake.is_refused());
    wake.perform();
    assert_eq!((timer.due(), disarmed.told.len()), (None, 0));
}

#[test]
fn ec_o4_disarming_the_last_timer_ends_a_pool_whose_worker_is_still_to_be_started() {
    let stage = VirtualPool::new(1);
    let timer = timer(&stage.pool);
    let wake = timer.arm(due(10), Now::read(&stage.clock));
    stage.pool.shutdown();
    let disarmed = timer.disarm();
    assert!(!wake.is_refused() && !disarmed.is_refused());
    wake.perform();
    disarmed.perform();
    stage.run_due();
    assert!(stage.pool.is_terminated());
    assert_eq!(timer.told.entries(), []);
}

#[test]
fn ec_o4_a_timer_that_was_armed_anew_outlives_a_purge_and_a_shutdown() {
    let stage = VirtualPool::new(1);
    let timer = timer(&stage.pool);
    let (tick, wall) = (due(30), Due::Wall(Now::read(&stage.clock).wall + ms(50)));
    for at in [due(10), due(20), wall, tick] {
        arm(&timer, &stage.clock, at);
        stage.run_due();
    }
    stage.pool.purge();
    assert_eq!((timer.due(), stage.pool.stats().queued), (Some(due(30)), 1));
    for at in [due(10), tick] {
        arm(&timer, &stage.clock, at);
        stage.run_due();
    }
    stage.pool.shutdown();
    assert_eq!((timer.due(), timer.told.len()), (Some(due(30)), 0));
    stage.run_for(ms(29));
    assert_eq!(timer.told.len(), 0);
    stage.run_for(ms(1));
    assert_eq!(timer.told.entries(), [Told::Fired(1, due(30))]);
    assert!(stage.pool.is_terminated());
}

#[test]
fn ec_o5_a_pool_that_stops_drops_its_timers_before_it_is_seen_as_terminated() {
    let stage = VirtualPool::new(1);
    let mut probe = probe_with(|_, _| Fired::NothingToFinish);
    let (seen, pool) = (Journal::new(), stage.pool.clone());
    let note = seen.clone();
    probe.on_dropped = Box::new(move || {
        assert!(pool.close().unwrap_err().is_deadlock());
        note.note(pool.run_state());
    });
    let dropped = stage.pool.timer("dropped", probe);
    let (idle, task) = (timer(&stage.pool), stage.pool.schedule(HOUR, || ()).unwrap());
    arm(&dropped, &stage.clock, due(10));
    arm(&dropped, &stage.clock, Due::Wall(Now::read(&stage.clock).wall));
    let unstarted = stage.pool.shutdown_now();
    assert!(unstarted.len() == 1 && unstarted[0].belongs_to(&task));
    assert_eq!(dropped.told.entries(), [Told::Dropped]);
    assert_eq!(seen.entries(), [RunState::Stopping]);
    stage.run_due();
    assert!(stage.pool.is_terminated());
    let wake = idle.arm(due(10), Now::read(&stage.clock));
    assert!(wake.is_refused());
    drop(wake);
    assert_eq!((idle.told.len(), dropped.told.len(), idle.due()), (0, 1, None));
}

#[test]
fn ec_o5_the_drop_of_a_pool_drops_its_timers_and_a_timer_outlives_it() {
    let stage = VirtualPool::new(1);
    let timer = timer(&stage.pool);
    arm(&timer, &stage.clock, due(10));
    stage.run_due();
    let VirtualPool { pool, clock, workers } = stage;
    drop(pool);
    workers.run_until_idle();
    assert_eq!(timer.told.entries(), [Told::Dropped]);
    let wake = timer.arm(due(20), Now::read(&clock));
    assert!(wake.is_refused());
    wake.perform();
    timer.disarm().perform();
    assert_eq!((timer.due(), timer.told.len()), (None, 1));
}

#[test]
fn ec_o5_a_timer_for_which_no_worker_can_be_had_is_dropped() {
    let stage = VirtualPool::new(1);
    let timer = timer(&stage.pool);
    stage.workers.refuse(1);
    let wake = timer.arm(due(10), Now::read(&stage.clock));
    assert!(!wake.is_refused());
    assert_eq!((timer.due(), timer.told.len()), (Some(due(10)), 0), "nothing was done yet");
    wake.perform();
    assert_eq!((timer.due(), timer.told.entries()), (None, vec![Told::Dropped]));
    arm(&timer, &stage.clock, due(10));
    stage.run_for(ms(10));
    assert_eq!(timer.told.entries()[1..], [Told::Fired(1, due(10))]);
}

/// A timer that stands behind many others, and 10,000 times is armed anew or disarmed: at random among few times, so that the
/// same ones come again.
#[test]
fn ec_o11_a_timer_behind_many_others_is_armed_and_disarmed_at_will() {
    const OTHERS: u64 = 1_000;
    let (stage, fired) = (VirtualPool::new(2), Journal::new());
    let noting = |name: u64| {
        let fired = fired.clone();
        move |_: &Arc<Timer<Probe>>, _: &Run| {
            fired.note(name);
            Fired::NothingToFinish
        }
    };
    let others: Vec<_> = (1..=OTHERS).map(|n| timer_with(&stage.pool, noting(n))).collect();
    for (n, timer) in (1..).zip(&others) {
        arm(timer, &stage.clock, due(100 + n));
    }
    let timer = timer_with(&stage.pool, noting(0));
    let (wall, mut random) = (Now::read(&stage.clock).wall, Random(11));
    for _ in 0..10_000 {
        let ahead = 90 + random.below(2 * OTHERS) / 500 * 500;
        match random.below(4) {
            0 => timer.disarm().perform(),
            1 => arm(&timer, &stage.clock, Due::Wall(wall + ms(ahead))),
            _ => arm(&timer, &stage.clock, due(ahead)),
        }
        let queued = others.len() + usize::from(timer.due().is_some());
        let stats = stage.pool.stats();
        assert_eq!((stats.queued, stats.tasks), (queued, queued as u64));
        if random.below(100) == 0 {
            stage.run_due();
        }
    }
    arm(&timer, &stage.clock, due(100 + OTHERS));
    stage.run_for(ms(100 + OTHERS - 1));
    assert_eq!(fired.entries(), (1..OTHERS).collect::<Vec<_>>());
    stage.run_for(HOUR);
    assert_eq!(fired.entries()[OTHERS as usize - 1..], [OTHERS, 0], "what was made first is first");
    assert_eq!((timer.due(), stage.pool.stats().queued), (None, 0));
    stage.pool.shutdown();
    stage.run_due();
    assert!(stage.pool.is_terminated());
}

/// Two times that come again and again, and one that is taken back and comes again.
#[test]
fn ec_o11_a_million_armings_leave_nothing_behind() {
    if !is_in_own_process(ec_o11_a_million_armings_leave_nothing_behind) {
        return;
    }
    const COUNT: u64 = 1_000_000;
    /// A quarter of what the entries alone would take if they were kept.
    const GROWTH_MAX: u64 = COUNT * 8;
    let (stage, before) = (VirtualPool::new(1), resident_bytes());
    let (moved, taken_back) = (timer(&stage.pool), timer(&stage.pool));
    for number in 0..COUNT {
        arm(&moved, &stage.clock, due(10_000 + number % 2));
        arm(&taken_back, &stage.clock, due(10_000));
        taken_back.disarm().perform();
    }
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let growth = after.saturating_sub(before);
        assert!(growth < GROWTH_MAX, "the process has grown by {growth} bytes");
    }
    assert_eq!(stage.pool.stats().queued, 1);
    moved.disarm().perform();
    stage.pool.shutdown();
    stage.run_due();
    assert!(stage.pool.is_terminated());
}
