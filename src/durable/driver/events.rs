//! The reports of the node as events, and warnings of unknown tasks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use scheduler_core::Clock;
use scheduler_node::{COUNTED_MAX, LostReason, NodeEvent, Request};
use scheduler_store::{
    JobState, OtherApplication, Registration, SessionId, Skips, StoreTime, StoredJob,
    StoredSchedule,
};

use crate::durable::driver::NodeDriver;
use crate::durable::error::JobsError;
use crate::durable::error::{KnownTasks, UnknownTask};
use crate::durable::jobs::Jobs;
use crate::durable::node::JobTask;
use crate::durable::schedules::Schedules;
use crate::observe::{Bus, Event, EventKind, ParkedJob, SkipReason, StoreEvent};

/// By how much a tick that was fired has to be ahead to be reported: clocks of a cluster differ, and soon it is past.
const AHEAD_MIN: TimeDelta = TimeDelta::hours(1);

/// Reports what happens to sessions, schedules and jobs.
pub(crate) struct Reports {
    bus: Arc<Bus>,
    clock: Arc<dyn Clock>,
    /// Says when a schedule fires next.
    schedules: Schedules,
    /// The name of the application.
    application: Arc<str>,
}

impl Reports {
    pub(crate) fn new(
        bus: Arc<Bus>,
        clock: Arc<dyn Clock>,
        schedules: Schedules,
        application: &str,
    ) -> Self {
        Self { bus, clock, schedules, application: application.into() }
    }

    pub(super) fn report(&self, event: NodeEvent, tasks: &BTreeMap<Arc<str>, JobTask>) {
        let event = match event {
            NodeEvent::Skipped { schedule, skips, until } => {
                return self.skipped(&schedule, skips, until, tasks);
            }
            NodeEvent::Opened { session, replaces } => StoreEvent::SessionOpened {
                session: text(&session),
                replaces: replaces.as_ref().map(text),
            },
            NodeEvent::OtherApplication(other) => self.other_application(other),
            NodeEvent::SessionLost { session, reason, runs } => StoreEvent::SessionLost {
                session: text(&session),
                reason: match reason {
                    LostReason::NotRenewed => "its lease was not renewed in time".into(),
                    LostReason::Ended => "the store has ended it".into(),
                },
                runs,
            },
            NodeEvent::TookOver { sessions } => {
                StoreEvent::TookOver { sessions: sessions.iter().map(text).collect() }
            }
            NodeEvent::JobLost(job) => return self.lost(&job, tasks),
            NodeEvent::Parked(job) => return self.parked(&job, tasks),
            NodeEvent::FinishRefused { held } => StoreEvent::FinishRefused { job: text(&held.job) },
            NodeEvent::GivenBack { held } => StoreEvent::ClaimReturned { job: text(&held.job) },
            NodeEvent::Registered { schedule, outcome: Registration::Older } => {
                StoreEvent::ScheduleOlder { schedule: schedule.definition.name.into() }
            }
            NodeEvent::Registered { schedule, outcome } => {
                return self.registered(&schedule, outcome == Registration::Changed, tasks);
            }
            NodeEvent::Silent { schedule, rule } => {
                StoreEvent::ScheduleSilent { schedule: schedule.into(), rule: rule.into() }
            }
            NodeEvent::Unreadable { schedule, rule, reason } => StoreEvent::ScheduleUnreadable {
                schedule: schedule.into(),
                rule: rule.into(),
                reason: reason.into(),
            },
            NodeEvent::StoreAway { reason } => StoreEvent::Away { reason: reason.into() },
            NodeEvent::StoreBack { after } => StoreEvent::Back { after },
            NodeEvent::Refused { request, reason } => {
                StoreEvent::Refused { request: request.into(), reason: reason.into() }
            }
            NodeEvent::ClockOff { offset } => StoreEvent::ClockOff {
                by: Duration::from_micros(offset.unsigned_abs()),
                is_ahead: offset > 0,
            },
            NodeEvent::NodePaused { is_paused } => StoreEvent::NodePaused { is_paused },
            NodeEvent::Expired { task, count } => {
                StoreEvent::JobsExpired { task: task.into(), count }
            }
            NodeEvent::Damaged(damage) => {
                StoreEvent::Damaged { row: damage.row.into(), reason: damage.reason.into() }
            }
            _ => return,
        };
        self.emit(EventKind::Store { what: event });
    }

    /// The handle of the store.
    pub(super) fn jobs(&self) -> &Jobs {
        &self.schedules.jobs
    }

    /// Reports what this process has found in the store.
    pub(super) fn tell(&self, what: StoreEvent) {
        self.emit(EventKind::Store { what });
    }

    /// Reports a progress that is no number.
    pub(super) fn progress_ignored(&self, job: &StoredJob) {
        let (job, task) = (text(&job.id), job.task.as_str().into());
        self.tell(StoreEvent::ProgressIgnored { job, task });
    }

    fn emit(&self, kind: EventKind) {
        self.bus.emit(Event::global(self.clock.wall(), kind));
    }

    /// Emits an event about a task, or about none if this process does not have it.
    fn emit_of(&self, task: &str, what: StoreEvent, tasks: &BTreeMap<Arc<str>, JobTask>) {
        let kind = EventKind::Store { what };
        match tasks.get(task) {
            Some(task) => {
                self.bus.emit(Event::of(self.clock.wall(), &task.control.facts(), kind));
            }
            None => self.emit(kind),
        }
    }

    fn parked(&self, job: &StoredJob, tasks: &BTreeMap<Arc<str>, JobTask>) {
        let what = StoreEvent::JobParked { job: Arc::new(ParkedJob::of(job)) };
        self.emit_of(&job.task, what, tasks);
    }

    /// Reports a job whose process died, which may have parked it.
    fn lost(&self, job: &StoredJob, tasks: &BTreeMap<Arc<str>, JobTask>) {
        let is_parked = job.state == JobState::Parked;
        let what = StoreEvent::JobLost {
            job: text(&job.id),
            task: job.task.as_str().into(),
            key: job.key.as_deref().map(Arc::from),
            queue: job.queue.as_str().into(),
            attempt: job.attempt,
            is_parked,
        };
        self.emit_of(&job.task, what, tasks);
        if is_parked {
            self.parked(job, tasks);
        }
    }

    fn other_application(&self, other: OtherApplication) -> StoreEvent {
        // It has answered, and so is open.
        let store = self.jobs().inner.client.store().get();
        StoreEvent::OtherApplication {
            application: Arc::clone(&self.application),
            other: other.application.into(),
            process: other.label.into(),
            store: store.as_ref().map(|store| store.describe()).unwrap_or_default().into(),
            help: store.map(|store| store.separate(&self.application)).unwrap_or_default().into(),
        }
    }

    fn registered(
        &self,
        stored: &StoredSchedule,
        is_changed: bool,
        tasks: &BTreeMap<Arc<str>, JobTask>,
    ) {
        let (name, now) = (&*stored.definition.name, self.jobs().store_now().utc());
        if let Some(last_fired) =
            stored.last_fired.map(StoreTime::utc).filter(|at| *at > now + AHEAD_MIN)
        {
            let schedule = name.into();
            self.emit_of(name, StoreEvent::ScheduleAhead { schedule, last_fired }, tasks);
        }
        let is_paused = self.schedules.is_paused(stored);
        let next = self.schedules.upcoming(stored, 1).first().copied().filter(|_| !is_paused);
        let schedule = name.into();
        let what = StoreEvent::ScheduleRegistered { schedule, is_changed, is_paused, next };
        self.emit_of(name, what, tasks);
        self.jobs().note_schedule(stored);
    }

    fn skipped(
        &self,
        schedule: &str,
        skips: Skips,
        until: StoreTime,
        tasks: &BTreeMap<Arc<str>, JobTask>,
    ) {
        let last = until.utc();
        let counts = [
            (SkipReason::Overlap, skips.overlap),
            (SkipReason::Limit, skips.limit),
            (SkipReason::Misfire, skips.missed),
            (SkipReason::Paused, skips.paused),
        ];
        for (reason, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            let at_least = count >= COUNTED_MAX;
            match tasks.get(schedule) {
                Some(task) => task.control.report_skips(reason, count, at_least, last),
                None => {
                    let schedule = schedule.into();
                    let what = StoreEvent::TicksSkipped { schedule, reason, count, at_least };
                    self.emit(EventKind::Store { what });
                }
            }
        }
    }
}

fn text(value: &impl ToString) -> Arc<str> {
    value.to_string().into()
}

impl NodeDriver {
    /// Looks for such tasks after each deletion of old jobs, which comes once a minute, and reports them.
    pub(super) fn warn_of_unknown(&self, what: &Request) {
        if !matches!(what, Request::Prune(_)) {
            return;
        }
        let Some(session) = self.node().session() else { return };
        // A store may be the user's, and one that does not answer is reported elsewhere.
        let found = crate::observe::catch(|| unknown_tasks(self.reports.jobs(), session));
        for event in found.into_iter().flatten().flatten() {
            self.reports.tell(event);
        }
    }
}

/// The warnings. Of all processes one looks for them: the one with the first session.
fn unknown_tasks(jobs: &Jobs, own: SessionId) -> Result<Vec<StoreEvent>, JobsError> {
    let sessions = jobs.sessions()?;
    let living = sessions.iter().filter(|session| session.is_alive());
    if living.map(|session| session.id).min() != Some(own) {
        // Once a minute each process hears which of its schedules others have paused.
        if jobs.has_schedules() {
            Schedules::of(jobs).list()?;
        }
        return Ok(Vec::new());
    }
    let known = KnownTasks::of(&sessions);
    let unknown = jobs.unknown_tasks(&jobs.depths()?, &sessions, &Schedules::of(jobs).list()?);
    let event = |unknown: UnknownTask| StoreEvent::TaskUnknown {
        task: unknown.task.into(),
        due: unknown.due,
        schedules: unknown.schedules.into_iter().map(Arc::from).collect(),
        nearest: unknown.nearest.map(Arc::from),
        known: known.names().map(Arc::from).collect(),
        version: unknown.version,
        known_version: unknown.known_version,
        elsewhere: unknown.elsewhere.map(Arc::from),
    };
    Ok(unknown.into_iter().map(event).collect())
}
