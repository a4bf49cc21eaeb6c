//! Custom triggers that fail, end or describe themselves, in a simulation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::engine::{NextFireTime, Trigger, TriggerContext};
use scheduler::testing::*;
use scheduler::{Event, EventKind, Schedule, TaskState};

/// A trigger that answers as a closure does, and keeps when it was asked, in seconds from the start.
struct Asked<F> {
    answer: F,
    at: Arc<Mutex<Vec<i64>>>,
}

const START: &str = "2026-01-01T00:00:00Z";

impl<F> Trigger for Asked<F>
where
    F: Fn(usize, &TriggerContext) -> NextFireTime + Send + Sync,
{
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        let number = {
            let mut at = self.at.lock().unwrap();
            at.push((context.now() - moment(START).instant()).num_seconds());
            at.len()
        };
        (self.answer)(number, context)
    }
}

/// A task with such a trigger, and when that is asked.
fn sim<F>(answer: F) -> (Sim, Arc<Mutex<Vec<i64>>>)
where
    F: Fn(usize, &TriggerContext) -> NextFireTime + Send + Sync + 'static,
{
    let at = Arc::<Mutex<Vec<i64>>>::default();
    let trigger = Asked { answer, at: Arc::clone(&at) };
    (Sim::at(START).define("work", Schedule::on_trigger(trigger), |_| {}), at)
}

fn after(context: &TriggerContext, seconds: u64) -> NextFireTime {
    Ok(Some(context.now() + secs(seconds)))
}

/// After how many seconds the trigger was said to be asked again, each time.
fn waits(sim: &Sim) -> Vec<u64> {
    let wait = |event: &Event| match &event.kind {
        EventKind::TriggerFailed { asked_again_in, .. } => Some(asked_again_in.as_secs()),
        _ => None,
    };
    sim.events().iter().filter_map(wait).collect()
}

#[test]
fn one_that_fails_at_the_start_is_reported_and_asked_again_until_it_answers() {
    let (mut sim, at) = sim(|number, context| match number {
        1..=3 => Err("the database is down".into()),
        _ => after(context, 10),
    });
    let snapshot = sim.snapshot("work");
    assert_eq!((snapshot.state, snapshot.next), (TaskState::Waiting, None));
    assert_eq!(snapshot.trigger_failure.unwrap().message(), "the database is down");
    sim.advance(secs(16));
    assert_eq!(*at.lock().unwrap(), [0, 1, 3, 7]);
    assert_eq!(waits(&sim), [1, 2, 4]);
    assert_eq!(sim.snapshot("work").trigger_failure, None);
    sim.advance(secs(1));
    assert_eq!(sim.starts("work"), [secs(17)]);
    let said = sim.messages().join("\n");
    let reported = "ERROR task `work`: the trigger failed: the database is down; it is asked again in 1s\n      \
                    no run starts before the trigger answers";
    assert!(said.contains(reported), "{said}");
    assert!(
        sim.event_log()
            .contains("the trigger failed: the database is down; it is asked again in 2s")
    );
}

#[test]
fn one_that_fails_after_a_run_is_asked_the_same_question_later() {
    let (mut sim, at) = sim(|number, context| match number {
        1 => after(context, 10),
        2..=9 => {
            let text = std::fs::read_to_string("/nowhere/at/all")?;
            unreachable!("{text}")
        }
        _ => {
            let last = context.last_completed().expect("there was a run");
            Ok(Some(last + secs(300)))
        }
    });
    sim.advance(secs(400));
    assert_eq!(*at.lock().unwrap(), [0, 10, 11, 13, 17, 25, 41, 73, 133, 193, 310]);
    assert_eq!(waits(&sim), [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(sim.starts("work"), [10, 310].map(secs));
    let said =
        sim.messages().iter().filter(|text| text.contains("`work`: the trigger failed")).count();
    assert!((2..=4).contains(&said), "once a minute: {said}");
}

#[test]
fn one_that_panics_or_stands_still_has_failed_like_any_other() {
    let (sim, at) = sim(|number, context| match number {
        1 => after(context, 10),
        2 => panic!("no idea"),
        3 => Ok(context.last_scheduled()),
        _ => after(context, 10),
    });
    let mut sim = sim.allow_panics();
    sim.advance(secs(30));
    assert_eq!(*at.lock().unwrap(), [0, 10, 11, 13, 23]);
    assert_eq!(sim.starts("work"), [10, 23].map(secs));
    let log = sim.event_log();
    assert!(log.contains("the trigger panicked: no idea; it is asked again in 1s"), "{log}");
    assert!(log.contains("the trigger failed: the trigger did not advance: after"), "{log}");
}

#[test]
fn a_task_whose_trigger_fails_is_controlled_as_any_other() {
    let fails = |_: usize, _: &TriggerContext| Err("down".into());
    let (mut paused, at) = sim(fails);
    paused.pause("work");
    paused.advance(secs(100));
    assert_eq!(*at.lock().unwrap(), [0]);
    paused.resume("work");
    paused.advance(secs(1));
    assert_eq!(*at.lock().unwrap(), [0, 100]);
    paused.run_now("work");
    assert_eq!(paused.starts("work"), [secs(101)]);
    paused.control("work").reschedule(Schedule::fixed_rate("10s")).unwrap();
    paused.advance(secs(30));
    assert_eq!(paused.starts("work"), [101, 111, 121, 131].map(secs));
    assert_eq!(paused.snapshot("work").trigger_failure, None);
    let (mut cancelled, at) = sim(fails);
    cancelled.control("work").cancel().unwrap();
    cancelled.advance(secs(100));
    assert_eq!(*at.lock().unwrap(), [0]);
    assert_eq!(cancelled.snapshot("work").state, TaskState::Cancelled);
}

#[test]
fn fire_times_that_a_trigger_gives_late_start_at_once() {
    // It is asked when a run is over, so those of seconds 2 and 3 are late; then it fails.
    let (mut sim, at) = sim(|number, context| match number {
        1..=3 => Ok(Some(context.last_scheduled().unwrap_or(context.now()) + secs(1))),
        4 => Err("down".into()),
        _ => after(context, 5),
    });
    sim.takes_each("work", [secs(10)]);
    sim.advance(secs(20));
    assert_eq!(*at.lock().unwrap(), [0, 11, 11, 11, 12, 17]);
    assert_eq!(sim.snapshot("work").counters.skipped(), 0);
    assert_eq!(sim.starts("work"), [1, 11, 11, 17].map(secs));
}

#[test]
fn a_task_that_its_trigger_ends_is_reported() {
    let (mut sim, _) =
        sim(|number, context| if number == 1 { after(context, 1) } else { Ok(None) });
    sim.advance(secs(5));
    assert_eq!(sim.snapshot("work").state, TaskState::Completed);
    let said = sim.messages().join("\n");
    assert!(
        said.contains("task `work`: ended: completed\n      its trigger has no further fire time"),
        "{said}"
    );
    let mut once = Sim::at(START).define("work", Schedule::once("1s"), |_| {});
    once.advance(secs(5));
    assert!(!once.messages().join("\n").contains("ended"));
}

/// A trigger with a secret, and a description that changes.
#[derive(Debug)]
struct Described {
    #[expect(dead_code, reason = "it is only shown by `Debug`")]
    url: &'static str,
    asked: AtomicU64,
}

impl Trigger for Described {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        after(context, 1)
    }

    fn describe(&self) -> String {
        match self.asked.fetch_add(1, Ordering::Relaxed) {
            2 => panic!("no words"),
            3 => format!("a\nb{}", "c".repeat(10_000)),
            number => format!("rule {number} of the database"),
        }
    }
}

#[test]
fn a_trigger_is_shown_as_it_describes_itself_now() {
    let described = || Described { url: "postgres://user:secret@db", asked: AtomicU64::new(0) };
    let mut sim = Sim::at(START).define("work", Schedule::on_trigger(described()), |_| {});
    let rule = |sim: &Sim| sim.snapshot("work").facts.rule.to_string();
    assert_eq!(rule(&sim), "rule 1 of the database");
    assert_eq!(rule(&sim), "custom trigger, which cannot be described");
    let long = rule(&sim);
    assert!(long.starts_with("a\\nbccc") && long.len() < 1_000, "{long}");
    assert_eq!(&*sim.running_tasks().list()[0].facts.rule, "rule 4 of the database");
    sim.control("work").reschedule(Schedule::on_trigger(described())).unwrap();
    sim.advance(Duration::ZERO);
    let shown = format!("{:?} {:?} {}", sim.events(), sim.messages(), sim.event_log());
    assert!(shown.contains("rule 0 of the database"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
    assert!(!format!("{:?}", Schedule::on_trigger(described())).contains("secret"));
}

#[test]
fn a_trigger_that_does_not_describe_itself_is_a_custom_one() {
    let (sim, _) = sim(|_, context| after(context, 1));
    assert_eq!(&*sim.snapshot("work").facts.rule, "custom trigger");
}
