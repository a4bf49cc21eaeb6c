//! Limits of messages: of one task of each kind, and of all tasks.

use scheduler::testing::*;
use scheduler::{Attribute, Schedule};

fn sim() -> Sim {
    Sim::at("2026-01-01T00:00:00Z").pool_size(2)
}

/// The number of messages that contain some words.
fn count(sim: &Sim, words: &str) -> usize {
    sim.messages().iter().filter(|text| text.contains(words)).count()
}

#[test]
fn a_timeout_of_every_run_is_warned_of_once_a_minute() {
    let rule = Schedule::fixed_rate("1s").set(Attribute::Timeout, "100ms");
    let mut sim = sim().define("x", rule, |_| {});
    sim.takes("x", millis(500));
    sim.advance(minutes(10));
    assert!(sim.starts("x").len() >= 600);
    let warned: Vec<String> = sim
        .messages()
        .into_iter()
        .filter(|text| text.contains("longer than its `timeout`"))
        .collect();
    assert_eq!(warned.len(), 10, "{warned:#?}");
    assert!(!warned[0].contains("times within"), "{}", warned[0]);
    assert!(warned[1].ends_with("\n      60 times within 1m"), "{}", warned[1]);
}

#[test]
fn repeated_messages_of_a_program_are_summed_up() {
    let mut sim = sim().define("x", Schedule::fixed_rate("1h"), |_| {});
    for _ in 0..600 {
        sim.pause("x");
        sim.resume("x");
        sim.control("x").reschedule(Schedule::fixed_rate("1h")).unwrap();
        sim.advance(secs(1));
    }
    for words in ["`x`: paused", "`x`: resumed", "`x`: rescheduled: every 1h"] {
        let told = count(&sim, words);
        assert!((11..=20).contains(&told), "{words}: {told}");
    }
    assert!(count(&sim, "60 times within 1m") >= 3, "{:#?}", sim.messages());
}

/// Its number is in hexadecimal, so that no digits can be left out to see that it is the same error.
#[test]
fn an_error_with_another_text_each_time_is_summed_up() {
    let mut sim = sim().define("x", Schedule::fixed_rate("1s"), |_| {});
    let letter = |number: u32| char::from_u32(u32::from('a') + number % 26).unwrap();
    for number in 0..600 {
        sim.fail_next("x", format!("no {}{}", letter(number / 26), letter(number)));
    }
    sim.advance(secs(599));
    assert_eq!(sim.outcomes("x").len(), 600);
    let told = count(&sim, "failed after") + count(&sim, "times within");
    assert!((18..150).contains(&told), "{told} of 600 failures are told");
    assert!(count(&sim, ", the last: no ") >= 3, "{:#?}", sim.messages());
    let text = sim.messages().join("\n");
    assert!(text.contains("from now on other errors are summed up once a minute"), "{text}");
}

#[test]
fn many_tasks_that_fail_at_once_are_counted() {
    let mut sim = sim();
    for number in 0..1_200 {
        let rule = Schedule::fixed_rate("20s");
        sim = sim.define(&format!("t{number}"), rule, |_| Err::<(), _>("down"));
    }
    sim.advance(secs(59));
    assert_eq!(count(&sim, "failed after"), 1_000);
    assert_eq!(count(&sim, "further messages"), 0, "not within the minute");
    sim.advance(secs(1));
    let hidden: Vec<String> =
        sim.messages().into_iter().filter(|text| text.contains("further messages")).collect();
    let [hidden] = hidden.as_slice() else { panic!("{hidden:#?}") };
    let head = "WARN  2600 further messages not printed, the last at ";
    assert!(hidden.starts_with(head), "{hidden}");
    let _ = sim.shutdown();
    let said = sim.messages();
    let last: Vec<&str> = said.iter().rev().take(3).map(|text| &text[..20]).collect();
    assert_eq!(last, ["INFO  stopped after ", "INFO  stopping: no n", "WARN  200 further me"]);
}

#[test]
fn tasks_that_are_added_and_removed_without_end_are_counted() {
    let mut sim = sim().define("x", Schedule::fixed_rate("1h"), |_| {});
    sim.advance(secs(1));
    let tasks = sim.running_tasks();
    for number in 0..3_000 {
        let name = format!("t{number}");
        tasks.add(&name, Schedule::fixed_rate("1h").initial_delay("1h"), |_| {}).unwrap();
        tasks.remove(&name).unwrap();
    }
    let told = sim.messages().len();
    assert!(told <= 1_002, "{told} messages");
}
