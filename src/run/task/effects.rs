//! What a transition leaves to be done after it has unlocked the task: deliver, wake, drop.

use std::sync::Arc;
use std::task::Waker;

use scheduler_core::Timer;

use super::claimed::{EndedJobs, report_job_ends};
use super::gate::Permits;
use super::inner::ActiveRun;
use super::manual::Answer;
use super::rule::Rule;
use super::scheduled_task::ScheduledTask;
use crate::observe::{Event, Outcome};
use crate::run::Run;
use crate::run::inject::Call;
use crate::unwind::wake_all;

/// What is to be done after unlocking. Empty for a run that starts on time and has no listener.
#[must_use = "effects are to be performed after unlocking"]
#[derive(Default)]
pub(super) struct Effects {
    rare: Option<Box<Rare>>,
}

/// What few transitions ask for.
#[derive(Default)]
pub(super) struct Rare {
    /// Runs that were asked to stop: their waits end, and their futures are polled.
    pub(super) stopped: Vec<Run>,
    /// Those who wait for the end of a run.
    pub(super) wakers: Vec<Waker>,
    /// What gates gave for runs that are over.
    pub(super) permits: Vec<(Permits, Outcome)>,
    /// The results of manual runs.
    pub(super) answers: Vec<Answer>,
    /// Claimed jobs that are over.
    pub(super) jobs: EndedJobs,
    pub(super) runs: Vec<Run>,
    pub(super) rules: Vec<Rule>,
    /// The function of a task that has ended.
    pub(super) call: Option<Call>,
    pub(super) has_ended: bool,
    /// Whether a run starts so late, or misses so much, that the tasks that held the threads are reported.
    pub(super) is_late: bool,
}

impl Effects {
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Drops what a run was made of, unless there is none.
    pub(super) fn drop_later(&mut self, run: Option<Box<ActiveRun>>) {
        if let Some(run) = run {
            self.rare().runs.push(run.run);
        }
    }

    /// Delivers events, and performs everything. No lock may be held.
    #[inline]
    pub(super) fn perform(self, task: &Arc<Timer<ScheduledTask>>, events: Option<Vec<Event>>) {
        // Before the events: of what was missed the messages say why.
        if self.rare.as_ref().is_some_and(|rare| rare.is_late) {
            task.report_late();
        }
        if let Some(events) = events {
            task.deliver(events);
        }
        if let Some(rare) = self.rare {
            rare.perform(task);
        }
    }
}

impl Rare {
    fn perform(self, task: &Arc<Timer<ScheduledTask>>) {
        self.stopped.iter().for_each(Run::heed_stop);
        for (permits, outcome) in self.permits {
            let panics = permits.release(&outcome);
            panics.for_each(|failure| task.report_hook("gate", failure));
        }
        self.rules.into_iter().for_each(|rule| task.drop_contained(rule));
        drop(self.runs);
        if self.call.is_some() {
            task.drop_contained(self.call);
        }
        if self.has_ended {
            task.report_end();
        }
        report_job_ends(self.jobs);
        self.answers.into_iter().for_each(Answer::send);
        wake_all(self.wakers);
    }
}
