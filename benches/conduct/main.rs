//! What a scheduled task costs beyond the bare engine, for a run that does nothing.
//!
//! `RUSTFLAGS="--cfg scheduler_bench" cargo bench -p benches --bench conduct`

#[cfg(scheduler_bench)]
mod ways;

#[cfg(scheduler_bench)]
fn main() {
    ways::main();
}

#[cfg(not(scheduler_bench))]
fn main() {
    println!(
        "nothing was measured: \
         RUSTFLAGS=\"--cfg scheduler_bench\" cargo bench -p benches --bench conduct"
    );
}
