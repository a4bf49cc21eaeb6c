//! The words a person writes: cron expressions and durations.
