//! The health check: critical tasks that are late.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use scheduler::{
    Clock, Event, EventKind, ManualClock, NodeOptions, Schedule, SystemClock, Until, tasks,
};

use crate::api::eventually;
use crate::away::{Mood, Moody};
use crate::jobs::{mail, with_store};
use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn a_critical_task_has_its_whole_grace_after_it_was_resumed_or_rescheduled() {
    let clock = ManualClock::at(SystemClock::new().wall() - 3 * HOUR);
    let (told, changes) = mpsc::channel();
    let listener = move |event: &Event| {
        if matches!(event.kind, EventKind::Resumed { .. } | EventKind::Rescheduled { .. }) {
            told.send(()).unwrap();
        }
    };
    let dashboard = dashboard().critical_grace(2 * HOUR);
    let builder = builder().clock(Arc::new(clock.clone())).listener(dashboard.listener());
    let daily = || Schedule::fixed_rate("1d").initial_delay("1d").tags(["critical"]);
    let builder = builder.task("a", daily(), |_| {}).task("b", daily(), |_| {});
    let scheduler = builder.listener(listener).spawn().unwrap();
    let server = dashboard.serve(scheduler.tasks(), "127.0.0.1:0").unwrap();
    let served = Served { scheduler, server };
    let states = || {
        let tasks = &served.get("/readyz").json()["components"]["scheduler"]["details"];
        ["a", "b"].map(|name| tasks[name]["status"] == "UP")
    };
    assert_eq!(states(), [false, false]);
    clock.advance(3 * HOUR);
    served.task("a").pause().unwrap();
    served.task("a").resume().unwrap();
    changes.recv_timeout(LIMIT).unwrap();
    assert_eq!(states(), [true, false]);
    served.task("b").reschedule(Schedule::fixed_rate("1d").initial_delay("1d")).unwrap();
    changes.recv_timeout(LIMIT).unwrap();
    assert_eq!(states(), [true, true]);
    served.stop();
}

#[test]
fn a_grace_may_be_as_long_as_can_be() {
    let critical = hourly().tags(["critical"]);
    let served =
        serve(&dashboard().critical_grace(Duration::MAX), builder().task("a", critical, |_| {}));
    assert_eq!(served.get("/readyz").status, 200);
    served.stop();
}

#[test]
fn a_durable_task_may_run_elsewhere_and_is_late_when_it_has_failed_here() {
    let dashboard = dashboard().critical_grace(Duration::ZERO);
    let critical =
        |rate| Schedule::fixed_rate(rate).initial_delay(rate).durable().tags(["critical"]);
    let served = with_store(&dashboard, &Moody::new(), |builder| {
        builder.task("elsewhere", critical("1d"), |_| {})
    });
    assert_eq!(served.get("/readyz").status, 200);
    served.stop();
    let served = with_store(&dashboard, &Moody::new(), |builder| {
        builder.task("here", critical("100ms"), |_| Err::<(), _>("no"))
    });
    served.scheduler.wait_for("here", Until::failures(1), LIMIT).unwrap();
    assert_eq!(served.get("/readyz").status, 503);
    served.stop();
}

#[test]
fn readiness_follows_the_store_and_ends_with_the_stop() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    let ready = || {
        let answer = served.get("/readyz");
        let body = answer.json();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (answer.status, text(&body["status"]), text(&body["components"]["store"]["status"]))
    };
    let becomes = |status: u16, overall: &str| {
        let wanted = (status, overall.to_owned(), overall.to_owned());
        eventually(|| (ready() == wanted).then_some(()));
    };
    becomes(200, "UP");
    for mood in [Mood::IsAway, Mood::IsStuck, Mood::RefusesWrites, Mood::Fails] {
        store.set(mood);
        becomes(503, "DOWN");
        assert_eq!(served.get("/healthz").status, 200, "the process lives");
        store.set(Mood::Answers);
        becomes(200, "UP");
    }
    let (begun, begins) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let ends = std::sync::Mutex::new(ends);
    let tasks = served.scheduler.tasks();
    let added = tasks.add("slow", Schedule::once("0s"), move |_| {
        begun.send(()).unwrap();
        ends.lock().unwrap().recv().unwrap();
    });
    added.unwrap();
    begins.recv_timeout(LIMIT).unwrap();
    let Served { scheduler, server } = served;
    let address = server.address();
    std::thread::scope(|scope| {
        let stop = scope.spawn(move || scheduler.shutdown().unwrap());
        while !tasks.is_stopping() {
            std::thread::yield_now();
        }
        let request =
            format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        let answer = Answer::of(&exchange(address, request.as_bytes(), LIMIT));
        assert_eq!((answer.status, &answer.json()["status"]), (503, &"OUT_OF_SERVICE".into()));
        end.send(()).unwrap();
        stop.join().unwrap();
    });
    server.stop();
}

#[test]
fn a_store_that_was_not_up_yet_is_opening_and_one_that_was_is_down() {
    let (store, is_there) = (Moody::new(), Arc::new(AtomicBool::new(false)));
    let (opened, has_come) = (store.clone(), Arc::clone(&is_there));
    let open = move || has_come.load(Ordering::SeqCst).then(|| opened.clone()).ok_or("refused");
    let node = NodeOptions::default().renew_every(Duration::from_millis(50));
    let served = serve(&dashboard(), builder().tasks(tasks![mail]).store_later(open).node(node));
    let outage = || {
        let info = served.get("/api/v1/info").json();
        (info.get("storeFailure").is_some(), info["storeIsOpening"] == true)
    };
    assert_eq!(outage(), (true, true));
    assert_eq!(served.get("/readyz").status, 503);
    is_there.store(true, Ordering::SeqCst);
    eventually(|| (outage() == (false, false)).then_some(()));
    store.set(Mood::IsAway);
    eventually(|| (outage() == (true, false)).then_some(()));
    served.stop();
}
