//! Faults on the system's clock and the processor's, as Linux has them.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::kit::{Pending, capped, is_in_own_process, ms, value_of};
use chrono::{DateTime, TimeZone, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_core::{Clock, ScheduledThreadPool, SystemClock};
use scheduler_expr::CronExpression;

/// The processor time of a brief answer: as the rows say, and more in a build that is not optimized. Work that
/// has no bound, or one that grows faster than its input, takes minutes.
const BRIEFLY: Duration = ms(if cfg!(debug_assertions) { 2_000 } else { 10 });

/// The processor time of this thread.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux system");
    let nanos = text.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds come first"))
}

#[test]
fn f_ex4_a_wait_for_a_task_that_cannot_start_takes_its_limit_and_no_processor() {
    let pool = ScheduledThreadPool::new(1);
    let inside = pool.clone();
    let a = pool.submit(move || {
        let clock = SystemClock::new();
        let b = inside.submit(|| "b").unwrap();
        let (before, used_before) = (clock.now(), processor_time());
        let waited = b.wait_for(ms(200));
        let (took, used) = (clock.now().since(before), processor_time() - used_before);
        (waited, took, used, b)
    });
    let (waited, took, used, b) = value_of(&a.unwrap());
    assert!(waited.unwrap_err().is_timeout());
    assert!(took >= ms(200), "not before the limit: {took:?}");
    assert!(used < ms(20), "it rests meanwhile: {used:?}");
    assert_eq!(value_of(&b), "b");
}

/// The number of KiB on a line of what the system says of this process.
fn kib(key: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = text.lines().find_map(|line| line.strip_prefix(key)).expect(key);
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect(key)
}

/// Makes a call; returns its result, its processor time, and the growth of the memory in use, in KiB.
fn measured<T>(call: impl FnOnce() -> T) -> (T, Duration, u64) {
    // Lets the highest use begin anew at the present one.
    fs::write("/proc/self/clear_refs", "5").expect("it is our own");
    let (memory, before) = (kib("VmRSS:"), processor_time());
    let answer = call();
    (answer, processor_time() - before, kib("VmHWM:").saturating_sub(memory))
}

#[test]
fn f_cr1_bombs_are_answered_briefly_and_in_little_memory() {
    if !is_in_own_process(f_cr1_bombs_are_answered_briefly_and_in_little_memory) {
        return;
    }
    let texts = [
        "9".repeat(1 << 20),
        "*".repeat(1 << 20),
        " ".repeat(1 << 20),
        "0 ".repeat(1 << 19),
        format!("{} 0 0 * * *", ",".repeat(100_000)),
        format!("{} 0 0 * * *", vec!["1"; 100_000].join(",")),
        format!("0 0 0 * * {}", "MON,".repeat(1 << 18)),
        format!("0 0 0 * * {}MON", "MON,".repeat(1 << 18)),
        // As long as a text may be.
        format!("0 0 0 * * {}MON", "MON,".repeat((1 << 14) - 4)),
        format!("{}1 0 0 * * *", "1,".repeat((1 << 15) - 10)),
        format!("0 0 0 * * {}L", "\u{301}".repeat(1 << 19)),
        format!("@{}", "\0".repeat(1 << 20)),
        format!("0 0 0 {}-1 * *", "0".repeat(1 << 20)),
    ];
    for text in texts {
        let start: String = text.chars().take(20).collect();
        let answer = || text.parse::<CronExpression>().map_err(|error| error.to_string());
        let (_, took, grown) = measured(answer);
        assert!(took < BRIEFLY, "{start:?}: {took:?}");
        // Of a short text the memory of a process says nothing: what allocators keep is more.
        let most = (16 * text.len().max(1 << 20) as u64) >> 10;
        assert!(grown <= most, "{start:?}: {grown} KiB for {} bytes", text.len());
    }
}

#[test]
fn f_cr2_what_fires_never_or_rarely_is_answered_briefly() {
    let berlin: Zone = "Europe/Berlin".parse().unwrap();
    let years = [1, 2026, 9999].map(|year| Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).unwrap());
    let from = years.into_iter().chain([DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC]);
    for from in from {
        for expression in ["0 0 0 30 2 *", "0 0 0 29 2 MON#5", "0 0 0 ? * MON#6"] {
            for zone in [Zone::UTC, berlin] {
                let trigger = CronTrigger::new(expression.parse().unwrap(), zone);
                let before = processor_time();
                let next = trigger.next_after(from);
                let took = processor_time() - before;
                assert!(took < BRIEFLY, "{expression} from {from}: {next:?} in {took:?}");
            }
        }
    }
}

/// A pipe in the file system, which is gone when this is dropped.
struct Pipe(std::path::PathBuf);

impl Pipe {
    fn new() -> Self {
        let name = format!("zone-{}", std::process::id());
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        assert!(Command::new("mkfifo").arg(&path).status().expect("`mkfifo` runs").success());
        Self(path)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

#[test]
fn f_cr2_no_file_that_a_zone_names_is_opened() {
    let pipe = Pipe::new();
    let path = pipe.0.clone();
    // A thread that opens a pipe to write waits until a reader opens it.
    let opened = Pending::start(move || fs::OpenOptions::new().write(true).open(path).map(drop));
    let up = "../".repeat(40);
    let absolute = pipe.0.to_str().expect("a text").to_owned();
    for name in [format!("{up}{absolute}"), format!(":{absolute}"), absolute.clone()] {
        let asked = name.clone();
        capped(move || asked.parse::<Zone>().map(drop)).expect_err(&name);
    }
    assert!(opened.is_blocked(), "a client has opened {absolute}");
    drop(fs::File::open(&pipe.0).unwrap());
    opened.join().unwrap();

    // No name is looked for in any file, be it one of the zone database.
    let calls = || {
        let text = fs::read_to_string("/proc/thread-self/io").expect("a Linux system");
        let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("it is told");
        line.parse::<u64>().expect("a number")
    };
    let long = "A".repeat(10 << 10);
    let names =
        ["", "../../etc/passwd", "Europe/Berlin\0", "europe/berlin", "UTC+25", &long, "Asia/Tokyo"];
    let own = {
        let before = calls();
        calls() - before
    };
    for name in names {
        let before = calls();
        drop(name.parse::<Zone>());
        let read = calls() - before;
        assert!(read <= own + 64, "{name:?}: {read} bytes are read, {own} of them by this test");
    }
}
