//! Schedules and their ticks.

use std::time::Duration;

use crate::given::{Given, SECOND, cron, delay, job};
use crate::limits::limits;
use crate::test_store::TestStore;
use scheduler_store::StoreTime;
use scheduler_store::{Command, CommandOutcome, End, Fire, Fired, OnBusy, Register, Registration};
use scheduler_store::{JobState, Limit, NewJob, Origin, Payload};
use scheduler_store::{Next, Overlap, Rule, ScheduleSpec, Skips, Timing};
use scheduler_store::{Refusal, StoreError};

/// A tick becomes a job in the transaction that moves the cursor; a request of before is refused, with the schedule.
pub fn r6_a_tick_fires_once_and_only_from_the_cursor_that_was_seen<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    assert_eq!(given.register(id, &cron("s", Overlap::Allow)), Registration::New);
    given.wait(SECOND);
    let fire = Fire {
        skips: Skips { missed: 2, paused: 1, ..Skips::default() },
        ..given.fire_of(id, "s", 1)
    };
    assert_eq!(given.fire(&fire), Fired::Moved(None));
    let schedule = given.schedule("s");
    assert_eq!((schedule.cursor, schedule.fired, schedule.skips.total()), (given.now, 1, 3));
    let origin = Origin::new("s".to_owned(), Some(given.now), 0);
    assert_eq!(given.job(job(1)).origin, Some(origin));
    given.wait(SECOND);
    let refused = Fired::Refused(Some(Box::new(schedule)));
    assert_eq!(given.fire(&fire), refused);
    let other_rule = Fire { rule: "other".to_owned(), ..given.fire_of(id, "s", 2) };
    assert_eq!(given.fire(&other_rule), refused);
    let seen = given.now;
    let other_cursor = Fire { seen, ..given.fire_of(id, "s", 2) };
    assert_eq!(given.fire(&other_cursor), refused);
    assert_eq!(given.fire(&Fire { schedule: "t".to_owned(), ..fire }), Fired::Refused(None));
}

/// Neither the cursor nor the tick may be in the future of the store.
pub fn a_tick_does_not_fire_before_its_time<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &cron("s", Overlap::Skip));
    given.wait(SECOND);
    let mut early = given.fire_of(id, "s", 1);
    early.cursor = given.now.after(Duration::from_micros(1));
    early.job.as_mut().expect("it has a job").tick = early.cursor;
    assert_eq!(given.fire(&early), Fired::TooEarly);
    assert_eq!(given.schedule("s").fired, 0);
    let ended = Fire { session: crate::given::session(9), ..given.fire_of(id, "s", 1) };
    assert_eq!(given.fire(&ended), Fired::Ended);
}

/// The node that fires has the job in the same transaction, unless jitter puts it off.
pub fn a_tick_is_claimed_as_it_fires<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &cron("s", Overlap::Allow));
    given.wait(SECOND);
    let fire = Fire { claim: Some(1), ..given.fire_of(id, "s", 1) };
    let Fired::Moved(Some(claimed)) = given.fire(&fire) else { panic!("not claimed") };
    assert_eq!((*claimed).clone(), given.job(job(1)));
    assert_eq!((claimed.state, claimed.attempt), (JobState::Running, 1));
    given.wait(SECOND);
    let mut later = Fire { claim: Some(1), ..given.fire_of(id, "s", 2) };
    later.job.as_mut().expect("it has a job").run_at = given.now.after(SECOND);
    assert_eq!(given.fire(&later), Fired::Moved(None));
    assert_eq!(given.state(job(2)), JobState::Ready);
}

/// The job of a tick whose payload is newer than the process knows waits for another process.
pub fn r24_a_tick_of_an_unknown_version_is_not_claimed_as_it_fires<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let payload = Payload { version: 2, bytes: b"{}".to_vec() };
    given.register(id, &ScheduleSpec { payload, ..cron("s", Overlap::Allow) });
    for (number, known, state) in [(1, 1, JobState::Ready), (2, 2, JobState::Running)] {
        given.wait(SECOND);
        let fire = Fire { claim: Some(known), ..given.fire_of(id, "s", number) };
        assert!(matches!(given.fire(&fire), Fired::Moved(_)));
        assert_eq!(given.state(job(number)), state);
    }
    let task = given.schedule("s").definition.task;
    let known = |version| given.ask().poll(&given.poll_up_to(id, &task, version)).unwrap().jobs;
    assert_eq!((known(1).len(), known(2).len()), (0, 1));
}

/// The identity of a job that is there already: the tick moves on, and that job stays as it is.
pub fn r3_a_tick_never_takes_the_place_of_another_job<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.job_of(1, "a");
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Done);
    let before = given.job(job(1));
    given.register(id, &cron("s", Overlap::Allow));
    given.wait(SECOND);
    let fire = Fire { claim: Some(1), ..given.fire_of(id, "s", 1) };
    assert_eq!(given.fire(&fire), Fired::Moved(None));
    assert_eq!(given.job(job(1)), before);
    assert_eq!((given.schedule("s").fired, given.schedule("s").cursor), (0, given.now));
}

/// At most one unfinished job of a schedule whose jobs keep each other out, whatever makes the other one.
pub fn r11_jobs_of_a_schedule_do_not_overlap<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &cron("s", Overlap::Skip));
    given.wait(SECOND);
    given.fire(&given.fire_of(id, "s", 1));
    given.wait(SECOND);
    let wait = Fire { on_busy: OnBusy::Wait, ..given.fire_of(id, "s", 2) };
    assert_eq!(given.fire(&wait), Fired::Busy);
    assert_ne!(given.schedule("s").cursor, given.now);
    assert_eq!(given.fire(&given.fire_of(id, "s", 2)), Fired::Skipped);
    let schedule = given.schedule("s");
    assert_eq!((schedule.cursor, schedule.skips.overlap, schedule.fired), (given.now, 1, 1));
    let by_hand = Command::RunNow { schedule: "s".to_owned(), job: job(3) };
    assert_eq!(given.command(&by_hand), CommandOutcome::Conflict(job(1)));
    let claimed = given.claim(id, "tick");
    let retried = End::Failed { after: SECOND, error: "no".to_owned() };
    given.finish(id, claimed.held(), retried);
    assert_eq!(given.command(&by_hand), CommandOutcome::Done, "its only attempt has failed");
    given.wait(SECOND);
    assert_eq!(given.fire(&given.fire_of(id, "s", 4)), Fired::Skipped, "one by hand counts, too");
}

/// Ticks that are skipped because the job before waits for a limit are counted apart: not if it has begun, and not of a task without
/// limits.
pub fn fl_a_tick_that_is_skipped_because_of_a_limit_is_counted_apart<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &ScheduleSpec { max_attempts: 2, ..cron("s", Overlap::QueueOne) });
    let limit = |given: &Given<T>, running: Option<u32>| {
        let all = Limit { running, ..Limit::default() };
        given.limit(id, limits("tick", all, Limit::default()), given.now);
    };
    let skips = |given: &Given<T>| {
        let skips = given.schedule("s").skips;
        (skips.overlap, skips.limit)
    };
    given.enqueue(NewJob::new(job(99), "tick"));
    limit(&given, Some(1));
    let other = given.claim(id, "tick");
    given.wait(SECOND);
    assert_eq!(given.fire(&given.fire_of(id, "s", 1)), Fired::Moved(None));
    given.wait(SECOND);
    let ticks = |given: &Given<T>, number, overlap| Fire {
        skips: Skips { overlap, ..Skips::default() },
        ..given.fire_of(id, "s", number)
    };
    assert_eq!(given.fire(&ticks(&given, 2, 2)), Fired::Skipped, "no poll has seen it due");
    assert_eq!(given.poll(id, &["tick"]).jobs, []);
    given.wait(SECOND);
    assert_eq!(given.fire(&ticks(&given, 3, 2)), Fired::Limited(3));
    let no_tick = Fire { job: None, ..ticks(&given, 4, 4) };
    assert_eq!((given.fire(&no_tick), skips(&given)), (Fired::Limited(4), (3, 7)));
    given.wait(SECOND);
    for (number, answer) in [(5, Fired::Queued), (6, Fired::Limited(1))] {
        let fire = Fire { on_busy: OnBusy::Queue, ..ticks(&given, number, 0) };
        assert_eq!(given.fire(&fire), answer);
        given.wait(SECOND);
    }
    assert_eq!(
        (skips(&given), given.schedule("s").waiting.map(|tick| tick.id)),
        ((3, 8), Some(job(6)))
    );
    limit(&given, None);
    assert_eq!(given.fire(&ticks(&given, 7, 0)), Fired::Skipped, "there is no limit any more");
    limit(&given, Some(1));
    given.finish(id, other.held(), End::Done);
    let claimed = given.claim(id, "tick");
    given.wait(SECOND);
    assert_eq!(given.fire(&ticks(&given, 8, 0)), Fired::Skipped, "it runs");
    given.finish(id, claimed.held(), End::Failed { after: SECOND, error: "no".to_owned() });
    given.enqueue(NewJob::new(job(98), "tick"));
    given.claim(id, "tick");
    given.wait(SECOND);
    assert_eq!(given.poll(id, &["tick"]).jobs, []);
    assert_eq!(given.fire(&ticks(&given, 9, 1)), Fired::Skipped, "it has begun");
    assert_eq!(skips(&given), (7, 8));
}

/// The latest tick waits for the end of the job, however that ends.
pub fn r12_a_tick_that_waits_becomes_a_job_when_the_other_ends<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &cron("s", Overlap::QueueOne));
    given.wait(SECOND);
    given.fire(&given.fire_of(id, "s", 1));
    for (number, answer) in [(2, 0), (3, 1)] {
        given.wait(SECOND);
        let fire = Fire { on_busy: OnBusy::Queue, ..given.fire_of(id, "s", number) };
        assert_eq!(given.fire(&fire), Fired::Queued);
        assert_eq!(given.schedule("s").skips.overlap, answer);
    }
    let claimed = given.claim(id, "tick");
    given.finish(id, claimed.held(), End::Done);
    let schedule = given.schedule("s");
    assert_eq!((schedule.waiting, schedule.fired), (None, 2));
    assert_eq!(schedule.last_fired, Some(given.now));
    assert_eq!(given.state(job(3)), JobState::Ready);
    given.wait(SECOND);
    given.fire(&Fire { on_busy: OnBusy::Queue, ..given.fire_of(id, "s", 4) });
    assert_eq!(given.command(&Command::Cancel { job: job(3) }), CommandOutcome::Done);
    assert_eq!(given.claim(id, "tick").id, job(4));
}

/// The store keeps the last end of the runs of all processes. An attempt that another one follows does not count.
pub fn a_schedule_keeps_the_last_end_of_its_jobs<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &ScheduleSpec { max_attempts: 2, ..cron("s", Overlap::Skip) });
    given.wait(SECOND);
    given.fire(&given.fire_of(id, "s", 1));
    let end = |given: &Given<T>| {
        let schedule = given.schedule("s");
        let end = schedule.last_end.map(|end| (end.state, end.started_at, end.at, end.error));
        (end, schedule.last_success, schedule.failures)
    };
    let failed = |error: &str| End::Failed { after: Duration::ZERO, error: error.to_owned() };
    let claimed = given.claim(id, "tick");
    given.finish(id, claimed.held(), failed("no"));
    assert_eq!(end(&given), (None, None, 0));
    let claimed = given.claim(id, "tick");
    given.wait(SECOND);
    let long = "é".repeat(600);
    given.finish(id, claimed.held(), failed(&long));
    let cut = Some("é".repeat(500));
    let parked = Some((JobState::Parked, claimed.started_at, given.now, cut));
    assert_eq!(end(&given), (parked, None, 1));
    given.wait(SECOND);
    given.fire(&given.fire_of(id, "s", 2));
    let claimed = given.claim(id, "tick");
    given.finish(id, claimed.held(), End::Cancelled);
    let cancelled = Some((JobState::Cancelled, claimed.started_at, given.now, None));
    assert_eq!(end(&given), (cancelled, None, 1));
    assert_eq!(given.command(&Command::Retry { job: job(1) }), CommandOutcome::Done);
    let claimed = given.claim(id, "tick");
    given.finish(id, claimed.held(), End::Done);
    let done = Some((JobState::Done, claimed.started_at, given.now, None));
    assert_eq!(end(&given), (done, Some(given.now), 0));
}

/// The next tick of a delay is set in the transaction in which its job ends for good.
pub fn r19_a_delay_counts_from_the_end_of_the_job<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &ScheduleSpec { max_attempts: 2, ..delay("s") });
    assert_eq!(given.schedule("s").next, Next::At(given.now.after(SECOND)));
    given.wait(SECOND);
    given.fire(&Fire { next: Next::AfterJob, ..given.fire_of(id, "s", 1) });
    assert_eq!(given.poll(id, &["tick"]).due, []);
    let held = given.job(job(1)).held();
    let failed = End::Failed { after: SECOND, error: "no".to_owned() };
    given.finish(id, held, failed);
    assert_eq!(given.schedule("s").next, Next::AfterJob, "a retry is no end");
    given.wait(SECOND * 3);
    let claimed = given.claim(id, "tick");
    given.finish(id, claimed.held(), End::Done);
    let schedule = given.schedule("s");
    assert_eq!((schedule.cursor, schedule.next), (given.now, Next::At(given.now.after(SECOND))));
}

/// A tick that waits behind a job of a delay runs first, and the delay counts from its end.
pub fn r19_a_delay_counts_from_the_end_of_the_tick_that_waits<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &delay("s"));
    given.wait(SECOND);
    let after_job =
        Fire { next: Next::AfterJob, on_busy: OnBusy::Queue, ..given.fire_of(id, "s", 1) };
    given.fire(&after_job);
    given.wait(SECOND);
    let queued = Fire { next: Next::AfterJob, on_busy: OnBusy::Queue, ..given.fire_of(id, "s", 2) };
    assert_eq!(given.fire(&queued), Fired::Queued);
    for (number, next) in [(1, Next::AfterJob), (2, Next::At(given.now.after(SECOND)))] {
        let claimed = given.claim(id, "tick");
        assert_eq!(claimed.id, job(number));
        given.finish(id, claimed.held(), End::Done);
        assert_eq!(given.schedule("s").next, next);
    }
}

/// A delay whose job is gone gets its next tick by a poll.
pub fn r19_a_poll_repairs_a_delay_whose_job_is_gone<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &delay("s"));
    given.wait(SECOND);
    let no_job = Fire { job: None, next: Next::AfterJob, ..given.fire_of(id, "s", 1) };
    assert_eq!(given.fire(&no_job), Fired::Moved(None));
    let polled = given.poll(id, &["tick"]);
    assert_eq!(polled.next_tick, Some(given.now.after(SECOND)));
    assert_eq!(given.schedule("s").next, Next::At(given.now.after(SECOND)));
}

/// The process that started last counts.
pub fn r15_a_process_that_started_earlier_does_not_register<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let newer = cron("s", Overlap::Skip);
    let rule = Rule { text: "old".to_owned(), timing: Timing::Computed };
    let older = ScheduleSpec { rule, ..newer.clone() };
    assert_eq!(given.register(id, &newer), Registration::New);
    let before = given.now.before(SECOND);
    assert_eq!(given.register_of(id, &older, before), Registration::Older);
    assert_eq!(given.schedule("s").definition, newer);
    assert_eq!(given.register_of(id, &older, given.now), Registration::Changed);
}

/// A store's clock that was set back: who registered by the later time does not count any more.
pub fn r15_a_clock_that_was_set_back_keeps_no_process_from_registering<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let definition = cron("s", Overlap::Skip);
    let future = given.now.after(SECOND * 3_600);
    assert_eq!(given.register_of(id, &definition, future), Registration::New);
    given.wait(SECOND);
    let rule = Rule { text: "other".to_owned(), timing: Timing::Computed };
    let other = ScheduleSpec { rule, ..definition };
    assert_eq!(given.register(id, &other), Registration::Changed);
    let schedule = given.schedule("s");
    assert_eq!((schedule.registrant_opened, schedule.cursor), (given.now, given.now));
}

/// A single tick has fired once and for all, also if its rule is written in another way, or comes back after another one.
pub fn a_single_tick_that_has_fired_does_not_fire_again<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let once = |text: &str, at| {
        let rule = Rule { text: text.to_owned(), timing: Timing::Once(at) };
        ScheduleSpec { rule, ..cron("s", Overlap::Allow) }
    };
    let (first, second) = (given.now.after(SECOND), given.now.after(SECOND * 5));
    given.register(id, &once("first", first));
    assert_eq!(given.register(id, &once("first, too", first)), Registration::Changed);
    assert_eq!(given.schedule("s").next, Next::At(first), "it has not fired");
    given.wait(SECOND * 2);
    assert_eq!(given.register(id, &once("first", first)), Registration::Changed);
    assert_eq!(given.schedule("s").next, Next::At(first), "it is late");
    let mut fire = Fire { next: Next::Never, ..given.fire_of(id, "s", 1) };
    fire.job.as_mut().expect("it has a job").tick = first;
    assert_eq!(given.fire(&fire), Fired::Moved(None));
    for (definition, next) in [
        (once("first, too", first), Next::Never),
        (once("second", second), Next::At(second)),
        (once("first", first), Next::Never),
    ] {
        assert_eq!(given.register(id, &definition), Registration::Changed);
        assert_eq!(given.schedule("s").next, next, "{definition:?}");
    }
    assert_eq!(given.poll(id, &["tick"]).due, []);
}

/// Another calculator asks for the next tick again, from the cursor, so that missed ticks stay.
pub fn r16_another_calculator_computes_again_from_the_cursor<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let definition = cron("s", Overlap::Skip);
    given.register(id, &definition);
    given.wait(SECOND);
    let next = Next::At(given.now.after(SECOND));
    given.fire(&Fire { job: None, next, ..given.fire_of(id, "s", 1) });
    let cursor = given.schedule("s").cursor;
    given.wait(SECOND * 9);
    assert_eq!(given.register(id, &definition), Registration::Same);
    assert_eq!(given.schedule("s").next, next);
    let other = ScheduleSpec { calculator: "2".to_owned(), ..definition };
    assert_eq!(given.register(id, &other), Registration::Same);
    let schedule = given.schedule("s");
    assert_eq!((schedule.next, schedule.cursor), (Next::Unknown, cursor));
}

/// A rule set by hand lasts until the rule of the code changes; a pause lasts longer.
pub fn r17_what_was_set_by_hand_outlives_a_registration<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let definition = cron("s", Overlap::Skip);
    given.register(id, &definition);
    let rule = Rule { text: "by hand".to_owned(), timing: Timing::Once(given.now.after(SECOND)) };
    let reschedule = Command::Reschedule { schedule: "s".to_owned(), rule: Some(rule.clone()) };
    assert_eq!(given.command(&reschedule), CommandOutcome::Done);
    let (by, reason) = ("me".to_owned(), "a while".to_owned());
    let pause = Command::Pause { schedule: "s".to_owned(), until: None, by, reason };
    assert_eq!(given.command(&pause), CommandOutcome::Done);
    given.wait(SECOND);
    given.register(id, &definition);
    assert_eq!(given.schedule("s").override_rule, Some(rule));
    let changed = Rule { text: "other".to_owned(), timing: Timing::Computed };
    let changed = ScheduleSpec { rule: changed, ..definition };
    assert_eq!(given.register(id, &changed), Registration::Changed);
    let schedule = given.schedule("s");
    assert_eq!((schedule.override_rule, schedule.cursor), (None, given.now));
    assert!(schedule.pause.is_some_and(|pause| pause.holds(given.now)));
}

/// A paused schedule has nothing to decide until its pause is over; runs by hand go on. A tick that was computed before the
/// pause, or before its end was changed, is refused: it decides why ticks are skipped.
pub fn r18_ticks_fire_by_the_pause_that_was_seen<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &cron("s", Overlap::Skip));
    let before = given.fire_of(id, "s", 1);
    let pause = |until| {
        let (by, reason) = ("me".to_owned(), "a while".to_owned());
        Command::Pause { schedule: "s".to_owned(), until, by, reason }
    };
    let until = Some(given.now.after(SECOND * 10));
    given.command(&pause(until));
    assert!(matches!(given.fire(&before), Fired::Refused(Some(row)) if row.pause.is_some()));
    let polled = given.poll(id, &["tick"]);
    assert_eq!((polled.due, polled.next_tick), (Vec::new(), until));
    let by_hand = Command::RunNow { schedule: "s".to_owned(), job: job(9) };
    assert_eq!(given.command(&by_hand), CommandOutcome::Done);
    assert_eq!(given.claim(id, "tick").origin.and_then(|origin| origin.tick), None);
    given.finish(id, given.job(job(9)).held(), End::Done);
    let shorter = given.fire_of(id, "s", 1);
    given.command(&pause(Some(given.now.after(SECOND * 20))));
    assert!(matches!(given.fire(&shorter), Fired::Refused(Some(_))));
    given.wait(SECOND * 21);
    assert_eq!(given.poll(id, &["tick"]).due.len(), 1);
    assert_eq!(given.fire(&given.fire_of(id, "s", 1)), Fired::Moved(None));
}

/// A poll tells which schedules of known tasks have something to decide, by name, and when the next one has.
pub fn a_poll_tells_what_is_due<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    for name in ["b", "a", "c"] {
        given.register(id, &cron(name, Overlap::Skip));
    }
    given.register(id, &ScheduleSpec { task: "unknown".to_owned(), ..cron("d", Overlap::Skip) });
    given.wait(SECOND);
    let next = given.now.after(SECOND);
    given.fire(&Fire { next: Next::At(next), ..given.fire_of(id, "c", 1) });
    let polled = given.poll(id, &["tick"]);
    let names: Vec<_> = polled.due.iter().map(|due| &*due.schedule.definition.name).collect();
    assert_eq!((names, polled.next_tick), (vec!["a", "b"], Some(next)));
    let accepted = given.now;
    given.wait(SECOND);
    let polled = given.poll(id, &["tick"]);
    assert_eq!(polled.due[2].busy_since, Some(accepted));
    assert_eq!(polled.due[2].schedule, given.schedule("c"));
}

/// A definition that cannot be stored is refused before anything is written, and comes back as it was otherwise.
pub fn a_definition_comes_back_as_it_was_or_is_refused<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let good = ScheduleSpec {
        rule: Rule {
            text: "'; --\u{1F980}".to_owned(),
            timing: Timing::Rate { first: SECOND, period: Duration::from_nanos(1_500) },
        },
        max_attempts: u32::MAX,
        ..cron("%_\\", Overlap::Allow)
    };
    let bad = ScheduleSpec { task: String::new(), ..good.clone() };
    let definitions = vec![good.clone(), bad];
    let request = Register {
        session: id,
        first_opened: given.now,
        definitions,
        limits: Vec::new(),
        not_after: given.in_time(),
    };
    let answer = given.ask().register(&request);
    assert!(matches!(answer, Err(StoreError::Refused(Refusal::Unstorable { .. }))), "{answer:?}");
    assert_eq!(given.ask().schedules().unwrap(), []);
    given.register(id, &good);
    let kept = given.schedule("%_\\");
    let period = Duration::from_micros(2);
    let rounded = Rule { timing: Timing::Rate { first: SECOND, period }, ..good.rule.clone() };
    assert_eq!(kept.definition, ScheduleSpec { rule: rounded, ..good });
    assert_eq!(kept.anchor, Some(given.now.after(SECOND)));
    let dead = Register { session: crate::given::session(9), ..request };
    let dead = Register { definitions: vec![cron("t", Overlap::Skip)], ..dead };
    let answer = given.ask().register(&dead).unwrap();
    assert_eq!((answer.is_alive, answer.schedules.len()), (false, 0));
    let late = Register { not_after: StoreTime::MIN, ..dead };
    assert_eq!(given.ask().register(&late), Err(Refusal::TooLate.into()));
}
