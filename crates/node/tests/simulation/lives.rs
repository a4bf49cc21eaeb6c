//! Many lives.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::life::{Figures, live};

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
                    let figures = live(seed).unwrap_or_else(|fault| {
                        // The other threads end, too.
                        next.store(first + count, Ordering::Relaxed);
                        panic!(
                            "{}\nTEST_NODE_FIRST={seed} TEST_NODE_SEEDS=1 \
                             cargo test -p scheduler-node --test simulation lives",
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
