//! Faults that end or stop a process (F-EX5, F-TI4), in children.
//!
//! The children are tests of this file that are ignored unless they are asked for.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::kit::{Journal, Pending, capped, command_for, ms};
use scheduler_core::{Clock, Error, ScheduledThreadPool, SystemClock, Tick};

const SIGABRT: i32 = 6;

fn child<T: Fn()>(test: T) -> Command {
    let mut command = command_for(test);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Uses at least this much stack.
fn recurse(left: usize) -> usize {
    let page = std::hint::black_box([1_u8; 4096]);
    if left <= page.len() { 1 } else { 1 + recurse(left - page.len()) + usize::from(page[0]) }
}

fn overflow(stack: usize) -> Result<usize, Error> {
    let builder = ScheduledThreadPool::builder().core_size(1).stack_size(stack);
    let pool = builder.thread_name_prefix("deep-").build()?;
    pool.submit(|| recurse(1 << 20))?.wait()
}

#[test]
#[ignore = "a child of f_ex5: it overflows its stack"]
fn child_overflows() {
    let depth = overflow(256 << 10);
    println!("survived: {depth:?}");
}

#[test]
fn f_ex5_a_stack_overflow_ends_the_process_and_names_the_thread() {
    let output = capped(|| child(child_overflows).output().expect("the child starts"));
    assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("thread 'deep-1'") && words.contains("overflowed its stack"), "{words}");
    assert!(overflow(8 << 20).unwrap() >= 256);
}

const PERIOD: Duration = ms(100);
const RUNS: u32 = 60;
/// The duration of a run: long enough that runs of one task would overlap if missed ones started at once.
const TAKES: Duration = ms(5);
/// No multiple of the period, so that a grid that begins anew when the process goes on is another one.
const STOPPED: Duration = ms(3_050);

/// Runs three tasks until the fixed rate has had 60 fire times, and prints when each run began and ended.
#[test]
#[ignore = "a child of f_ti4: it is stopped for three seconds"]
fn child_is_stopped() {
    let clock = SystemClock::new();
    let pool = ScheduledThreadPool::new(4);
    let journals: [Journal<[Duration; 2]>; 3] = std::array::from_fn(|_| Journal::new());
    let [rate, delay, once] = journals.clone().map(|journal| {
        move || {
            let begun = clock.now();
            while clock.now() < begun + TAKES {
                std::thread::yield_now();
            }
            journal.note([begun, clock.now()].map(|tick| tick.since(Tick::ZERO)));
        }
    });
    let begun = clock.now().since(Tick::ZERO);
    let _rate = pool.schedule_at_fixed_rate(Duration::ZERO, PERIOD, rate).unwrap();
    let _delay = pool.schedule_with_fixed_delay(Duration::ZERO, PERIOD, delay).unwrap();
    let _once = pool.schedule(ms(1_000), once).unwrap();
    journals[0].await_len(2);
    // The name of the test is on the line already.
    println!("\nready {}", begun.as_micros());
    journals[0].await_len(RUNS as usize);
    for (name, journal) in ["rate", "delay", "once"].into_iter().zip(journals) {
        let times: Vec<String> =
            journal.entries().as_flattened().iter().map(|at| at.as_micros().to_string()).collect();
        println!("{name} {}", times.join(" "));
    }
}

fn kill(child: &Child, signal: &str) {
    let status = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
    assert!(status.expect("`kill` runs").success());
}

/// The numbers after a word, on the line that begins with it.
fn numbers(lines: &[String], word: &str) -> Vec<Duration> {
    let line = lines.iter().find_map(|line| line.strip_prefix(word));
    let words = line.unwrap_or_else(|| panic!("no `{word}` in {lines:?}")).split_whitespace();
    words.map(|number| Duration::from_micros(number.parse().expect("a number"))).collect()
}

#[test]
fn f_ti4_a_process_that_is_stopped_makes_up_for_what_it_missed() {
    let mut child = child(child_is_stopped).spawn().expect("the child starts");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.starts_with("ready")) {
        lines.push(output.next().expect("it says that it is ready").unwrap());
    }
    kill(&child, "STOP");
    let (_nobody, never) = mpsc::channel::<()>();
    assert!(never.recv_timeout(STOPPED).is_err(), "three seconds pass");
    kill(&child, "CONT");
    let rest = Pending::start(move || output.map(Result::unwrap).collect::<Vec<_>>()).join();
    assert!(child.wait().unwrap().success());
    lines.extend(rest);

    let begun = numbers(&lines, "ready")[0];
    let (rate, delay) = (runs(&lines, "rate"), runs(&lines, "delay"));
    let awake = check_rate(&rate[..RUNS as usize], begun);
    let gaps = delay.windows(2).map(|pair| pair[1][0].checked_sub(pair[0][1]));
    assert!(gaps.into_iter().all(|gap| gap.is_some_and(|gap| gap >= PERIOD)), "{delay:?}");
    assert!(delay.len() < RUNS as usize, "a delay makes up for nothing: {delay:?}");
    assert!(delay.iter().filter(|[start, _]| *start >= awake).count() > 5, "{delay:?}");
    let once = runs(&lines, "once");
    assert_eq!(once.len(), 1);
    let promptly = begun + ms(1_000)..awake + ms(2_000);
    assert!(promptly.contains(&once[0][0]), "{:?} is not in {promptly:?}", once[0][0]);
}

/// When each run began and ended.
fn runs(lines: &[String], word: &str) -> Vec<[Duration; 2]> {
    numbers(lines, word).as_chunks().0.to_vec()
}

/// Holds that a fixed rate made up for what it missed, and says when it went on.
fn check_rate(rate: &[[Duration; 2]], begun: Duration) -> Duration {
    for pair in rate.windows(2) {
        assert!(pair[0][1] <= pair[1][0], "two runs overlap: {pair:?}");
    }
    let late: Vec<Duration> = rate
        .iter()
        .zip((0..).map(|n| begun + PERIOD * n))
        .map(|([start, _], fire)| start.checked_sub(fire).expect("no run is early"))
        .collect();
    let last_before = (1..rate.len()).max_by_key(|n| rate[*n][0] - rate[n - 1][0]).unwrap() - 1;
    assert!(
        rate[last_before + 1][0] - rate[last_before][0] > ms(2_000),
        "it was stopped: {rate:?}"
    );
    // Back to back: missed runs start one run apart, not one period.
    let missed = &rate[last_before + 1..last_before + 26];
    let mut gaps: Vec<Duration> = missed.windows(2).map(|pair| pair[1][0] - pair[0][0]).collect();
    gaps.sort();
    assert!(gaps[gaps.len() / 2] < PERIOD / 2, "{gaps:?}");
    // The best of many, since any of them may meet a slow moment of the machine.
    let best = late[rate.len() - 20..].iter().min().unwrap();
    assert!(*best < ms(25), "it is not back on its grid: {late:?}");
    rate[last_before + 1][0]
}
