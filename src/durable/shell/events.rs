//! The reports of the node, as events of the scheduler.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_core::Clock;
use scheduler_node::{COUNTED_MAX, LostReason, NodeEvent};
use scheduler_store::{JobState, Registration, Skips, StoreTime, StoredSchedule};

use super::super::jobs::Jobs;
use super::super::parts::JobTask;
use crate::observe::{Bus, Event, EventKind, SkipReason, StoreEvent};
use crate::run::instant;

/// Reports what happens to sessions, schedules and jobs.
pub(crate) struct Reports {
    bus: Arc<Bus>,
    clock: Arc<dyn Clock>,
    /// Says when a schedule fires next.
    jobs: Jobs,
}

impl Reports {
    pub(crate) fn new(bus: Arc<Bus>, clock: Arc<dyn Clock>, jobs: Jobs) -> Self {
        Self { bus, clock, jobs }
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
            NodeEvent::JobLost(job) => StoreEvent::JobLost {
                job: text(&job.id),
                task: job.task.as_str().into(),
                attempt: job.attempt,
                is_parked: job.state == JobState::Parked,
            },
            NodeEvent::Parked { job } => StoreEvent::JobParked { job: text(&job) },
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
            NodeEvent::Refused(refusal) => StoreEvent::Refused { reason: text(&refusal) },
            NodeEvent::Damaged(damage) => {
                StoreEvent::Damaged { row: damage.row.into(), reason: damage.reason.into() }
            }
            _ => return,
        };
        self.emit(EventKind::Store { what: event });
    }

    fn emit(&self, kind: EventKind) {
        self.bus.emit(Event::global(self.clock.wall(), kind));
    }

    fn registered(
        &self,
        schedule: &StoredSchedule,
        is_changed: bool,
        tasks: &BTreeMap<Arc<str>, JobTask>,
    ) {
        let name = &*schedule.definition.name;
        let is_paused = self.jobs.is_paused(schedule);
        let next = self.jobs.upcoming(schedule, 1).first().copied().filter(|_| !is_paused);
        let kind = EventKind::Store {
            what: StoreEvent::ScheduleRegistered {
                schedule: name.into(),
                is_changed,
                is_paused,
                next,
            },
        };
        match tasks.get(name) {
            Some(task) => {
                let event = Event::of(self.clock.wall(), &task.control.facts(), kind);
                self.bus.emit(event);
            }
            None => self.emit(kind),
        }
    }

    fn skipped(
        &self,
        schedule: &str,
        skips: Skips,
        until: StoreTime,
        tasks: &BTreeMap<Arc<str>, JobTask>,
    ) {
        let last = instant(until);
        let counts = [
            (SkipReason::Overlap, skips.overlap),
            (SkipReason::Misfire, skips.missed),
            (SkipReason::Paused, skips.paused),
        ];
        for (reason, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            let at_least = count >= COUNTED_MAX;
            match tasks.get(schedule) {
                Some(task) => task.control.report_skips(reason, (count, at_least), last),
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
