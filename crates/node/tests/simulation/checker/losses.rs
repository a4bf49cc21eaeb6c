//! Failures use up a job's attempts, losses in a row park it.

use scheduler_store::{End, Finish, JobId, JobState, Model, OnLost, Store, StoredJob};

use super::facts::{Checker, short};

/// After so many losses in a row a job is parked.
const LOSSES_MAX: u32 = 3;

impl Checker {
    /// A job was retried or replaced: its counts may begin anew.
    pub(super) fn begins_anew(&mut self, job: JobId) {
        let facts = self.job(job);
        facts.was_reset = true;
        facts.losses.in_a_row = 0;
    }

    /// An end was stored.
    pub(super) fn losses_are_counted(&mut self, finish: &Finish, state: JobState, model: &Model) {
        let job = finish.held.job;
        let facts = self.job(job);
        let (was_reset, losses) = (facts.was_reset, &mut facts.losses);
        match finish.end {
            End::Lost { .. } => losses.in_a_row += 1,
            End::GiveBack | End::Undecodable { .. } => {}
            _ => losses.in_a_row = 0,
        }
        losses.failures += u32::from(matches!(finish.end, End::Failed { .. }));
        let (in_a_row, failures) = (losses.in_a_row, losses.failures);
        let max = losses.failures_max.filter(|_| !was_reset);
        let is_failed = matches!(finish.end, End::Failed { .. });
        if let Some(max) = max.filter(|_| is_failed && state != JobState::Cancelled) {
            let (is_parked, is_late) =
                (state == JobState::Parked, facts.is_parked_as_lost.is_some());
            self.must(is_late || is_parked == (failures >= max), || {
                format!("{} is {} after {failures} failures of {max}", short(job), state.word())
            });
        }
        if let Some(stored) = model.job(job).ok().flatten() {
            self.must(stored.lost == in_a_row, || {
                format!("{} has {} losses in a row, not {in_a_row}", short(job), stored.lost)
            });
        }
    }

    /// A job was lost with its session.
    pub(super) fn is_lost(&mut self, job: &StoredJob) {
        let losses = &mut self.job(job.id).losses;
        losses.in_a_row += 1;
        let in_a_row = losses.in_a_row;
        let may_run = in_a_row < LOSSES_MAX && job.on_lost == OnLost::Rerun;
        let is_right = job.lost == in_a_row
            && (job.state == JobState::Cancelled || may_run == (job.state == JobState::Ready));
        self.must(is_right, || {
            let (lost, state) = (job.lost, job.state.word());
            format!("{} is {state} with {lost} losses in a row, not {in_a_row}", short(job.id))
        });
    }
}
