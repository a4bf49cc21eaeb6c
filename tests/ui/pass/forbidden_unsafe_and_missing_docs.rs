//! Generated code is neither unsafe nor public.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused)]
#![deny(unused_qualifications, unused_results, unused_lifetimes, let_underscore_drop)]
#![deny(rust_2018_idioms, future_incompatible, nonstandard_style)]

use scheduler::scheduled;

#[scheduled(fixed_rate = "1s")]
fn plain() {}

/// Documented.
#[scheduled(cron = "@daily", zone = "America/New_York")]
pub async fn documented() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Ok(())
}

fn main() {
    assert_eq!(scheduler::__private::entries().len(), 2);
}
