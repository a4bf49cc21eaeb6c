//! Work after the lock: deliver, wake, drop.

use std::sync::Arc;
use std::task::Waker;

use scheduler_core::Timer;

use super::gate::Permits;
use super::manual::ManualResult;
use super::rule::Rule;
use super::scheduled_task::ScheduledTask;
use crate::base::set_once::SetOnce;
use crate::base::unwind::wake_all;
use crate::observe::{Event, Outcome};
use crate::run::Run;
use crate::run::inject::Call;

/// The work after unlocking. Empty for a run that starts on time and has no listener.
#[must_use = "effects are to be performed after unlocking"]
#[derive(Default)]
pub(super) struct Effects {
    list: Vec<Effect>,
    /// True if a run starts so late, or misses so much, that the tasks that held the threads are reported.
    pub(super) is_late: bool,
}

/// One effect. Effects are performed in the order of the variants.
pub(super) enum Effect {
    /// The run was asked to stop: its waits end, and its future is polled.
    HeedStop(Run),
    /// The permits of a run that is over.
    Release(Permits, Outcome),
    DropRule(Rule),
    DropRun(Run),
    /// The function of a task that has ended.
    DropCall(Call),
    /// The task has ended.
    ReportEnd,
    /// The claim of a job is over.
    #[cfg(feature = "durable")]
    EndJob(Arc<crate::run::ClaimedJob>, scheduler_store::End),
    /// The result of a manual run.
    Answer(SetOnce<ManualResult>, ManualResult),
    /// A thread or a future waits for the end of a run.
    Wake(Waker),
}

impl Effects {
    pub(super) fn push(&mut self, effect: Effect) {
        self.list.push(effect);
    }

    pub(super) fn wake(&mut self, wakers: impl Iterator<Item = Waker>) {
        self.list.extend(wakers.map(Effect::Wake));
    }

    /// Delivers events, and performs everything. No lock may be held.
    #[inline]
    pub(super) fn perform(mut self, task: &Arc<Timer<ScheduledTask>>, events: Option<Vec<Event>>) {
        // Before the events: messages about missed runs say why.
        if self.is_late {
            task.report_late();
        }
        if let Some(events) = events {
            task.deliver(events);
        }
        if self.list.len() > 1 {
            self.list.sort_by_key(Effect::rank);
        }
        self.list.into_iter().for_each(|effect| effect.perform(task));
    }
}

impl Effect {
    fn rank(&self) -> u8 {
        match self {
            Self::HeedStop(_) => 0,
            Self::Release(..) => 1,
            Self::DropRule(_) => 2,
            Self::DropRun(_) => 3,
            Self::DropCall(_) => 4,
            Self::ReportEnd => 5,
            #[cfg(feature = "durable")]
            Self::EndJob(..) => 6,
            Self::Answer(..) => 7,
            Self::Wake(_) => 8,
        }
    }

    fn perform(self, task: &Arc<Timer<ScheduledTask>>) {
        match self {
            Self::HeedStop(run) => run.heed_stop(),
            Self::Release(permits, outcome) => {
                permits.release(&outcome).for_each(|failure| task.report_hook("gate", failure));
            }
            Self::DropRule(rule) => task.drop_contained(rule),
            Self::DropRun(run) => drop(run),
            Self::DropCall(call) => task.drop_contained(call),
            Self::ReportEnd => ScheduledTask::report_end(task),
            #[cfg(feature = "durable")]
            Self::EndJob(job, end) => job.end(end),
            Self::Answer(answer, result) => {
                answer.set(result);
            }
            Self::Wake(waker) => wake_all([waker]),
        }
    }
}
