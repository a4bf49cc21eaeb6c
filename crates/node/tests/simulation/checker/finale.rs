//! The promises that hold at the end.

use std::time::Duration;

use scheduler_store::{
    Enqueued, JobFilter, JobState, Model, NewJob, Next, OnPark, Store, StoreTime, StoredJob,
};

use super::facts::{Checker, short};
use crate::body::POISON;
use crate::wire::Reply;

/// Longer than any process needs for a tick that is due when nothing is wrong, and than the longest window of `catch_up`.
const GRACE: Duration = Duration::from_secs(14);

impl Checker {
    /// A client is about to send a job.
    pub(crate) fn wants(&mut self, wish: usize, job: &NewJob) {
        self.wishes.entry(wish).or_default().insert(job.id);
    }

    /// A client has an answer.
    pub(crate) fn answered(&mut self, wish: usize, reply: &Reply) {
        if let Reply::Enqueue(Ok(answers)) = reply
            && answers.iter().any(|answer| matches!(answer, Enqueued::Accepted(_)))
        {
            self.accepted.insert(wish);
        }
    }

    /// The faults have ended long ago: no schedule is late.
    pub(crate) fn before_quiet(&mut self, model: &Model, store_now: StoreTime) {
        let jobs = model.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
        for row in model.schedules().unwrap_or_default() {
            let name = &row.definition.name;
            let is_of_it = |job: &&StoredJob| {
                job.origin.as_ref().is_some_and(|origin| origin.schedule == *name)
            };
            let made: Vec<_> = jobs.iter().filter(is_of_it).collect();
            // A tick that waits for the end of a job is late from that end on.
            let free_since = made.iter().filter_map(|job| job.finished_at).max();
            let is_late = match row.next {
                Next::At(tick) => {
                    free_since.map_or(tick, |end| end.max(tick)).after(GRACE) < store_now
                }
                Next::Unknown => true,
                Next::AfterJob | Next::Never => false,
            };
            let is_paused = row.pause.as_ref().is_some_and(|pause| {
                pause.until.is_none_or(|until| store_now < until.after(GRACE))
            });
            let is_busy = made.iter().any(|job| job.state.is_unfinished());
            let is_silent = self.has_builds && (name == "s0" || name == "s1");
            self.must(!is_late || is_paused || is_busy || is_silent, || {
                format!("nothing happens to the ticks of {row:?}")
            });
        }
    }

    /// The jobs that have no outcome yet.
    pub(crate) fn unfinished(&self, model: &Model, store_now: StoreTime) -> Vec<String> {
        let soon = store_now.after(Duration::from_secs(60));
        let jobs = model.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
        let on_park = self.limits.as_ref().and_then(|limits| limits.each.ordered);
        let is_held = |job: &StoredJob| {
            on_park == Some(OnPark::Hold)
                && jobs.iter().any(|other| {
                    other.state == JobState::Parked
                        && (&other.task, &other.partition) == (&job.task, &job.partition)
                })
        };
        let unfinished = jobs.iter().filter(|job| match job.state {
            JobState::Ready => job.run_at < soon && !is_held(job),
            state => state == JobState::Running,
        });
        let name =
            |job: &StoredJob| format!("{} of {} is {}", short(job.id), job.task, job.state.word());
        unfinished.map(name).collect()
    }

    pub(crate) fn check_all(&mut self, model: &Model) {
        let jobs = model.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
        for job in &jobs {
            let is_right = self.job(job.id).is_over || job.state.is_unfinished();
            self.must(is_right, || format!("{} has an outcome from nowhere", short(job.id)));
            let was_run = job.state != JobState::Done
                || self
                    .runs
                    .iter()
                    .any(|run| run.is_done && run.job == job.id && run.fence == job.fence);
            self.must(was_run, || format!("{} is done without a run", short(job.id)));
            self.starts_are_counted(job);
        }
        for wish in self.accepted.clone() {
            let over: Vec<_> = self.wishes[&wish]
                .iter()
                .filter(|id| self.jobs.get(id).is_some_and(|job| job.is_over || job.is_deleted))
                .collect();
            let (count, is_waiting) =
                (over.len(), jobs.iter().any(|job| self.wishes[&wish].contains(&job.id)));
            self.must(count > 0 || is_waiting, || format!("wish {wish} was accepted, and is lost"));
            self.must(count < 2, || format!("wish {wish} was accepted twice"));
        }
        let poisoned = jobs.iter().filter(|job| job.task == POISON).map(|job| job.id);
        for poison in poisoned {
            let count = self.runs.iter().filter(|run| run.job == poison).count();
            self.must(count <= 3 || self.is_retried, || {
                format!("a job that kills its process was started {count} times")
            });
        }
        self.last_start_counts(model);
    }

    /// A start is an attempt, unless its run says otherwise.
    fn starts_are_counted(&mut self, job: &StoredJob) {
        let facts = self.job(job.id);
        let (begun, uncounted) = (facts.begun, facts.uncounted);
        let is_counted = facts.was_reset || begun - uncounted <= job.attempt;
        self.must(is_counted, || {
            format!("{} began {begun} times: {} attempts", short(job.id), job.attempt)
        });
    }

    /// Of all processes that have registered, the one counts that was started last, or any of those that were started at
    /// the same microsecond.
    fn last_start_counts(&mut self, model: &Model) {
        if self.was_set {
            return;
        }
        let registrants = self.registrants.values().filter(|registrant| registrant.rules.is_some());
        let Some(at) = registrants.clone().map(|registrant| registrant.first_opened).max() else {
            return;
        };
        let last = registrants.filter(|registrant| registrant.first_opened == at);
        let last: Vec<_> = last.filter_map(|registrant| registrant.rules.clone()).collect();
        for row in model.schedules().unwrap_or_default() {
            let expected: Vec<_> =
                last.iter().map(|rules| rules.get(&row.definition.name)).collect();
            let found = &row.definition.rule.text;
            let is_right = expected.iter().any(|rule| rule.is_none_or(|text| text == found));
            self.must(is_right, || {
                format!("the rule is `{found}`, and the process that started last has {expected:?}")
            });
        }
    }
}
