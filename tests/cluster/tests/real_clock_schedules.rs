//! Durable schedules in real processes, a test for each row of the contract.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::{
    Lab, Process, Run, by_tick, eventually, is_full, length, overlapping, pass, runs, second_of,
    wall_at,
};

use scheduler_store::StoreTime;

use crate::NODE;
use crate::support::{
    LIMIT, assert_each_second_once, assert_lease_is_kept, await_runs, each_second, schedule,
};

#[test]
fn d1_each_tick_runs_once_in_three_processes() {
    let Some(lab) = Lab::new(NODE) else { return };
    let start = |label| lab.process(label).with("schedule", each_second("tick", "")).start();
    let mut all = ["a", "b", "c"].map(start);
    let before = schedule(&lab, "tick");
    pass(length(60, 6));
    await_runs(&[&all[0], &all[1], &all[2]], 5);
    let of_all = runs(&[&all[0], &all[1], &all[2]]);
    let last = of_all.iter().max_by_key(|run| run.tick).expect("it ran").process.clone();
    let stopping = all.iter().position(|process| process.label() == last).expect("it is one");
    assert!(all[stopping].stop(LIMIT).success());
    let count = runs(&[&all[0], &all[1], &all[2]]).len();
    await_runs(&[&all[0], &all[1], &all[2]], count + 2);
    assert_each_second_once(&lab, &before, &all.each_ref());
}

/// A figure, not a limit: the machine decides how soon a process gets a processor.
#[test]
#[ignore = "a measurement: `ci/durable.sh ticks`"]
fn ticks_start_soon_in_four_processes() {
    let Some(lab) = Lab::new(NODE) else { return };
    let seconds = std::env::var("TEST_TICK_SECONDS").ok();
    let seconds = seconds.map_or(60, |text| text.parse().expect("a number of seconds"));
    let start = |label| {
        let process = lab.process(label).with("schedule", each_second("tick", ""));
        // The defaults of the library.
        process.with("lease", "15000").with("renew", "5000").with("poll", "1000").start()
    };
    let all = ["a", "b", "c", "d"].map(start);
    let all: Vec<&Process> = all.iter().collect();
    await_runs(&all, 5);
    let (before, count) = (schedule(&lab, "tick"), runs(&all).len());
    pass(Duration::from_secs(seconds));
    let mut of_all = runs(&all);
    assert_each_second_once(&lab, &before, &all);
    of_all.sort_by_key(|run| run.tick);
    let mut late: Vec<i64> =
        of_all[count..].iter().map(|run| wall_at(run.began) - run.tick).collect();
    late.sort_unstable();
    let at = |percent: usize| late[(late.len() - 1) * percent / 100];
    println!(
        "{} ticks, each once; from the tick to the start p50 {} µs, p99 {} µs, at most {} µs",
        late.len(),
        at(50),
        at(99),
        at(100)
    );
}

/// The library that gives a process a wrong wall clock, where it is installed.
fn fake_time() -> Option<String> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    let library = folders.map(|folder| folder.join("faketime/libfaketime.so.1"));
    library.filter(|path| path.exists()).map(|path| path.display().to_string()).next()
}

#[test]
fn d2_wall_clocks_that_disagree() {
    let Some(lab) = Lab::new(NODE).filter(|_| Lab::is_postgres()) else {
        eprintln!("SKIPPED: on one machine SQLite has one clock; run it with PostgreSQL");
        return;
    };
    let Some(library) = fake_time() else {
        eprintln!("SKIPPED: the Debian package `faketime` is not installed");
        return;
    };
    let start = |label: &str, offset: &str| {
        let process = lab.process(label).with("schedule", each_second("tick", ""));
        let process = process.variable("LD_PRELOAD", &library).variable("FAKETIME", offset);
        process.variable("FAKETIME_DONT_FAKE_MONOTONIC", "1").start()
    };
    let all = [start("slow", "-180s"), start("right", "+0s"), start("fast", "+180s")];
    let all: Vec<&Process> = all.iter().collect();
    let before = schedule(&lab, "tick");
    await_runs(&all, if is_full() { 40 } else { 6 });
    assert_each_second_once(&lab, &before, &all);
    for run in &runs(&all) {
        // The server and this process share a clock that is right.
        let late = wall_at(run.began) - run.tick;
        assert!(late > -100_000, "{late} µs after its tick: {run:?}");
    }
}

#[test]
fn d3_a_fixed_delay_holds_for_all_processes() {
    let Some(lab) = Lab::new(NODE) else { return };
    let start = |label| lab.process(label).with("schedule", "name=sweep;delay=1s;ms=300").start();
    let all = ["a", "b", "c", "d"].map(start);
    let all: Vec<&Process> = all.iter().collect();
    await_runs(&all, if is_full() { 20 } else { 5 });
    let mut of_all = runs(&all);
    of_all.sort_by_key(|run| run.began);
    for pair in of_all.windows(2) {
        let (end, _) = pair[0].end.expect("it ended before the next began");
        let gap = pair[1].began - end;
        assert!(gap >= 990_000, "{gap} µs between {pair:?}");
    }
}

#[test]
fn d4_a_body_longer_than_the_lease_keeps_its_schedule() {
    assert_lease_is_kept([4_500, 18_000, 60_000], |lease| {
        let Some(lab) = Lab::new(NODE) else { return true };
        let body = format!(";ms={};busy=1", lease + 500);
        let start = |label| {
            let process = lab.process(label).with("lease", lease).with("renew", lease / 8);
            process.with("schedule", each_second("long", &body)).with("threads", 2).start()
        };
        let all = ["a", "b"].map(start);
        let all: Vec<&Process> = all.iter().collect();
        let skips = || all.iter().flat_map(|process| process.notes("skipped"));
        eventually(LIMIT, "two runs end, and ticks meanwhile are skipped", || {
            let ended = runs(&all).iter().filter(|run| run.end.is_some()).count();
            let is_skipped = skips().any(|(_, text)| text.starts_with("long:overlap:"));
            (ended >= 2 && is_skipped).then_some(())
        });
        if all.iter().any(|process| !process.notes("session_lost").is_empty()) {
            return false;
        }
        let of_all = runs(&all);
        assert_eq!(overlapping(&of_all), None);
        assert!(of_all.iter().all(|run| run.attempt == 1), "none is lost: {of_all:?}");
        true
    });
}

#[test]
fn d5_the_schedule_of_a_killed_process_goes_on_elsewhere() {
    let Some(lab) = Lab::new(NODE) else { return };
    let start = |label| {
        let process = lab.process_with_short_lease(label);
        process.with("schedule", each_second("held", ";ms=60000")).start()
    };
    let mut all = ["a", "b"].map(start);
    let first = eventually(LIMIT, "a run begins", || runs(&[&all[0], &all[1]]).first().cloned());
    let holder = all.iter().position(|process| process.label() == first.process).expect("one");
    all[holder].kill();
    let other = &all[1 - holder];
    let next = eventually(LIMIT, "the other runs", || other.runs().first().cloned());
    // The lost job itself runs again, since a schedule reruns what it has lost; with a greater fence, after the lease.
    assert!(next.fence > first.fence, "{first:?} {next:?}");
    let sessions = lab.open().sessions().expect("the store answers").into_iter();
    let lost = sessions.filter(|session| session.ended.as_ref().is_some_and(|end| end.is_lost));
    let opened = lost.map(|session| session.opened_at.as_micros()).min();
    let opened = opened.expect("the store keeps a session that was lost");
    assert!(wall_at(next.began) - opened >= 2_000_000, "the lease was respected: {next:?}");
    assert!(!other.notes("job_lost").is_empty(), "the loss is reported");
}

#[test]
fn d5_a_tick_that_runs_at_most_once_is_not_run_again() {
    let Some(lab) = Lab::new(NODE) else { return };
    let body = each_second("held", ";ms=60000;on_lost=abandon;misfire=skip");
    let start = |label| lab.process_with_short_lease(label).with("schedule", &body).start();
    let mut all = ["a", "b"].map(start);
    let first = eventually(LIMIT, "a run begins", || runs(&[&all[0], &all[1]]).first().cloned());
    let holder = all.iter().position(|process| process.label() == first.process).expect("one");
    all[holder].kill();
    let other = &all[1 - holder];
    let next = eventually(LIMIT, "the other runs", || other.runs().first().cloned());
    assert!(next.tick > first.tick && next.fence > first.fence, "{first:?} {next:?}");
    assert!(!other.notes("job_lost").is_empty(), "the loss is reported");
    let parked = lab.jobs(scheduler_store::JobState::Parked);
    assert!(parked[0].error.as_ref().expect("a reason").starts_with("lost"), "{parked:?}");
}

#[test]
fn d6_a_frozen_process_loses_its_job_and_goes_on_under_a_new_session() {
    let Some(lab) = Lab::new(NODE) else { return };
    let register = lab.folder().join("register");
    let start = |label| {
        let process = lab.process_with_short_lease(label).with("register", register.display());
        process.with("schedule", each_second("held", ";ms=15000")).start()
    };
    let all = ["a", "b"].map(start);
    let first = eventually(LIMIT, "a run begins", || runs(&[&all[0], &all[1]]).first().cloned());
    let holder = all.iter().position(|process| process.label() == first.process).expect("one");
    let (frozen, other) = (&all[holder], &all[1 - holder]);
    lab.freeze(frozen);
    let taken = eventually(LIMIT, "the other takes over", || other.runs().first().cloned());
    assert!(taken.fence > first.fence);
    eventually(LIMIT, "it writes", || other.notes("written").first().cloned());
    let resumed_at = cluster::boot_micros();
    frozen.resume();
    eventually(LIMIT, "it sees that it is lost", || frozen.notes("session_lost").first().cloned());
    let session = |process: &Process| process.notes("session_opened").len();
    eventually(LIMIT, "it has a new session", || (session(frozen) >= 2).then_some(()));
    // It may have been frozen between a write and the note of it.
    let late = frozen.notes("written").into_iter().filter(|(at, _)| *at > resumed_at);
    assert!(late.count() <= 1, "the register takes no old fence");
    assert!(other.runs().iter().all(|run| run.attempt >= 1));
}

#[test]
fn d16_ticks_missed_while_no_process_ran() {
    let Some(lab) = Lab::new(NODE) else { return };
    let schedules = [
        each_second("skips", ";misfire=skip"),
        each_second("once", ";misfire=run_once"),
        each_second("all", ";misfire=catch_up"),
        each_second("some", ";misfire=catch_up;window=2s"),
    ];
    let start = |label| {
        schedules
            .iter()
            .fold(lab.process(label), |process, text| process.with("schedule", text))
            .start()
    };
    let mut first = start("a");
    let names = ["skips", "once", "all", "some"];
    eventually(LIMIT, "each has run", || {
        names.iter().all(|name| !by_tick(&first.runs(), name).is_empty()).then_some(())
    });
    assert!(first.stop(LIMIT).success());
    let before: BTreeMap<_, _> = names.map(|name| (name, schedule(&lab, name))).into();
    let outage = length(10, 5);
    pass(outage);
    let restart = second_of(wall_at(cluster::boot_micros()));
    let second = start("b");
    // The stop may have given back the job of the last tick.
    let after = |task: &str| -> Vec<Run> {
        let last = before[task].last_fired.map_or(0, StoreTime::as_micros);
        let ticks = by_tick(&second.runs(), task).split_off(&(last + 1));
        ticks.into_values().map(|runs| runs[0].clone()).collect()
    };
    eventually(LIMIT, "all run again", || {
        names.iter().all(|task| after(task).len() >= 3).then_some(())
    });
    let first_after = |task: &str| after(task)[0].clone();
    let lag =
        |task: &str| second_of(first_after(task).tick) - second_of(before[task].cursor.as_micros());
    let missed = i64::try_from(outage.as_secs()).expect("short");
    assert!(lag("skips") >= missed, "nothing is caught up: {}", lag("skips"));
    assert!(lag("once") >= missed, "the latest one runs");
    let once = first_after("once").missed;
    assert!(once + 2 >= outage.as_secs(), "it sees how many were missed: {once}");
    assert_eq!(lag("all"), 1, "the first missed one runs first");
    // A later tick may come during a run that takes long on a busy machine, and is skipped as an overlap.
    let caught_up = || {
        let ticks = after("all").into_iter().map(|run| second_of(run.tick));
        ticks.filter(|tick| *tick < restart).collect::<Vec<_>>()
    };
    let ticks = eventually(LIMIT, "all missed ticks run", || {
        Some(caught_up()).filter(|ticks| ticks.len() + 1 >= outage.as_secs() as usize)
    });
    assert!(ticks.windows(2).all(|pair| pair[1] == pair[0] + 1), "each, in order: {ticks:?}");
    let some = first_after("some");
    assert!(second_of(some.tick) + 3 >= restart, "only the young ones: {some:?}");
    let age = wall_at(some.began) - some.tick;
    assert!(age >= 1_000_000, "one that was missed: {age} µs");
}

#[test]
fn d17_overlap_in_all_processes() {
    let Some(lab) = Lab::new(NODE) else { return };
    let schedules = [
        each_second("skips", ";overlap=skip;ms=2500"),
        each_second("queues", ";overlap=queue_one;ms=2500"),
        each_second("allows", ";overlap=allow;ms=2500"),
    ];
    let start = |label| {
        let process = lab.process(label).with("threads", 8);
        schedules.iter().fold(process, |process, text| process.with("schedule", text)).start()
    };
    let all = ["a", "b"].map(start);
    let all: Vec<&Process> = all.iter().collect();
    let before = schedule(&lab, "allows");
    pass(length(20, 9));
    let of = |task: &str| -> Vec<Run> {
        runs(&all).into_iter().filter(|run| run.task == task).collect()
    };
    eventually(LIMIT, "runs are beside each other", || overlapping(&of("allows")));
    let counted = |name: &str| schedule(&lab, name).skips.overlap;
    eventually(LIMIT, "overlaps are skipped", || {
        (counted("skips") > 0 && counted("queues") > 0).then_some(())
    });
    assert_eq!(overlapping(&of("skips")), None);
    assert_eq!(overlapping(&of("queues")), None);
    assert_eq!(counted("allows"), 0);
    assert_each_second_once(&lab, &before, &all);
}

#[test]
fn d18_eight_processes_start_at_once_on_an_empty_store() {
    for _ in 0..if is_full() { 20 } else { 3 } {
        let Some(lab) = Lab::new(NODE) else { return };
        let names = ["one", "two", "three", "four", "five"];
        let start = |number: usize| {
            let process = lab.process(&format!("p{number}"));
            names
                .iter()
                .fold(process, |process, name| process.with("schedule", each_second(name, "")))
                .start()
        };
        let mut all: Vec<Process> = (0..8).map(start).collect();
        eventually(LIMIT, "each schedule has run twice", || {
            let of_all = runs(&all.iter().collect::<Vec<_>>());
            names.iter().all(|name| by_tick(&of_all, name).len() >= 2).then_some(())
        });
        assert!(all.iter_mut().all(|process| process.status().is_none()), "all run");
        assert_eq!(lab.open().schedules().expect("the store answers").len(), 5);
        let of_all = runs(&all.iter().collect::<Vec<_>>());
        for name in names {
            assert!(by_tick(&of_all, name).values().all(|runs| runs.len() == 1), "{name}");
        }
    }
}

#[test]
fn d19_a_deploy_changes_a_schedule() {
    let Some(lab) = Lab::new(NODE) else { return };
    let start = |label: &str, cron: &str| {
        lab.process(label).with("schedule", format!("name=shift;cron={cron}")).start()
    };
    let (old, new) = ("0/4 * * * * *", "2/4 * * * * *");
    let mut first = [start("a1", old), start("b1", old)];
    await_runs(&[&first[0], &first[1]], 2);
    let second = start("a2", new);
    let registered = eventually(LIMIT, "the new build has opened", || {
        second.notes("schedule_registered").first().cloned()
    });
    await_runs(&[&second, &first[0], &first[1]], 4);
    eventually(LIMIT, "the new seconds run", || {
        let of_all = runs(&[&first[0], &first[1], &second]);
        let new = of_all.iter().filter(|run| second_of(run.tick) % 4 == 2);
        (new.count() >= 2).then_some(())
    });
    let of_all = runs(&[&first[0], &first[1], &second]);
    // A run of an older tick may begin later.
    let registered = wall_at(registered.0);
    let late_old: Vec<&Run> =
        of_all.iter().filter(|run| second_of(run.tick) % 4 == 0 && run.tick > registered).collect();
    assert!(late_old.is_empty(), "{late_old:?}");
    assert!(by_tick(&of_all, "shift").values().all(|runs| runs.len() == 1));
    assert!(first[0].stop(LIMIT).success());
    drop(second);
    let rollback = start("c1", old);
    eventually(LIMIT, "the old seconds come back", || {
        let of_all = runs(&[&rollback, &first[1]]);
        let mut back = of_all.iter().filter(|run| run.tick > registered);
        back.any(|run| second_of(run.tick) % 4 == 0).then_some(())
    });
}
