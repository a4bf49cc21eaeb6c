//! Monitors on a virtual clock, with a server that takes their pings or does not.

mod server;

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::testing::{Sim, hours, minutes, secs};
use scheduler::{ManualClock, Run, Schedule};
use scheduler_monitors::{
    Cronitor, Healthchecks, Monitor, Monitors, MonitorsBuilder, Ping, Request, Sentry,
};
use server::{Received, Server};

const PATIENCE: Duration = Duration::from_secs(60);

/// Monitors on a clock of their own, and a simulation that tells them.
struct World {
    monitors: Monitors,
    clock: ManualClock,
    messages: Receiver<String>,
}

fn world(configure: impl FnOnce(MonitorsBuilder) -> MonitorsBuilder) -> World {
    let clock = ManualClock::new();
    let (sender, messages) = channel();
    let sender = Mutex::new(sender);
    let builder = Monitors::builder().clock(Arc::new(clock.clone())).messages(move |text| {
        sender.lock().expect("no panic").send(text.to_owned()).expect("a test");
    });
    let monitors = configure(builder).start().expect("a thread");
    World { monitors, clock, messages }
}

impl World {
    fn sim(&self) -> Sim {
        let listener = self.monitors.clone();
        Sim::at("2026-03-27T08:00:00Z").builder(|builder| builder.listener(listener))
    }
}

fn lines(received: &[Received]) -> Vec<String> {
    received.iter().map(Received::line).collect()
}

/// Fails in its second run.
fn fails_once(run: &Run) -> Result<(), String> {
    if run.number() == 2 { Err("disk full".to_owned()) } else { Ok(()) }
}

#[test]
fn healthchecks_is_told_start_end_and_failure_with_one_rid_for_each_run() {
    let server = Server::answering("200 OK");
    let url = format!("{}/key/", server.url);
    let world = world(|builder| builder.all(Healthchecks::project(url)));
    let mut sim = world.sim().define("shop::report", Schedule::fixed_rate("1h"), fails_once);
    sim.advance(Duration::ZERO);
    server.wait_for(2);
    world.clock.advance(hours(1));
    sim.advance(hours(1));
    let received = server.wait_for(4);
    let expected = [
        "POST /key/shop-report/start?create=1",
        "POST /key/shop-report?create=1",
        "POST /key/shop-report/start?create=1",
        "POST /key/shop-report/fail?create=1",
    ];
    assert_eq!(lines(&received), expected);
    assert_eq!(received[3].body, "disk full");
    assert_eq!(received[0].run("rid"), received[1].run("rid"));
    assert_ne!(received[1].run("rid"), received[2].run("rid"));
    assert_eq!(received[0].run("rid").len(), 36);
}

#[test]
fn one_check_is_told_about_its_task_only() {
    let server = Server::answering("200 OK");
    let url = format!("{}/uuid", server.url);
    let world = world(|builder| builder.task("a", Healthchecks::check(url)));
    let mut sim = world.sim().define("b", Schedule::fixed_rate("1h"), |_| {}).define(
        "a",
        Schedule::fixed_rate("1h").initial_delay("1m"),
        |_| {},
    );
    sim.advance(minutes(1));
    assert_eq!(lines(&server.wait_for(2)), ["POST /uuid/start?", "POST /uuid?"]);
    assert!(world.monitors.flush(PATIENCE));
    assert_eq!(server.wait_for(2).len(), 2);
}

#[test]
fn a_task_is_known_by_an_end_of_its_name_that_no_other_task_has() {
    let server = Server::answering("200 OK");
    let check = |name: &str| Healthchecks::check(format!("{}/{name}", server.url));
    let world = world(|builder| {
        let builder = builder.task("report", check("short")).task("both", check("both"));
        builder.task("whole", check("whole"))
    });
    let mut sim = world.sim();
    for name in ["shop::report", "shop::no_report", "a::both", "b::both", "whole", "c::whole"] {
        sim = sim.define(name, Schedule::fixed_rate("1h"), |_| {});
    }
    sim.advance(Duration::ZERO);
    assert!(world.monitors.flush(PATIENCE));
    let mut told = lines(&server.wait_for(4));
    told.sort();
    let expected = ["POST /short/start?", "POST /short?", "POST /whole/start?", "POST /whole?"];
    assert_eq!(told, expected);
}

#[test]
fn sentry_is_told_the_schedule() {
    let server = Server::answering("202 Accepted");
    let dsn = server.url.replace("http://", "http://public@") + "/7";
    let sentry = Sentry::new(&dsn).expect("a DSN").environment("prod").max_runtime(secs(90));
    let world = world(|builder| builder.tagged("nightly", sentry));
    let schedule = Schedule::cron("30 0 9 * * MON-FRI").zone("Europe/Berlin").tags(["nightly"]);
    let mut sim = world.sim().define("report", schedule, |_| {});
    sim.advance(hours(72));
    let received = server.wait_for(2);
    assert_eq!(
        lines(&received),
        [
            "POST /api/7/cron/report/public/?status=in_progress&environment=prod",
            "POST /api/7/cron/report/public/?status=ok&duration=0.000&environment=prod",
        ]
    );
    let body: serde_json::Value = serde_json::from_str(&received[0].body).expect("JSON");
    let expected = serde_json::json!({
        "status": "in_progress",
        "check_in_id": received[0].run("check_in_id"),
        "environment": "prod",
        "monitor_config": {
            "schedule": { "type": "crontab", "value": "0 9 * * MON-FRI" },
            "timezone": "Europe/Berlin",
            "max_runtime": 2,
        },
    });
    assert_eq!(body, expected);
    assert_eq!(received[0].content_type, "application/json");
}

#[test]
fn sentry_knows_nothing_of_a_schedule_that_it_would_misunderstand() {
    let server = Server::answering("202 Accepted");
    let dsn = server.url.replace("http://", "http://public:secret@") + "/prefix/7";
    let sentry = Sentry::new(&dsn).expect("a DSN").monitor("mine");
    let world = world(|builder| builder.all(sentry));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("90s"), |_| {});
    sim.advance(Duration::ZERO);
    let received = server.wait_for(2);
    let first = "GET /prefix/api/7/cron/mine/public/?status=in_progress";
    assert_eq!(received[0].line(), first);
    assert_eq!(received[0].body, "");
}

#[test]
fn cronitor_is_told_state_series_duration_and_message() {
    let server = Server::answering("200 OK");
    let cronitor = Cronitor::new("k").at(&format!("{}/p/k", server.url)).environment("prod");
    let world = world(|builder| builder.all(cronitor).redact(|text| text.replace("secret", "***")));
    let mut sim = world.sim().define("import", Schedule::fixed_rate("1h"), |_| {
        Err::<(), _>(format!("no secret & {}", "ä".repeat(3_000)))
    });
    sim.takes("import", secs(2));
    sim.advance(secs(2));
    let received = server.wait_for(2);
    assert_eq!(received[0].line(), "GET /p/k/import?state=run&env=prod");
    let end = received[1].line();
    let start =
        "GET /p/k/import?state=fail&metric=duration:2.000&message=no%20%2A%2A%2A%20%26%20%C3%A4";
    assert!(end.starts_with(start), "{end}");
    assert!(end.ends_with("%C3%A4&env=prod"), "{end}");
    assert!(end.len() < 3 * 2_000 + 200, "{}", end.len());
    assert_eq!(received[0].run("series"), received[1].run("series"));
}

#[test]
fn a_task_of_every_second_is_reported_twice_a_minute_and_its_first_failure_at_once() {
    let server = Server::answering("200 OK");
    let url = format!("{}/uuid", server.url);
    let world = world(|builder| builder.all(Healthchecks::check(url)));
    let fails = |run: &Run| if run.number() == 10 { Err("no") } else { Ok(()) };
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1s"), fails);
    sim.advance(secs(15));
    let expected = ["POST /uuid/start?", "POST /uuid?", "POST /uuid/fail?"];
    assert_eq!(lines(&server.wait_for(3)), expected);
    world.clock.await_parked(1);
    // The last of the successes after the failure waits for its time.
    world.clock.advance(secs(30));
    let received = server.wait_for(4);
    assert_eq!(received[3].line(), "POST /uuid?");
    assert!(world.monitors.flush(PATIENCE));
    let counts = world.monitors.counts();
    assert_eq!((counts.sent, counts.coalesced, counts.failed, counts.dropped), (4, 28, 0, 0));
}

#[test]
fn pings_held_back_are_sent_when_the_scheduler_has_stopped() {
    let server = Server::answering("200 OK");
    let url = format!("{}/uuid", server.url);
    let world = world(|builder| builder.all(Healthchecks::check(url)));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1s"), |_| {});
    sim.advance(secs(3));
    drop(sim);
    assert_eq!(lines(&server.wait_for(3)), ["POST /uuid/start?", "POST /uuid?", "POST /uuid?"]);
}

#[test]
fn a_refused_ping_is_retried_and_then_reported_without_the_address() {
    let server = Server::answering("503 Service Unavailable");
    let url = format!("{}/secret", server.url);
    let world = world(|builder| builder.all(Healthchecks::check(url)));
    let schedule = Schedule::fixed_rate("1h").max_runs(1);
    let mut sim = world.sim().define("tick", schedule, |_| {});
    sim.advance(Duration::ZERO);
    for (count, later) in [(2, secs(5)), (4, minutes(1)), (6, secs(0))] {
        server.wait_for(count);
        world.clock.await_parked(1);
        world.clock.advance(later);
    }
    let message = || world.messages.recv_timeout(PATIENCE).expect("a message");
    assert_eq!(message(), "monitors: healthchecks is away: it answered 503; pings are tried again");
    assert_eq!(
        message(),
        "monitors: 2 pings could not be sent; the last time healthchecks: it answered 503"
    );
    assert_eq!(world.monitors.counts().failed, 2);
}

#[test]
fn refused_pings_at_the_end_are_counted_and_reported() {
    let server = Server::answering("503 Service Unavailable");
    let url = format!("{}/uuid", server.url);
    let world = world(|builder| builder.all(Healthchecks::check(url)));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1h"), |_| {});
    sim.advance(Duration::ZERO);
    drop(sim);
    assert!(world.monitors.flush(PATIENCE));
    assert_eq!(world.monitors.counts().failed, 2);
    let messages: Vec<String> = world.messages.try_iter().collect();
    assert!(messages.last().expect("a message").ends_with("healthchecks: it answered 503"));
}

/// Of the finding that a service which misses the start of a run got it after the end.
#[test]
fn a_ping_that_is_older_than_one_that_was_taken_is_not_sent() {
    let server = Server::answering("503 Service Unavailable");
    let world = world(|builder| builder.all(Healthchecks::check(format!("{}/id", server.url))));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1h").max_runs(1), |_| {});
    sim.takes("tick", secs(2));
    sim.advance(Duration::ZERO);
    server.wait_for(1);
    world.clock.await_parked(1);
    server.answer("200 OK");
    sim.advance(secs(2));
    assert_eq!(lines(&server.wait_for(2)), ["POST /id/start?", "POST /id?"]);
    world.clock.await_parked(1);
    world.clock.advance(secs(5));
    assert!(world.monitors.flush(PATIENCE));
    assert_eq!(server.wait_for(2).len(), 2, "the start is not repeated");
    assert_eq!((world.monitors.counts().sent, world.monitors.counts().coalesced), (1, 1));
    let messages: Vec<String> = world.messages.try_iter().collect();
    let expected = [
        "monitors: healthchecks is away: it answered 503; pings are tried again",
        "monitors: healthchecks takes pings again",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn a_service_that_asks_for_a_pause_gets_it() {
    let server = Server::answering("429 Too Many Requests\r\nretry-after: 120");
    let world = world(|builder| builder.all(Healthchecks::check(format!("{}/id", server.url))));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1h").max_runs(1), |_| {});
    sim.advance(Duration::ZERO);
    server.wait_for(1);
    world.clock.await_parked(1);
    server.answer("200 OK");
    world.clock.advance(secs(119));
    world.clock.await_parked(1);
    assert_eq!(server.wait_for(1).len(), 1, "the end waits, too");
    world.clock.advance(secs(1));
    assert_eq!(lines(&server.wait_for(3))[1..], ["POST /id/start?", "POST /id?"]);
}

#[test]
fn a_service_that_hangs_holds_up_no_other_one() {
    let server = Server::answering("200 OK");
    let (release, wait) = channel();
    let check = Healthchecks::check(format!("{}/id", server.url));
    let world = world(|builder| builder.all(Slow(Mutex::new(wait))).all(check));
    let fails = |_: &Run| Err::<(), _>("disk full");
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1h"), fails);
    sim.advance(Duration::ZERO);
    assert_eq!(lines(&server.wait_for(2)), ["POST /id/start?", "POST /id/fail?"]);
    drop(release);
}

#[test]
fn a_redirect_is_followed_within_its_host_only() {
    let other = Server::answering("200 OK");
    let server = Server::answering(&format!("307 Temporary Redirect\r\nlocation: {}/a", other.url));
    let world = world(|builder| builder.all(Healthchecks::check(format!("{}/secret", server.url))));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1h"), |_| {});
    sim.advance(Duration::ZERO);
    server.wait_for(2);
    world.clock.await_parked(1);
    let message = world.messages.recv_timeout(PATIENCE).expect("a message");
    assert!(message.ends_with("healthchecks: it redirects to another host"), "{message}");
    server.answer("301 Moved Permanently\r\nlocation: /elsewhere");
    sim.advance(hours(1));
    world.clock.advance(hours(1));
    let last = server.wait_for(4);
    assert_eq!(last.last().map(Received::line).as_deref(), Some("GET /elsewhere?"));
    assert!(world.monitors.flush(PATIENCE));
    assert!(other.received().is_empty(), "the address is a secret");
}

#[test]
fn a_monitor_without_a_task_is_a_message() {
    let check = || Healthchecks::check("http://127.0.0.1:9/id");
    let world = world(|builder| {
        let builder = builder.task("repport", check()).tagged("critical", check());
        builder.task("both", check()).task("report", check())
    });
    let mut sim = world.sim();
    for name in ["shop::report", "a::both", "b::both"] {
        sim = sim.define(name, Schedule::fixed_rate("1h").initial_delay("1h"), |_| {});
    }
    sim.advance(Duration::ZERO);
    let expected = [
        "monitors: healthchecks gets no pings: `both` may be `a::both` or `b::both`: write more of the name",
        "monitors: healthchecks gets no pings: no task has the tag `critical`",
        "monitors: healthchecks gets no pings: there is no task `repport`",
    ];
    let mut messages: Vec<String> =
        (0..3).map(|_| world.messages.recv_timeout(PATIENCE).expect("a message")).collect();
    messages.sort();
    assert_eq!(messages, expected);
}

#[test]
fn a_refusal_that_will_not_pass_is_not_tried_again() {
    let server = Server::answering("404 Not Found");
    let url = format!("{}/secret", server.url);
    let world = world(|builder| builder.all(Healthchecks::check(url)));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1h"), |_| {});
    sim.advance(Duration::ZERO);
    assert!(world.monitors.flush(PATIENCE));
    assert_eq!(world.monitors.counts().failed, 2);
    let message = world.messages.recv_timeout(PATIENCE).expect("a message");
    assert!(message.ends_with("healthchecks: it answered 404"), "{message}");
}

/// Waits until it is let go, and asks for nothing.
struct Slow(Mutex<Receiver<()>>);

impl Monitor for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn request(&self, _: &Ping) -> Option<Request> {
        // An error means that it was let go for good.
        let _ = self.0.lock().expect("no panic").recv();
        None
    }
}

#[test]
fn a_slow_monitor_delays_no_run_and_what_does_not_fit_is_counted_and_told() {
    let (release, wait) = channel();
    let world = world(|builder| builder.all(Slow(Mutex::new(wait))));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1s"), |_| {});
    sim.advance(secs(2_000));
    assert_eq!(sim.starts("tick").len(), 2_001);
    let dropped = world.monitors.counts().dropped;
    assert!(dropped > 2_000, "{dropped}");
    drop(release);
    assert!(world.monitors.flush(PATIENCE));
    let message = world.messages.recv_timeout(PATIENCE).expect("a message");
    assert_eq!(message, format!("monitors: {dropped} pings did not fit into the queue"));
}

/// Panics.
struct Broken;

impl Monitor for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn request(&self, _: &Ping) -> Option<Request> {
        panic!("no luck")
    }
}

#[test]
fn a_monitor_that_panics_costs_its_pings_only() {
    let server = Server::answering("200 OK");
    let url = format!("{}/uuid", server.url);
    let world = world(|builder| builder.all(Broken).all(Healthchecks::check(url)));
    let mut sim = world.sim().define("tick", Schedule::fixed_rate("1h"), |_| {});
    sim.advance(Duration::ZERO);
    server.wait_for(2);
    assert!(world.monitors.flush(PATIENCE));
    assert_eq!((world.monitors.counts().sent, world.monitors.counts().failed), (2, 2));
}

#[test]
fn secrets_are_not_shown() {
    let shown = [
        format!("{:?}", Healthchecks::check("https://hc-ping.com/secret")),
        format!("{:?}", Cronitor::new("secret")),
        format!("{:?}", Sentry::new("https://secret@host/1").expect("a DSN")),
        format!("{:?}", Request::get("https://host/secret")),
        Sentry::new("https://secret@host").expect_err("no project").to_string(),
    ];
    for text in shown {
        assert!(!text.contains("secret"), "{text}");
    }
}
