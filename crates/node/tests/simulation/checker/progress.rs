//! The progress of runs: sent once, written by the owner alone, and exact at the end.

use scheduler_store::{ClaimRef, End, Finish, JobId, JobProgress, JobState, Model, Renew, Store};

use super::facts::{Checker, short};

impl Checker {
    /// A run reports how far it has come.
    pub(crate) fn reported(&mut self, run: usize, progress: JobProgress) {
        self.runs[run].progress = Some(progress);
    }

    /// A process sends a renewal: it has the progress that has changed since it was written, and no other.
    pub(super) fn sends_progress(&mut self, (process, life): (usize, u64), renew: &Renew) {
        let Some(facts) = self.lives.get(&process).filter(|facts| facts.life == life) else {
            return;
        };
        let is_written = |(held, progress): &(ClaimRef, JobProgress)| {
            facts.written.get(&(held.job, held.fence)) == Some(progress)
        };
        let again = renew.progress.iter().any(is_written);
        let own = self.running.iter().map(|run| &self.runs[*run]);
        let own = own.filter(|run| run.process == process && run.session == renew.session);
        let own = own.filter_map(|run| {
            Some((ClaimRef { job: run.job, fence: run.fence }, run.progress.clone()?))
        });
        let left = own.filter(|own| !is_written(own) && !renew.progress.contains(own)).count();
        self.must(!again, || "a progress is sent again that has not changed".to_owned());
        self.must(left == 0, || format!("a renewal leaves the progress of {left} runs out"));
    }

    /// A renewal is about to be executed: the progress that its jobs have.
    pub(super) fn note_progress(&mut self, renew: &Renew, model: &Model) {
        let of = |held: &ClaimRef| model.job(held.job).ok().flatten()?.progress;
        let before = renew.progress.iter().filter_map(|(held, _)| Some((held.job, of(held)?)));
        self.progress_before = before.collect();
    }

    /// A renewal finds the row of a job locked, and does not wait for it.
    pub(crate) fn job_is_locked(&mut self, job: Option<JobId>) {
        self.locked = job;
    }

    /// A renewal was executed.
    pub(super) fn progress_is_written(&mut self, renew: &Renew, is_alive: bool, model: &Model) {
        for (held, progress) in &renew.progress {
            let Some(job) = model.job(held.job).ok().flatten() else { continue };
            let is_owner = is_alive
                && (job.held(), job.session, job.state)
                    == (*held, Some(renew.session), JobState::Running);
            let is_written = job.progress.as_ref() == Some(progress);
            // The end of the run, or another renewal, may have come first with the same progress.
            let is_new =
                is_written && !self.progress_before.contains(&(held.job, progress.clone()));
            self.must(is_owner || !is_new, || {
                format!("the progress of {} was written by one who had lost it", short(held.job))
            });
            self.must(!is_owner || is_written || self.locked == Some(held.job), || {
                format!("the progress of {} was not written", short(held.job))
            });
        }
    }

    /// The end of a run was stored: the job has the last progress that the run has reported.
    pub(super) fn progress_is_exact(&mut self, finish: &Finish, model: &Model) {
        // Of those two the process knows no run.
        if matches!(finish.end, End::GiveBack | End::Lost { .. }) {
            return;
        }
        let held = finish.held;
        let of_it = |run: &&super::facts::RunFacts| (run.job, run.fence) == (held.job, held.fence);
        let Some(last) = self.runs.iter().find(of_it).and_then(|run| run.progress.clone()) else {
            return;
        };
        let Some(job) = model.job(held.job).ok().flatten() else { return };
        self.must(job.progress == Some(last), || {
            format!("{} has ended, and its last progress is not stored", short(held.job))
        });
    }
}
