//! Every policy, alone and where two meet, on a virtual clock: the table of the documentation.
//!
//! # What this room is for
//!
//! The table in the essay of `conduct` and the page `docs/policies.md` say what happens; each line of
//! theirs is held by a case here. `histories` checks what must hold whatever happens to one task,
//! `simulation` whatever happens to several, for years.
//!
//! # How to read a log
//!
//! A log reads `start 1.5 (1)`: a run started 1.5 s after the beginning, for the fire time of second 1.
//! `overlap 3 x2`: two fire times were skipped, the later of them that of second 3.

mod attempts;
mod clocks;
mod contained;
mod histories;
mod letting_go;
mod limits;
mod many_missed;
mod operations;
mod overlap_misfire;
mod pauses;
mod replaced;
mod shown;
mod simulation;
mod stage;
mod started;
mod told_next;
mod waiting_beside;
mod watchers;
#[test]
fn zz_sizes() {
    use std::mem::size_of;
    eprintln!(
        "Conductor {} State {} Judge {} Timetable {} FireTimes {} History {} Wishes {} Rule {} Policy {} TaskFacts {} Course {} Planned {} Run {} Cron {}",
        size_of::<super::Conductor>(),
        size_of::<super::state::State>(),
        size_of::<super::judge::Judge>(),
        size_of::<super::timetable::Timetable>(),
        size_of::<scheduler_core::trigger::FireTimes>(),
        size_of::<crate::observe::History>(),
        size_of::<super::state::Wishes>(),
        size_of::<super::Rule>(),
        size_of::<super::Policy>(),
        size_of::<crate::observe::TaskFacts>(),
        0,
        size_of::<crate::registrar::Planned>(),
        size_of::<crate::run::Run>(),
        size_of::<scheduler_core::trigger::CronTrigger>()
    );
}
