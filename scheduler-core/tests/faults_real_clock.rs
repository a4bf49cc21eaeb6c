//! Faults that only the clock of the system and of the processor shows.

mod kit;

use std::fs;
use std::time::Duration;

use kit::ms;
use kit::value_of;
use scheduler_core::Clock;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::SystemClock;

/// How long this thread has been on a processor.
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
