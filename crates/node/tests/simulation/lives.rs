//! Lives, and lives of nodes from which a rule was taken away.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::life::{Figures, live};
use scheduler_node::{Safeguard, Safeguards};

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn lives() {
    let first = number("TEST_NODE_FIRST", 0);
    let count = number("TEST_NODE_SEEDS", 1_000);
    let next = AtomicU64::new(first);
    let sum = std::sync::Mutex::new(Figures::default());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        break;
                    }
                    let figures = live(seed, Safeguards::default());
                    let figures = figures.unwrap_or_else(|fault| {
                        panic!(
                            "{}\nTEST_NODE_FIRST={seed} TEST_NODE_SEEDS=1 \
                             cargo test -p scheduler-node --features simulation --test simulation lives",
                            fault.what
                        )
                    });
                    let mut sum = sum.lock().expect("no panic");
                    sum.statements += figures.statements;
                    sum.runs += figures.runs;
                    sum.losses += figures.losses;
                    sum.lasted += figures.lasted;
                }
            });
        }
    });
    let sum = sum.into_inner().expect("no panic");
    println!("{count} lives: {sum:?}");
    assert!(count < 100 || (sum.losses > count / 10 && sum.runs > count * 10), "{sum:?}");
}

/// The checker notices that a rule is missing, within so many lives.
fn is_noticed(missing: Safeguard, within: u64) {
    let found =
        (0..within).find_map(|seed| Some((seed, live(seed, Safeguards::without(missing)).err()?)));
    let (seed, fault) = found.unwrap_or_else(|| panic!("nothing is wrong without {missing:?}"));
    println!("{missing:?}: seed {seed}: {}", fault.what);
}

macro_rules! noticed {
    ($($name:ident: $rule:ident within $within:literal;)*) => {
        $(#[test]
        fn $name() {
            is_noticed(Safeguard::$rule, $within);
        })*
    };
}

noticed! {
    r1_claims_with_an_unknown_answer_are_given_back: R1 within 2_000;
    r2_zombies_end: R2 within 2_000;
    r3_identities_come_first: R3 within 2_000;
    r4_an_end_is_sent_until_it_is_known: R4 within 2_000;
    r5_each_session_has_a_new_identity: R5 within 2_000;
    r6_fire_is_a_compare_and_set: R6 within 2_000;
    r7_a_stop_gives_back_what_has_not_begun: R7 within 2_000;
    r8_a_session_is_dead_by_two_clocks: R8 within 2_000;
    r12_one_tick_waits: R12 within 2_000;
    r13_a_retry_may_conflict: R13 within 4_000;
    r14_one_lost_job_at_a_time: R14 within 2_000;
    r15_a_process_registers_once: R15 within 2_000;
    r16_another_rule_is_not_fired: R16 within 2_000;
    r17_an_override_counts: R17 within 2_000;
    r18_ticks_in_a_pause_are_skipped: R18 within 2_000;
    r19_a_delay_counts_from_the_end: R19 within 2_000;
    r20_who_makes_no_progress_does_not_renew: R20 within 2_000;
    r21_a_claim_looks_at_the_pauses: R21 within 2_000;
    r22_what_is_paused_and_waits_goes_back: R22 within 6_000;
}
