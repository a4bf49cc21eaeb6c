//! Options that concern the scheduler as a whole: tags, calendars, defaults, instants.

use std::sync::{Arc, Mutex};

use scheduler::chrono::{DateTime, TimeDelta, Utc, Weekday};
use scheduler::{
    Attribute, Builder, Calendar, Clock, DstGap, ManualClock, RuleKind, Schedule, Scheduler,
    TaskState, Until,
};

const START: &str = "2026-03-27T08:00:00Z";

fn builder() -> (Builder, ManualClock, Arc<Mutex<Vec<String>>>) {
    let clock = ManualClock::at(START.parse().unwrap());
    let said = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&said);
    let builder = Scheduler::builder()
        .tasks(scheduler::tasks![])
        .pool_size(1)
        .zone("UTC")
        .environment([("PATH", "")])
        .settings("none.toml", "")
        .clock(Arc::new(clock.clone()))
        .messages(move |text| sink.lock().unwrap().push(text.to_owned()));
    (builder, clock, said)
}

fn hourly() -> Schedule {
    Schedule::fixed_rate("1h").initial_delay("1h")
}

fn fault(builder: Builder) -> String {
    builder.spawn().expect_err("a fault").faults()[0].clone()
}

#[test]
fn tasks_with_a_tag_are_controlled_together() {
    let (builder, ..) = builder();
    let scheduler = builder
        .task("invoice", hourly().tags(["billing", "nightly"]), |_| {})
        .task("collect", hourly().set(Attribute::Tags, "${tags:billing}"), |_| {})
        .task("purge", hourly(), |_| {})
        .spawn()
        .unwrap();
    let tasks = scheduler.tasks();
    let late = tasks.add("late", hourly().tags(["nightly"]), |_| {}).unwrap();
    let names = |tag| {
        let tagged = tasks.tagged(tag);
        tagged.tasks().iter().map(|task| task.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("billing"), ["invoice", "collect"]);
    assert_eq!(names("nightly"), ["invoice", "late"]);
    assert_eq!(names("bill"), [""; 0]);
    assert_eq!(&*late.snapshot().facts.tags, ["nightly".into()]);

    let billing = tasks.tagged("billing");
    let state = |name| tasks.get(name).unwrap().snapshot().state;
    assert_eq!((billing.pause(), state("invoice")), (2, TaskState::Paused));
    assert_eq!((billing.resume(), billing.resume()), (2, 0));
    tasks.get("collect").unwrap().cancel().unwrap();
    assert_eq!((billing.cancel(), billing.pause()), (1, 0));
    assert_eq!(state("purge"), TaskState::Waiting);
    scheduler.shutdown().unwrap();
}

#[test]
fn a_task_runs_once_at_an_instant() {
    let (builder, clock, _) = builder();
    let scheduler =
        builder.task("x", Schedule::at("2026-03-27T10:00:00+01:00"), |_| {}).spawn().unwrap();
    let task = scheduler.tasks().get("x").unwrap();
    let at: DateTime<Utc> = "2026-03-27T09:00:00Z".parse().unwrap();
    let snapshot = task.snapshot();
    assert_eq!((snapshot.facts.kind, snapshot.next), (RuleKind::At, Some(at)));
    assert_eq!(&*snapshot.facts.rule, "once, at 2026-03-27T09:00:00Z");
    clock.advance(std::time::Duration::from_secs(3_600));
    task.wait_for(Until::runs(1), std::time::Duration::from_secs(60)).unwrap();
    scheduler.shutdown().unwrap();
}

#[test]
fn an_instant_that_has_passed_is_reported_at_the_start() {
    let (builder, clock, said) = builder();
    let passed = clock.wall() - TimeDelta::seconds(1);
    let scheduler = builder
        .task("once", Schedule::at(passed), |_| {})
        .task("over", hourly().until(passed), |_| {})
        .task("on", hourly().until(clock.wall()), |_| {})
        .spawn()
        .unwrap();
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap().join("\n");
    assert!(
        said.contains("`once`: the instant of `at` has passed, and the task runs at once"),
        "{said}"
    );
    assert!(said.contains("`over`: the instant of `until` has passed"), "{said}");
    assert!(!said.contains("`on`: the instant"), "{said}");
}

#[test]
fn a_calendar_has_to_be_given_to_the_builder() {
    let daily = || Schedule::cron("@daily").skip_days("weekend");
    let text = fault(builder().0.task("x", daily(), |_| {}));
    assert!(text.contains("there is no calendar `weekend`; the builder was given none"), "{text}");
    assert!(text.contains(".calendar(\"weekend\", Calendar::new())"), "{text}");

    let days = || Calendar::new().weekdays([Weekday::Sat, Weekday::Sun]);
    let text = fault(builder().0.calendar("weekends", days()).task("x", daily(), |_| {}));
    assert!(text.contains("did you mean `weekends`?"), "{text}");

    let builder = builder().0.calendar("weekend", days()).task("x", daily(), |_| {});
    let scheduler = builder.spawn().unwrap();
    scheduler.tasks().add("later", daily(), |_| {}).unwrap();
    scheduler.shutdown().unwrap();
}

#[test]
fn a_calendar_that_leaves_no_day_is_reported_at_the_start() {
    let (builder, _clock, said) = builder();
    let days = Calendar::new().weekdays([Weekday::Sat, Weekday::Sun]);
    let cron = |text: &str| Schedule::cron(text).skip_days("weekend");
    let scheduler = builder
        .calendar("weekend", days)
        .task("none", cron("0 0 9 * * SAT,SUN"), |_| {})
        .task("some", cron("0 0 9 * * FRI-SUN"), |_| {})
        .spawn()
        .unwrap();
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap().join("\n");
    assert!(said.contains("`none`: `skip_days` leaves no day for `cron`"), "{said}");
    assert!(!said.contains("`some`: `skip_days`"), "{said}");
}

#[test]
fn a_cron_expression_that_only_falls_into_gaps_is_reported_at_the_start() {
    let (builder, _clock, said) = builder();
    let cron = || Schedule::cron("0 30 2 ? 3 SUNL").zone("Europe/Berlin");
    let scheduler = builder
        .task("gap", cron(), |_| {})
        .task("after", cron().dst_gap(DstGap::RunAfter), |_| {})
        .task("utc", cron().zone("UTC"), |_| {})
        .task("off", cron().enabled(false), |_| {})
        .spawn()
        .unwrap();
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap().join("\n");
    let warnings: Vec<_> = said.lines().filter(|line| line.contains("never fires")).collect();
    let [warning] = *warnings else { panic!("{said}") };
    assert!(warning.starts_with("WARN") && warning.contains("`gap`"), "{warning}");
    let end = "`cron` never fires in Europe/Berlin: clocks go forward over each of its times; to run right after them, write dst_gap = \"run_after\"";
    assert!(warning.ends_with(end), "{warning}");
}

#[test]
fn defaults_of_the_builder_give_way_to_what_a_task_says() {
    let (builder, ..) = builder();
    let scheduler = builder
        .defaults(Schedule::default().tags(["all"]).enabled(false))
        .task("own", hourly().tags(["own"]).enabled(true), |_| {})
        .task("silent", hourly(), |_| {})
        .spawn()
        .unwrap();
    let tasks = scheduler.tasks();
    assert_eq!(tasks.tagged("all").tasks().len(), 1);
    assert_eq!(tasks.get("silent").unwrap().snapshot().state, TaskState::Disabled);
    assert_eq!(tasks.get("own").unwrap().snapshot().state, TaskState::Waiting);
    scheduler.shutdown().unwrap();

    let text = fault(self::builder().0.defaults(Schedule::cron("@daily")));
    assert!(
        text.starts_with("builder.defaults(…): `defaults.cron`: each task says itself"),
        "{text}"
    );
    let text = fault(self::builder().0.task("x", Schedule::default(), |_| {}));
    assert!(text.contains("the task has no rule"), "{text}");
}
