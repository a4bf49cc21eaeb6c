//! Tasks whose due times are decided from outside: by a pace, which may change its mind.

mod kit;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use chrono::TimeDelta;
use kit::Journal;
use kit::ManualPool;
use kit::Mutex;
use kit::VirtualPool;
use kit::eventually;
use kit::ms;
use scheduler_core::Asked;
use scheduler_core::Begun;
use scheduler_core::Body;
use scheduler_core::Clock;
use scheduler_core::Due;
use scheduler_core::Error;
use scheduler_core::Event;
use scheduler_core::Now;
use scheduler_core::Occasion;
use scheduler_core::OnError;
use scheduler_core::Pace;
use scheduler_core::Run;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::ShutdownPolicy;
use scheduler_core::Task;
use scheduler_core::TaskHandle;
use scheduler_core::TaskState;
use scheduler_core::Tick;
use scheduler_core::WorkerThread;

/// Answers as a closure says.
struct By<F>(F);

impl<F: Fn(&Asked<'_>) -> Option<Due> + Send + Sync> Pace for By<F> {
    fn next(&self, asked: &Asked<'_>) -> Option<Due> {
        (self.0)(asked)
    }
}

type Own = Arc<Mutex<Option<TaskHandle<()>>>>;

/// What a test changes, and what it has seen.
#[derive(Clone)]
struct Score {
    due: Arc<Mutex<Option<Due>>>,
    asked: Journal<&'static str>,
    ran: Journal<Tick>,
    /// What the pace does to its own task, once, while it is asked on this occasion.
    meddles: Arc<Mutex<Option<(&'static str, Meddle)>>>,
    own: Own,
}

/// A task whose pace keeps a handle of it, and so keeps itself, for as long as this is kept.
struct Submitted {
    handle: TaskHandle<()>,
    own: Own,
}

impl Deref for Submitted {
    type Target = TaskHandle<()>;

    fn deref(&self) -> &TaskHandle<()> {
        &self.handle
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        let own = self.own.lock().unwrap().take();
        drop(own);
    }
}

type Meddle = Box<dyn FnOnce(&TaskHandle<()>) + Send>;

impl Score {
    fn new(due: Due) -> Self {
        Self {
            due: Arc::new(Mutex::new(Some(due))),
            asked: Journal::new(),
            ran: Journal::new(),
            meddles: Arc::default(),
            own: Arc::default(),
        }
    }

    /// What the pace answers from now on, whenever it is asked.
    fn set(&self, due: Option<Due>) {
        *self.due.lock().unwrap() = due;
    }

    fn meddle(&self, on: &'static str, meddle: impl FnOnce(&TaskHandle<()>) + Send + 'static) {
        *self.meddles.lock().unwrap() = Some((on, Box::new(meddle)));
    }

    fn task(&self, clock: Arc<dyn Clock>) -> Task<()> {
        let (score, ran) = (self.clone(), self.ran.clone());
        let pace = By(move |asked: &Asked<'_>| score.answer(asked));
        Task::paced(pace, Body::new(move || ran.note(clock.now())))
    }

    fn submit(&self, stage: &VirtualPool) -> Submitted {
        let handle = stage.pool.submit_task(self.task(Arc::new(stage.clock.clone()))).unwrap();
        *self.own.lock().unwrap() = Some(handle.clone());
        Submitted { handle, own: Arc::clone(&self.own) }
    }

    fn answer(&self, asked: &Asked<'_>) -> Option<Due> {
        let occasion = name_of(&asked.occasion);
        self.asked.note(occasion);
        let answer = *self.due.lock().unwrap();
        let mut meddles = self.meddles.lock().unwrap();
        let meddle = meddles.take_if(|(on, _)| *on == occasion);
        drop(meddles);
        if let Some((_, meddle)) = meddle {
            let own = self.own.lock().unwrap().clone().unwrap();
            meddle(&own);
        }
        answer
    }

    #[track_caller]
    fn check_asked(&self, expected: &[&str]) {
        assert_eq!(self.asked.entries(), expected);
    }
}

fn name_of(occasion: &Occasion<'_>) -> &'static str {
    match occasion {
        Occasion::First => "first",
        Occasion::RunEnded { .. } => "ended",
        Occasion::Renewed => "renewed",
    }
}

fn at(millis: u64) -> Due {
    Due::Tick(Tick::ZERO + ms(millis))
}

fn check_idle(stage: &VirtualPool, queued: usize) {
    let stats = stage.pool.stats();
    assert_eq!((stats.queued, stats.active, stats.suspended), (queued, 0, 0));
}

#[test]
fn a_pace_is_told_all_of_a_run_and_its_answer_is_the_next_due_time() {
    let stage = VirtualPool::new(1);
    let told = Journal::new();
    let noted = told.clone();
    let pace = By(move |asked: &Asked<'_>| {
        if let Occasion::RunEnded { due, started, outcome } = asked.occasion {
            noted.note((due, started.tick, outcome.clone().map_err(|e| e.to_string()), asked.now));
        }
        Some(Due::Tick(asked.now.tick + ms(10)))
    });
    let (clock, mut run) = (stage.clock.clone(), 0);
    let body = Body::new(move || {
        run += 1;
        clock.advance(ms(3));
        assert!(run != 2, "no luck");
        if run == 3 { Err("not today") } else { Ok(()) }
    });
    // A pace decides itself what becomes of failures.
    let handle = stage.pool.submit_task(Task::paced(pace, body).on_error(OnError::Stop)).unwrap();
    assert_eq!(handle.delay(), ms(10));
    stage.run_for(ms(38));
    assert_eq!(handle.state(), TaskState::Scheduled);
    let told = told.entries();
    let times: Vec<_> = told.iter().map(|(due, start, _, now)| (*due, *start, now.tick)).collect();
    let tick = |millis| Tick::ZERO + ms(millis);
    assert_eq!(
        times,
        [(at(10), tick(10), tick(13)), (at(23), tick(23), tick(26)), (at(36), tick(36), tick(39))]
    );
    assert_eq!(told[0].2, Ok(()));
    assert!(told[1].2.as_ref().is_err_and(|text| text.contains("no luck")), "{:?}", told[1].2);
    assert!(told[2].2.as_ref().is_err_and(|text| text.contains("not today")), "{:?}", told[2].2);
    assert_eq!(told[2].3, Now { wall: told[2].3.wall, tick: tick(39) });
}

#[test]
fn a_pace_is_asked_between_the_hook_and_the_event_inside_the_run() {
    let order = Journal::new();
    let (hooked, heard, paced) = (order.clone(), order.clone(), order.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(1)
        .after_run(move |_: &Run, _: &Result<(), _>| hooked.note("hook"))
        .listener(move |event: &Event<'_>| {
            if matches!(event, Event::RunFinished { .. }) {
                heard.note("event");
            }
        });
    let stage = VirtualPool::build(builder);
    let pool = stage.pool.clone();
    let pace = By(move |asked: &Asked<'_>| {
        let is_inside = Run::current().is_some();
        assert_eq!(is_inside, matches!(asked.occasion, Occasion::RunEnded { .. }));
        // No lock is held.
        let _ = pool.stats();
        paced.note(name_of(&asked.occasion));
        Some(Due::Tick(asked.now.tick + ms(1)))
    });
    let handle = stage.pool.submit_task(Task::paced(pace, Body::new(|| ()))).unwrap();
    stage.run_for(ms(1));
    assert_eq!(order.entries(), ["first", "hook", "ended", "event"]);
    assert!(handle.cancel());
}

#[test]
fn a_cancelled_task_lets_go_of_its_pace_at_once() {
    let stage = VirtualPool::new(1);
    let _first = stage.pool.schedule(ms(10), || ()).unwrap();
    stage.run_for(ms(1));
    for is_in_the_queue in [false, true] {
        let token = Arc::new(());
        let held = Arc::clone(&token);
        let pace = By(move |asked: &Asked<'_>| {
            let _held = &held;
            Some(Due::Tick(asked.now.tick + ms(20)))
        });
        let handle = stage.pool.submit_task(Task::paced(pace, Body::new(|| ()))).unwrap();
        if is_in_the_queue {
            check_idle(&stage, 2);
        }
        assert!(handle.cancel());
        drop(handle);
        // Nobody has looked at the queue since: a pool that the pace keeps would keep the pace.
        assert_eq!(Arc::strong_count(&token), 1, "in the queue: {is_in_the_queue}");
    }
}

#[test]
fn a_pace_without_an_answer_ends_the_task_as_completed() {
    let stage = VirtualPool::new(1);
    let score = Score::new(at(5));
    let handle = score.submit(&stage);
    score.set(None);
    stage.run_for(ms(5));
    assert_eq!(handle.result_now(), Ok(()));
    score.check_asked(&["first", "ended"]);
    check_idle(&stage, 0);
}

#[test]
fn a_pace_that_has_no_first_answer_is_refused() {
    let stage = VirtualPool::new(1);
    let submit = |pace: fn(&Asked<'_>) -> Option<Due>| {
        stage.pool.submit_task(Task::paced(By(pace), Body::new(|| ()))).unwrap_err()
    };
    let error = submit(|_| None);
    assert!(error.is_argument() && error.to_string().contains("pace"), "{error}");
    let error: Error = submit(|_| panic!("out of step"));
    assert_eq!(error.failure().unwrap().message(), "out of step");
    check_idle(&stage, 0);
}

#[test]
fn a_panic_of_a_pace_ends_the_task_as_failed() {
    for on in ["ended", "renewed"] {
        let stage = VirtualPool::new(1);
        let score = Score::new(at(5));
        let handle = score.submit(&stage);
        score.meddle(on, |_| panic!("out of step"));
        if on == "renewed" {
            handle.renew();
        }
        stage.run_for(ms(5));
        assert_eq!(handle.failure_now().unwrap().message(), "out of step", "{on}");
        check_idle(&stage, 0);
    }
}

#[test]
fn a_parked_task_wakes_nobody_not_even_at_the_end_of_time() {
    let (stage, score) = (VirtualPool::new(1), Score::new(Due::NEVER));
    let handle = score.submit(&stage);
    assert_eq!(stage.run_due(), None);
    stage.clock.advance(Duration::MAX);
    assert_eq!(stage.run_due(), None);
    assert_eq!(score.ran.len(), 0);
    assert!(handle.cancel());
}

#[test]
fn a_parked_task_runs_when_it_is_renewed_and_can_be_parked_again() {
    let (stage, score) = (VirtualPool::new(1), Score::new(Due::NEVER));
    let handle = score.submit(&stage);
    assert_eq!(stage.run_due(), None);
    score.set(Some(at(7)));
    handle.renew();
    assert!(stage.crew.is_woken(1));
    assert_eq!(stage.run_due(), Some(Tick::ZERO + ms(7)));
    score.set(Some(Due::NEVER));
    stage.clock.advance(ms(7));
    assert_eq!(stage.run_due(), None);
    assert_eq!(score.ran.entries(), [Tick::ZERO + ms(7)]);
    check_idle(&stage, 1);
}

#[test]
fn a_shutdown_cancels_a_parked_task_unless_recurring_tasks_go_on() {
    let stage = VirtualPool::new(1);
    let handle = Score::new(Due::NEVER).submit(&stage);
    stage.pool.shutdown();
    stage.run_due();
    assert!(handle.is_cancelled() && stage.pool.is_terminated());

    let stage = VirtualPool::new(1);
    let goes_on = ShutdownPolicy { continue_recurring: true, execute_delayed: true };
    stage.pool.set_shutdown_policy(goes_on);
    let score = Score::new(Due::NEVER);
    let handle = score.submit(&stage);
    stage.pool.shutdown();
    stage.run_due();
    assert!(!handle.is_done() && !stage.pool.is_terminated());
    score.set(None);
    handle.renew();
    assert!(stage.crew.is_woken(1), "its worker has nothing to stay for");
    stage.run_due();
    assert_eq!(handle.state(), TaskState::Completed);
    assert!(stage.pool.is_terminated());
}

#[test]
fn a_renewal_moves_a_waiting_task_both_ways() {
    let stage = VirtualPool::new(1);
    let score = Score::new(at(100));
    let handle = score.submit(&stage);
    assert_eq!(stage.run_due(), Some(Tick::ZERO + ms(100)));
    score.set(Some(at(20)));
    handle.renew();
    assert_eq!(handle.delay(), ms(20));
    stage.clock.advance(ms(10));
    score.set(Some(at(300)));
    handle.renew();
    stage.run_for(ms(200));
    assert_eq!(score.ran.len(), 0);
    score.set(Some(at(0)));
    handle.renew();
    score.set(Some(at(1_000)));
    stage.run_due();
    assert_eq!(score.ran.entries(), [Tick::ZERO + ms(210)]);
    score.check_asked(&["first", "renewed", "renewed", "renewed", "ended"]);
    check_idle(&stage, 1);
}

#[test]
fn a_renewal_without_an_answer_completes_the_task_and_tells_once() {
    let ends = Journal::new();
    let heard = ends.clone();
    let builder = ScheduledThreadPool::builder().core_size(1).listener(move |event: &Event<'_>| {
        if let Event::TaskEnded { state, .. } = event {
            heard.note(*state);
        }
    });
    let stage = VirtualPool::build(builder);
    let score = Score::new(at(5));
    let handle = score.submit(&stage);
    let told = Journal::new();
    let callback = told.clone();
    handle.on_done(move |state| callback.note(state));
    score.set(None);
    handle.renew();
    assert_eq!(handle.result_now(), Ok(()));
    assert_eq!((ends.entries(), told.entries()), (vec![TaskState::Completed], ends.entries()));
    handle.renew();
    assert!(!handle.cancel());
    score.check_asked(&["first", "renewed"]);
    check_idle(&stage, 0);
    stage.pool.shutdown();
    stage.run_due();
    assert!(stage.pool.is_terminated());
    assert_eq!(ends.len(), 1);
}

/// The run ends anyway, and then its pace is asked anyway.
#[test]
fn a_renewal_during_a_run_is_that_runs_own_question() {
    let stage = VirtualPool::new(1);
    let score = Score::new(at(0));
    let handle = score.submit(&stage);
    let Begun::Run(run) = stage.crew.begin(1) else { panic!("the task is due") };
    score.set(Some(at(50)));
    handle.renew();
    handle.renew();
    score.check_asked(&["first"]);
    run.finish();
    score.check_asked(&["first", "ended"]);
    assert_eq!(handle.delay(), ms(50));
    check_idle(&stage, 1);
}

/// The answer on its way is older than the change.
#[test]
fn a_renewal_during_a_question_is_followed_by_another() {
    for on in ["ended", "renewed"] {
        let stage = VirtualPool::new(1);
        let score = Score::new(at(0));
        let handle = score.submit(&stage);
        if on == "renewed" {
            score.set(Some(at(20)));
        }
        let change = score.clone();
        score.meddle(on, move |own| {
            change.set(Some(at(70)));
            own.renew();
            assert_eq!(own.state() == TaskState::Running, on == "ended");
        });
        if on == "renewed" {
            handle.renew();
            score.check_asked(&["first", "renewed", "renewed"]);
        } else {
            stage.run_due();
            score.check_asked(&["first", "ended", "renewed"]);
        }
        assert_eq!(handle.delay(), ms(70), "{on}");
        check_idle(&stage, 1);
    }
}

/// Between the answer and the return into the queue, where listeners are told.
#[test]
fn a_renewal_after_the_answer_is_followed_by_another() {
    let score = Score::new(at(0));
    let change = score.clone();
    let builder = ScheduledThreadPool::builder().core_size(1).listener(move |event: &Event<'_>| {
        if matches!(event, Event::RunFinished { .. }) {
            change.set(Some(at(70)));
            change.own.lock().unwrap().as_ref().unwrap().renew();
        }
    });
    let stage = VirtualPool::build(builder);
    let handle = score.submit(&stage);
    score.set(Some(at(10)));
    stage.run_due();
    score.check_asked(&["first", "ended", "renewed"]);
    assert_eq!(handle.delay(), ms(70));
    check_idle(&stage, 1);
}

#[test]
fn a_cancel_during_a_question_wins() {
    for on in ["ended", "renewed"] {
        for removes in [true, false] {
            let stage =
                VirtualPool::build(ScheduledThreadPool::builder().remove_on_cancel(removes));
            let score = Score::new(if on == "ended" { at(0) } else { at(10) });
            let handle = score.submit(&stage);
            score.set(Some(at(20)));
            score.meddle(on, |own| assert!(own.cancel()));
            if on == "renewed" {
                handle.renew();
            }
            stage.run_due();
            assert!(handle.is_cancelled());
            stage.run_for(ms(20));
            check_idle(&stage, 0);
            score.check_asked(&["first", on]);
        }
    }
}

#[test]
fn a_cancel_wins_against_an_answer_that_would_end_the_task() {
    let stage = VirtualPool::new(1);
    let score = Score::new(at(10));
    let handle = score.submit(&stage);
    score.set(None);
    score.meddle("renewed", |own| assert!(own.cancel()));
    handle.renew();
    assert!(handle.is_cancelled());
    check_idle(&stage, 0);
    stage.run_for(ms(20));
    assert_eq!(score.ran.len(), 0);
}

#[test]
fn a_shutdown_during_a_question_cancels_the_task_and_waits_for_the_answer() {
    for at_once in [false, true] {
        let stage = VirtualPool::new(1);
        let score = Score::new(at(10));
        let handle = score.submit(&stage);
        let (pool, crew) = (stage.pool.clone(), stage.crew.clone());
        score.meddle("renewed", move |_| {
            if at_once {
                drop(pool.shutdown_now());
            } else {
                pool.shutdown();
            }
            crew.run_until_idle();
            assert!(!pool.is_terminated(), "a task is not resolved yet");
        });
        handle.renew();
        stage.run_due();
        assert!(handle.is_cancelled() && stage.pool.is_terminated());
        check_idle(&stage, 0);
    }
}

#[test]
fn a_task_that_was_taken_out_by_hand_is_not_asked() {
    let stage = VirtualPool::new(1);
    let score = Score::new(at(10));
    let handle = score.submit(&stage);
    let removed = stage.pool.remove(&handle).unwrap();
    handle.renew();
    score.check_asked(&["first"]);
    removed.run();
    score.check_asked(&["first", "ended"]);
    assert!(handle.is_cancelled());
    handle.renew();
    score.check_asked(&["first", "ended"]);
    check_idle(&stage, 0);
}

#[test]
fn a_cancelled_task_that_stays_in_the_queue_is_not_asked() {
    let stage = VirtualPool::build(ScheduledThreadPool::builder().remove_on_cancel(false));
    let score = Score::new(at(10));
    let handle = score.submit(&stage);
    assert!(handle.cancel());
    handle.renew();
    score.check_asked(&["first"]);
    check_idle(&stage, 1);
}

#[test]
fn other_rhythms_have_nothing_to_ask() {
    let stage = VirtualPool::new(1);
    let once = stage.pool.schedule(ms(10), || ()).unwrap();
    let rate = stage.pool.schedule_at_fixed_rate(ms(10), ms(10), || ()).unwrap();
    for handle in [&once, &rate] {
        handle.renew();
        assert_eq!(handle.delay(), ms(10));
    }
    stage.run_for(ms(10));
    assert!(once.is_done());
}

#[test]
fn a_renewal_finds_a_worker_where_one_was_lost() {
    let parked: Arc<Mutex<Vec<WorkerThread>>> = Arc::default();
    let park = Arc::clone(&parked);
    let factory = move |worker: WorkerThread| {
        park.lock().unwrap().push(worker);
        Ok(())
    };
    let ManualPool { pool, clock } =
        ManualPool::build(ScheduledThreadPool::builder().core_size(1).thread_factory(factory));
    let score = Score::new(at(0));
    let handle = pool.submit_task(score.task(Arc::new(clock))).unwrap();
    parked.lock().unwrap().clear();
    assert_eq!(pool.stats().pool_size, 0);
    pool.set_thread_factory(|worker: WorkerThread| {
        std::thread::Builder::new().spawn(move || worker.run()).map(drop)
    });
    handle.renew();
    score.ran.await_len(1);
    assert!(handle.cancel());
}

#[test]
fn a_wall_clock_that_is_set_back_asks_who_waits_for_it() {
    let stage = VirtualPool::new(1);
    let start = stage.clock.wall();
    let score = Score::new(Due::Wall((start + TimeDelta::hours(5)).into()));
    let _handle = score.submit(&stage);
    stage.run_for(ms(600));
    score.set(Some(Due::Wall((start - TimeDelta::minutes(59)).into())));
    stage.clock.step_wall(TimeDelta::hours(-1));
    stage.run_for(ms(600));
    score.check_asked(&["first", "renewed"]);
    score.set(Some(Due::NEVER));
    stage.run_for(Duration::from_secs(59));
    assert_eq!(score.ran.len(), 1);
}

/// Whatever is renewed after a change sees the change, at whichever moment of a task's life.
#[test]
fn no_change_is_lost_between_threads() {
    let pool = ScheduledThreadPool::new(2);
    let wanted = [0, 1].map(|_| Arc::new(AtomicU64::new(0)));
    let served = Arc::new(AtomicU64::new(0));
    let (asked_for, done) = (wanted.clone(), Arc::clone(&served));
    let sum = |of: &[Arc<AtomicU64>; 2]| of.iter().map(|each| each.load(Ordering::SeqCst)).sum();
    let pace = By(move |asked: &Asked<'_>| {
        let wanted: u64 = sum(&asked_for);
        let is_served = done.load(Ordering::SeqCst) >= wanted;
        Some(if is_served { Due::NEVER } else { Due::Tick(asked.now.tick) })
    });
    let (asked_for, done) = (wanted.clone(), Arc::clone(&served));
    let body = Body::new(move || done.store(sum(&asked_for), Ordering::SeqCst));
    let handle = pool.submit_task(Task::paced(pace, body)).unwrap();
    let owners = wanted.clone().map(|mine| {
        let handle = handle.clone();
        thread::Builder::new().spawn(move || {
            for _ in 0..3_000 {
                mine.fetch_add(1, Ordering::SeqCst);
                handle.renew();
            }
        })
    });
    for round in 0..300 {
        wanted[0].fetch_add(1, Ordering::SeqCst);
        let total: u64 = sum(&wanted);
        handle.renew();
        eventually(&format!("change {round} is served"), || served.load(Ordering::SeqCst) >= total);
    }
    owners.into_iter().for_each(|owner| owner.unwrap().join().unwrap());
    eventually("all is served", || served.load(Ordering::SeqCst) >= 6_300);
    assert!(handle.cancel());
    kit::close(&pool);
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.active, stats.suspended), (0, 0, 0));
}

/// A pace that fires at each of so many milliseconds, and panics when it hears of the end.
struct Counted {
    left: AtomicU64,
    ended: Arc<AtomicU64>,
}

impl Pace for Counted {
    fn next(&self, asked: &Asked<'_>) -> Option<Due> {
        let left = self.left.load(Ordering::SeqCst).checked_sub(1)?;
        self.left.store(left, Ordering::SeqCst);
        Some(Due::Tick(asked.now.tick + ms(1)))
    }

    fn ended(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
        panic!("contained");
    }
}

#[test]
fn a_pace_hears_once_that_its_task_has_ended() {
    let stage = VirtualPool::new(1);
    let submit = |runs| {
        let ended = Arc::new(AtomicU64::new(0));
        let pace = Counted { left: AtomicU64::new(runs), ended: Arc::clone(&ended) };
        let handle = stage.pool.submit_task(Task::paced(pace, Body::new(|| Ok::<(), Error>(()))));
        (handle.unwrap(), move || ended.load(Ordering::SeqCst))
    };
    let (finished, finished_ended) = submit(2);
    let (cancelled, cancelled_ended) = submit(1_000);
    let (dropped, dropped_ended) = submit(1_000);
    stage.run_for(ms(1));
    assert_eq!((finished_ended(), cancelled_ended(), dropped_ended()), (0, 0, 0));
    stage.run_for(ms(1));
    assert!(finished.is_done() && cancelled.cancel());
    assert_eq!((finished_ended(), cancelled_ended(), dropped_ended()), (1, 1, 0));
    drop(stage.pool.shutdown_now());
    assert!(dropped.is_done());
    assert_eq!((finished_ended(), cancelled_ended(), dropped_ended()), (1, 1, 1));
}
