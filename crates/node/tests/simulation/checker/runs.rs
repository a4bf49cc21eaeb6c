//! Runs: when they may begin, and beside which others.

use scheduler_store::{End, OnLost, StoredJob};

use super::facts::{Checker, Ended, RunFacts, short};
use scheduler_node::Tick;

/// A job that may be claimed only to begin at once begins within this, by true time.
const AT_ONCE: u64 = 50_000_000;

impl Checker {
    /// A run begins. Returns its number.
    pub(crate) fn began(
        &mut self,
        process: usize,
        job: &StoredJob,
        tick: Tick,
        started: u64,
        now: u64,
    ) -> usize {
        self.now = now;
        let Some(session) = job.session else { return 0 };
        let is_valid =
            self.sessions.get(&session).is_some_and(|session| tick < session.valid_until);
        self.must(is_valid, || format!("a run of {} begins outside its lease", short(job.id)));
        let fence = self.job(job.id).fence;
        self.must(fence == job.fence, || format!("{} begins with an old fence", short(job.id)));
        let is_at_once = job.on_lost == OnLost::Abandon || job.partition.is_some();
        self.must(!is_at_once || now <= started + AT_ONCE, || {
            format!("{} may only be claimed as it begins, and was claimed early", short(job.id))
        });
        self.is_not_known_as_paused(process, job);
        self.beside_others(process, job, now);
        let run = self.runs.len();
        self.runs.push(RunFacts {
            job: job.id,
            fence: job.fence,
            session,
            process,
            is_quarantined: job.lost > 1,
            is_done: false,
            progress: None,
        });
        self.running.insert(run);
        let facts = self.job(job.id);
        facts.last_run = Some(run);
        facts.begun += 1;
        run
    }

    fn beside_others(&mut self, process: usize, job: &StoredJob, now: u64) {
        let schedule =
            self.job(job.id).schedule.clone().filter(|_| self.jobs[&job.id].is_exclusive);
        let (mut wrong, mut quarantined) = (None, 0);
        for run in self.running.iter().map(|run| &self.runs[*run]) {
            quarantined += usize::from(run.is_quarantined && run.process == process);
            let of = &self.jobs[&run.job];
            let is_same = run.job == job.id
                || (schedule.is_some() && of.is_exclusive && of.schedule == schedule);
            // The process knows of its own runs also when their session has ended.
            if is_same && (run.process == process || self.is_live(run, now)) {
                wrong = Some(run.job);
            }
        }
        self.must(wrong.is_none(), || {
            format!("{} begins beside a run of {wrong:?} that its process knows of, or whose session lives", short(job.id))
        });
        self.must(job.lost < 2 || quarantined == 0, || {
            "two jobs that were lost twice in a row run at once".to_owned()
        });
    }

    /// Returns true if the session of a run lives, by true time.
    fn is_live(&self, run: &RunFacts, now: u64) -> bool {
        self.sessions.get(&run.session).is_some_and(|session| {
            let lease = u64::try_from(session.lease.as_nanos()).unwrap_or(0);
            let is_over = matches!(session.ended, Some(Ended::Closed | Ended::Replaced));
            !is_over && now < session.renewed + lease / 1_000 * 995
        })
    }

    pub(crate) fn run_ended(&mut self, run: usize, end: Option<&End>, now: u64) {
        self.now = now;
        self.running.remove(&run);
        self.runs[run].is_done = end == Some(&End::Done);
    }

    pub(crate) fn crashed(&mut self, process: usize, now: u64) {
        self.now = now;
        let runs = &self.runs;
        self.running.retain(|run| runs[*run].process != process);
    }

    pub(crate) fn stops(&mut self, _: usize) {}

    pub(crate) fn stopped(&mut self, process: usize, now: u64) {
        self.now = now;
        let left = self.running.iter().filter(|run| self.runs[**run].process == process).count();
        self.must(left == 0, || format!("process {process} has stopped, and {left} runs go on"));
    }
}
