//! The dry run of a program, which opens no store.

/// Returns true if `SCHEDULER_DRY_RUN` asks for a dry run. A store then neither connects nor writes when it is opened.
#[must_use]
pub fn is_dry_run() -> bool {
    let asked = std::env::var("SCHEDULER_DRY_RUN").unwrap_or_default();
    matches!(asked.trim(), "1") || asked.trim().eq_ignore_ascii_case("true")
}
