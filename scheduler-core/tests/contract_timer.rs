//! Timers: armed and disarmed, fired beside themselves, told of set clocks and of the end.

mod kit;

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::task::Poll;
use std::time::Duration;

use kit::HOUR;
use kit::Journal;
use kit::ManualPool;
use kit::Mutex;
use kit::VirtualPool;
use kit::await_terminated;
use kit::eventually;
use kit::ms;
use scheduler_core::Begun;
use scheduler_core::Clock;
use scheduler_core::Due;
use scheduler_core::Event;
use scheduler_core::Fire;
use scheduler_core::Fired;
use scheduler_core::ManualClock;
use scheduler_core::Now;
use scheduler_core::Run;
use scheduler_core::RunState;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::Stepped;
use scheduler_core::Task;
use scheduler_core::TaskHandle;
use scheduler_core::Tick;
use scheduler_core::Timer;
use scheduler_core::VirtualRun;
use scheduler_core::Wake;

/// What a timer was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Fired(u64, Due),
    Finished(u64, Tick),
    SetBack(Tick),
    Dropped,
}

type OnFire = Box<dyn Fn(&Arc<Timer<Probe>>, &Run) -> Fired + Send + Sync>;

/// Notes what it is told.
struct Probe {
    told: Journal<Told>,
    on_fire: OnFire,
    on_set_back: fn(&Arc<Timer<Probe>>, Now),
    on_dropped: Box<dyn Fn() + Send + Sync>,
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

fn probe_with(
    on_fire: impl Fn(&Arc<Timer<Probe>>, &Run) -> Fired + Send + Sync + 'static,
) -> Probe {
    let (on_fire, on_dropped) = (Box::new(on_fire), Box::new(|| ()));
    Probe { told: Journal::new(), on_fire, on_set_back: |_, _| (), on_dropped }
}

fn timer_with(
    pool: &ScheduledThreadPool,
    on_fire: impl Fn(&Arc<Timer<Probe>>, &Run) -> Fired + Send + Sync + 'static,
) -> Arc<Timer<Probe>> {
    pool.timer("probe", probe_with(on_fire))
}

fn timer(pool: &ScheduledThreadPool) -> Arc<Timer<Probe>> {
    timer_with(pool, |_, _| Fired::Done)
}

const fn tick(millis: u64) -> Tick {
    Tick::from_nanos(1_000_000 * millis)
}

const fn due(millis: u64) -> Due {
    Due::Tick(tick(millis))
}

fn arm(timer: &Arc<Timer<Probe>>, clock: &ManualClock, due: Due) {
    let wake = timer.arm(due, Now::read(clock));
    assert!(!wake.is_refused());
    wake.perform();
}

/// Arms a timer for some time after the one that a run was due at, which is on the monotonic clock.
fn arm_again(timer: &Arc<Timer<Probe>>, run: &Run, after: Duration) {
    let Due::Tick(due) = run.due() else { panic!("it was armed for a tick") };
    timer.arm(Due::Tick(due + after), run.started()).perform();
}

fn begin(stage: &VirtualPool, worker: u64) -> VirtualRun {
    match stage.crew.begin(worker) {
        Begun::Run(run) => run,
        other => panic!("worker {worker}: {other:?}"),
    }
}

#[test]
fn ec_o1_a_timer_fires_once_at_the_time_it_is_armed_for() {
    let stage = VirtualPool::new(1);
    let timer = timer_with(&stage.pool, |timer, run| {
        assert_eq!((run.task_name(), run.task_id()), (Some("probe"), timer.id()));
        assert_eq!(Run::with_current(Run::number), Some(run.number()));
        assert_eq!((run.started().tick, timer.due()), (tick(10), None));
        Fired::Done
    });
    assert_eq!((timer.name(), timer.due()), ("probe", None));
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
    // What surrounds a call is entered after the worker has taken the timer.
    let builder = ScheduledThreadPool::builder().core_size(1).decorate_task(move |_, name| {
        let is_first = name == Some("armed");
        let timer: Arc<OnceLock<Arc<Timer<Probe>>>> =
            Arc::clone(if is_first { &first } else { &second });
        let is_over = OnceLock::new();
        Box::new(move |step| {
            let timer = timer.get().expect("it was made");
            let now = Run::with_current(Run::started).expect("this is a run");
            if is_first && is_over.set(()).is_ok() {
                timer.arm(due(10), now).perform();
            }
            timer
                .disarm()
                .and(if is_first { timer.arm(due(20), now) } else { Wake::none() })
                .perform();
            step();
        })
    });
    let stage = VirtualPool::build(builder);
    let make = |name: &str, keep: &OnceLock<_>| {
        let timer = stage.pool.timer(name, probe_with(|_, _| Fired::Done));
        assert!(keep.set(Arc::clone(&timer)).is_ok());
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
            Fired::Done
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

#[test]
fn ec_o2_a_timer_fires_beside_itself_on_another_worker() {
    let stage = VirtualPool::new(2);
    let timer = timer_with(&stage.pool, |timer, run| {
        arm_again(timer, run, ms(10));
        Fired::InProgress
    });
    arm(&timer, &stage.clock, due(10));
    assert_eq!(stage.crew.workers(), [1]);
    stage.run_due();
    stage.clock.advance(ms(10));
    let first = begin(&stage, 1);
    assert_eq!(stage.crew.workers(), [1, 2], "one was started for the next time");
    assert_eq!(stage.crew.step(2), Stepped::Waits(Some(tick(20))));
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
fn ec_o2_a_firing_that_leaves_nothing_in_progress_is_over_at_once() {
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
fn ec_o2_a_sleeper_is_woken_for_the_next_time_only_if_nobody_looks_by_then() {
    let stage = VirtualPool::new(2);
    let timer = timer_with(&stage.pool, |timer, run| {
        arm_again(timer, run, ms(10));
        Fired::Done
    });
    assert_eq!(stage.pool.prestart_all(), 2);
    stage.run_due();
    arm(&timer, &stage.clock, due(10));
    stage.run_due();
    let (fires, sleeps) = if stage.crew.step(1) == Stepped::Waits(None) { (2, 1) } else { (1, 2) };
    stage.clock.advance(ms(10));
    let run = begin(&stage, fires);
    assert!(stage.crew.is_woken(sleeps));
    assert_eq!(stage.crew.step(sleeps), Stepped::Waits(Some(tick(20))));
    run.finish();
    let _ = stage.crew.step(fires);
    // There is another one now that looks at this time.
    let other = timer_with(&stage.pool, |timer, run| {
        arm_again(timer, run, ms(10));
        Fired::Done
    });
    arm(&other, &stage.clock, due(11));
    let begins = if stage.crew.is_woken(sleeps) { sleeps } else { fires };
    let waits = 3 - begins;
    let _ = stage.crew.step(waits);
    stage.clock.advance(ms(1));
    let run = begin(&stage, begins);
    assert!(!stage.crew.is_woken(waits), "it looks at 20 ms by itself");
    run.finish();
}

#[test]
fn ec_o2_a_pool_of_one_fires_when_its_worker_is_free() {
    let stage = VirtualPool::new(1);
    let timer = timer_with(&stage.pool, |timer, run| {
        arm_again(timer, run, ms(10));
        Fired::InProgress
    });
    arm(&timer, &stage.clock, due(10));
    stage.run_for(ms(9));
    stage.clock.advance(ms(1));
    let run = begin(&stage, 1);
    assert_eq!(stage.crew.workers(), [1]);
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
    let mut probe = probe_with(|_, _| Fired::Done);
    probe.on_set_back = |timer, now| timer.arm(Due::Tick(now.tick + ms(50)), now).perform();
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
        Fired::InProgress
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
    let wake = wake.and(timer.disarm());
    assert!(!wake.is_refused());
    wake.perform();
    stage.run_due();
    assert!(stage.pool.is_terminated());
    assert_eq!(timer.told.entries(), []);
}

#[test]
fn ec_o5_a_pool_that_stops_drops_its_timers_before_it_is_seen_as_terminated() {
    let stage = VirtualPool::new(1);
    let mut probe = probe_with(|_, _| Fired::Done);
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
    let wake = idle.arm(due(10), Now::read(&stage.clock)).and(Wake::none());
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
    let VirtualPool { pool, clock, crew } = stage;
    drop(pool);
    crew.run_until_idle();
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
    stage.crew.refuse(1);
    let wake = timer.arm(due(10), Now::read(&stage.clock));
    assert!(!wake.is_refused());
    assert_eq!((timer.due(), timer.told.len()), (Some(due(10)), 0), "nothing was done yet");
    wake.perform();
    assert_eq!((timer.due(), timer.told.entries()), (None, vec![Told::Dropped]));
    arm(&timer, &stage.clock, due(10));
    stage.run_for(ms(10));
    assert_eq!(timer.told.entries()[1..], [Told::Fired(1, due(10))]);
}

#[test]
fn ec_o6_each_firing_is_asked_to_stop_for_itself() {
    let stage = VirtualPool::new(3);
    let runs = Journal::new();
    let noted = runs.clone();
    let timer = timer_with(&stage.pool, move |timer, run| {
        noted.note(run.clone());
        arm_again(timer, run, ms(10));
        Fired::InProgress
    });
    arm(&timer, &stage.clock, due(0));
    let begun = [1, 2, 3].map(|worker| {
        let run = begin(&stage, worker);
        stage.run_due();
        stage.clock.advance(ms(10));
        run
    });
    let asked = || runs.entries().iter().map(Run::is_cancelled).collect::<Vec<_>>();
    assert_eq!(asked(), [false, false, false]);
    runs.entries()[1].ask_to_stop();
    assert_eq!(asked(), [false, true, false]);
    let [first, second, third] = begun;
    second.finish();
    runs.entries()[1].ask_to_stop();
    let again = begin(&stage, 2);
    assert_eq!(asked(), [false, false, false, false], "it was for that one, and it is over");
    timer.disarm().perform();
    first.finish();
    drop(stage.pool.shutdown_now());
    assert!(runs.entries()[2].is_cancelled() && runs.entries()[3].is_cancelled());
    third.finish();
    again.finish();
    stage.run_due();
    assert!(stage.pool.is_terminated());
}

#[test]
fn ec_o6_a_firing_that_sleeps_is_woken_by_a_request_of_its_own() {
    let stage = ManualPool::new(2);
    let (runs, ended) = (Journal::new(), Journal::new());
    let (noted, noting) = (runs.clone(), ended.clone());
    let timer = timer_with(&stage.pool, move |timer, run| {
        if run.number() == 1 {
            arm_again(timer, run, Duration::ZERO);
        }
        noted.note(run.clone());
        let slept = run.sleep(HOUR);
        noting.note((run.number(), slept.unwrap_err().is_interrupted()));
        Fired::Done
    });
    arm(&timer, &stage.clock, due(0));
    runs.await_len(2);
    stage.await_parked(2);
    let mut entries = runs.entries();
    entries.sort_by_key(Run::number);
    entries[1].ask_to_stop();
    ended.await_len(1);
    stage.await_parked(2);
    assert_eq!(ended.entries(), [(2, true)]);
    drop(stage.pool.shutdown_now());
    await_terminated(&stage.pool);
    assert_eq!(ended.entries(), [(2, true), (1, true)]);
}

/// What a listener is told of, but for workers.
fn heard(heard: &Journal<String>) -> impl Fn(&Event<'_>) + Send + Sync + 'static {
    let heard = heard.clone();
    move |event| match event {
        Event::WorkerStarted { .. } | Event::WorkerStopped { .. } => {}
        Event::TimerPanicked { name, call, failure, .. } => {
            heard.note(format!("{name:?} {call}: {}", failure.message()));
        }
        other => heard.note(format!("{other:?}")),
    }
}

/// Panics in each call.
struct Bad;

impl Fire for Bad {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        if timer.name() == "finish" {
            return Fired::InProgress;
        }
        panic!("fire {}", run.number())
    }

    fn finish(_: &Arc<Timer<Self>>, _: &Run, _: Now) {
        panic!("finish")
    }

    fn clock_set_back(_: &Arc<Timer<Self>>, _: Now) {
        panic!("set back")
    }

    fn dropped(_: &Arc<Timer<Self>>) {
        panic!("dropped")
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        panic!("destructor");
    }
}

#[test]
fn ec_o7_a_panic_of_a_timer_is_reported_and_hurts_nobody() {
    let told = Journal::new();
    let builder = ScheduledThreadPool::builder().core_size(1).listener(heard(&told));
    let stage = VirtualPool::build(builder);
    let timers = ["fire", "finish"].map(|name| stage.pool.timer(name, Bad));
    let now = || Now::read(&stage.clock);
    for timer in &timers {
        timer.arm(due(0), now()).perform();
    }
    stage.run_due();
    assert_eq!((stage.pool.stats().active, stage.pool.stats().completed), (0, 2));
    let [timer, other] = timers;
    timer.arm(Due::Wall(now().wall + HOUR), now()).perform();
    stage.run_due();
    stage.clock.step_wall(chrono::TimeDelta::hours(-2));
    stage.run_due();
    other.arm(due(50), now()).perform();
    drop((timer, stage.pool.shutdown_now()));
    stage.run_due();
    drop(other);
    let told = told.entries();
    assert_eq!(
        told[..4],
        [
            "Some(\"fire\") fire: fire 1",
            "Some(\"finish\") finish: finish",
            "Some(\"fire\") clock_set_back: set back",
            "Some(\"finish\") dropped: dropped",
        ]
    );
    assert!(
        told.len() == 6 && told[4..].iter().all(|told| told.contains("DropPanicked")),
        "{told:?}"
    );
    assert!(stage.pool.is_terminated());
}

#[test]
fn ec_o7_a_decorator_that_panics_or_forgets_is_reported() {
    let told = Journal::new();
    let builder = ScheduledThreadPool::builder().core_size(1).listener(heard(&told));
    let builder = builder.decorate_task(|_, name| match name {
        Some("forgets") => Box::new(|_| ()),
        Some("panics after") => Box::new(|step| {
            step();
            panic!("after")
        }),
        _ => panic!("at once"),
    });
    let stage = VirtualPool::build(builder);
    let timers = ["forgets", "panics after", "panics at once"].map(|name| {
        let timer = stage.pool.timer(name, probe_with(|_, _| Fired::InProgress));
        arm(&timer, &stage.clock, due(0));
        timer
    });
    stage.run_due();
    let fired = [Told::Fired(1, due(0)), Told::Finished(1, Tick::ZERO)];
    let expected = [vec![], fired.to_vec(), fired.to_vec()];
    assert_eq!(timers.map(|timer| timer.told.entries()), expected);
    let told = told.entries();
    assert!(told[0].contains("HookPanicked"), "{told:?}");
    assert_eq!(
        told[1..],
        [
            "Some(\"forgets\") fire: the decorator did not run the task",
            "Some(\"panics after\") fire: after",
        ]
    );
}

/// A future that is pending until it is dropped, and notes that.
fn pending(dropped: &Arc<()>) -> impl Future<Output = ()> + Send + 'static {
    let held = Arc::clone(dropped);
    poll_fn(move |_| {
        let _held = &held;
        Poll::<()>::Pending
    })
}

#[test]
fn ec_o8_a_firing_goes_on_as_a_future_for_which_a_pool_that_shuts_down_waits() {
    let steps = Journal::new();
    let noted = steps.clone();
    let builder = ScheduledThreadPool::builder().core_size(1).decorate_task(move |_, name| {
        let (name, noted) = (name.unwrap_or_default().to_owned(), noted.clone());
        Box::new(move |step| {
            noted.note(name.clone());
            step();
        })
    });
    let stage = VirtualPool::build(builder);
    let (handles, waker) = (Journal::new(), Arc::new(Mutex::new(None)));
    let (kept, woken) = (handles.clone(), Arc::clone(&waker));
    let timer = timer_with(&stage.pool, move |_, run| {
        let (woken, mut polls) = (Arc::clone(&woken), 0);
        let future = poll_fn(move |context| {
            polls += 1;
            *woken.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
        });
        kept.note(run.go_on(Task::once_async(future).name("rest").initial_delay(HOUR)));
        Fired::Done
    });
    arm(&timer, &stage.clock, due(10));
    stage.pool.shutdown();
    stage.run_for(ms(10));
    let handle: TaskHandle<()> = handles.entries().remove(0);
    assert_eq!((handle.name(), handle.is_done()), (Some("rest"), false));
    assert_eq!(stage.pool.run_state(), RunState::ShuttingDown);
    let waker = waker.lock().unwrap_or_else(PoisonError::into_inner).take();
    waker.expect("it was polled").wake();
    stage.run_due();
    assert!(handle.result_now().is_ok() && stage.pool.is_terminated());
    assert_eq!(steps.entries(), ["probe", "rest", "rest"]);
    assert_eq!(stage.pool.stats().completed, 2);
}

#[test]
fn ec_o8_what_a_firing_goes_on_as_is_cancelled_when_the_pool_stops() {
    let stage = VirtualPool::new(1);
    let (handles, held) = (Journal::new(), Arc::new(()));
    let (kept, inside) = (handles.clone(), Arc::clone(&held));
    let runs = Journal::new();
    let noted = runs.clone();
    let timer = timer_with(&stage.pool, move |timer, run| {
        noted.note(run.clone());
        let held = Arc::new(());
        let inside = if run.number() == 1 { &inside } else { &held };
        kept.note(run.go_on(Task::once_async(pending(inside))));
        if run.number() == 1 {
            arm_again(timer, run, ms(10));
        }
        Fired::Done
    });
    arm(&timer, &stage.clock, due(0));
    stage.run_due();
    assert_eq!((stage.pool.stats().suspended, Arc::strong_count(&held)), (1, 3));
    // The second one has not been polled yet.
    stage.clock.advance(ms(10));
    assert_eq!(stage.crew.step(1), Stepped::Ran);
    assert!(stage.pool.shutdown_now().is_empty());
    assert!(handles.entries().iter().all(TaskHandle::is_cancelled));
    assert_eq!(Arc::strong_count(&held), 2);
    stage.run_due();
    assert!(stage.pool.is_terminated());
    let refused = runs.entries()[0].go_on(Task::once_async(pending(&held)));
    assert!(refused.is_cancelled() && Arc::strong_count(&held) == 2);
    let run = runs.entries().remove(0);
    drop(stage);
    let refused = run.go_on(Task::once(|| ()));
    assert!(refused.is_cancelled());
}

#[test]
fn ec_o9_a_timer_is_counted_but_in_no_view_and_nobody_is_told() {
    let told = Journal::new();
    let (before, after, decorated) = (told.clone(), told.clone(), told.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(1)
        .before_run(move |_: &Run| before.note("before".to_owned()))
        .after_run(move |_: &Run, _: &Result<(), _>| after.note("after".to_owned()))
        .listener(heard(&told))
        .decorate_task(move |_, name| {
            assert_eq!(name, Some("probe"));
            let decorated = decorated.clone();
            Box::new(move |step| {
                decorated.note("around".to_owned());
                step();
            })
        });
    let stage = VirtualPool::build(builder);
    let pool = stage.pool.clone();
    let timer = timer_with(&stage.pool, move |_, _| {
        let stats = pool.stats();
        assert_eq!((stats.active, stats.queued, stats.completed, stats.tasks), (1, 0, 0, 1));
        Fired::InProgress
    });
    arm(&timer, &stage.clock, due(10));
    let stats = stage.pool.stats();
    assert_eq!((stats.active, stats.queued, stats.completed, stats.tasks), (0, 1, 0, 1));
    assert!(stage.pool.queue().is_empty());
    assert_eq!(stage.crew.next_due(), Some(tick(10)));
    stage.pool.purge();
    stage.run_for(ms(10));
    assert_eq!((stage.pool.stats().active, stage.pool.stats().completed), (0, 1));
    arm(&timer, &stage.clock, due(20));
    drop(stage.pool.shutdown_now());
    stage.run_due();
    assert_eq!(told.entries(), ["around"]);
    assert_eq!(timer.told.len(), 3);
}

#[test]
fn ec_o9_a_wait_that_starves_inside_a_firing_is_reported_with_its_name() {
    let (told, ended) = (Journal::new(), Journal::new());
    let (heard, noted) = (told.clone(), ended.clone());
    let listener = move |event: &Event<'_>| {
        if let Event::WaitStarved { run, .. } = event {
            heard.note(run.task_name().map(str::to_owned));
        }
    };
    let stage = ManualPool::build(ScheduledThreadPool::builder().core_size(1).listener(listener));
    let task = stage.pool.schedule(ms(10), || ()).unwrap();
    let timer = timer_with(&stage.pool, move |_, _| {
        noted.note(task.wait_done().is_err());
        Fired::Done
    });
    arm(&timer, &stage.clock, due(0));
    eventually("the firing waits", || stage.pool.stats().active == 1 && stage.clock.parked() == 1);
    stage.clock.advance(ms(2_000));
    told.await_len(1);
    assert_eq!(told.entries(), [Some("probe".to_owned())]);
    drop(stage.pool.shutdown_now());
    ended.await_len(1);
    await_terminated(&stage.pool);
}
