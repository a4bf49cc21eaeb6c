//! Ticks, registrations and commands change a schedule, in every store.

use crate::command::{Command, CommandOutcome};
use crate::request::{Fire, Fired, OnBusy, RegisteredSchedule, Registration};
use crate::schedule::{
    FINISHED_SCHEDULE_RETENTION, Next, Rule, ScheduleSpec, StoredSchedule, TickJob,
};
use crate::time::StoreTime;

/// The next step of a store after a [`Fire`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FireStep {
    /// The request is answered.
    Answer(Fired),
    /// The tick becomes a job. If it is a new one, [`StoredSchedule::has_fired`] counts it.
    Insert(TickJob),
}

impl StoredSchedule {
    /// Fires a tick of a session that is alive. The schedule is busy if a job keeps others out.
    pub fn fire(&mut self, request: &Fire, now: StoreTime, is_busy: bool) -> FireStep {
        let tick = request.job.as_ref();
        if !request.has_seen(self) {
            return FireStep::Answer(Fired::Refused(Some(Box::new(self.clone()))));
        }
        if now < request.cursor || tick.is_some_and(|job| now < job.tick) {
            return FireStep::Answer(Fired::TooEarly);
        }
        let is_blocked = tick.is_some() && is_busy && self.is_exclusive();
        if is_blocked && request.on_busy == OnBusy::Wait {
            return FireStep::Answer(Fired::Busy);
        }
        (self.cursor, self.next) = (request.cursor, request.next);
        self.skips = self.skips.plus(request.skips);
        match (tick, is_blocked, request.on_busy) {
            (None, ..) => FireStep::Answer(Fired::Moved(None)),
            (Some(tick), false, _) => FireStep::Insert(tick.clone()),
            (Some(tick), true, OnBusy::Queue) => {
                let skipped = self.waiting.replace(tick.clone());
                self.skips.overlap += u64::from(skipped.is_some());
                FireStep::Answer(Fired::Queued)
            }
            (Some(_), true, _) => {
                self.skips.overlap += 1;
                FireStep::Answer(Fired::Skipped)
            }
        }
    }

    /// Counts a tick that has become a job.
    pub fn has_fired(&mut self, tick: StoreTime) {
        self.fired += 1;
        self.last_fired = Some(tick);
    }

    /// Registers a definition. The row is what a store has of the schedule, and is to be written as it is then; `opened` is
    /// when the process first opened a session, and the schedule is busy if a job keeps others out.
    pub fn register_as(
        row: &mut Option<Self>,
        definition: &ScheduleSpec,
        opened: StoreTime,
        now: StoreTime,
        is_busy: bool,
    ) -> RegisteredSchedule {
        let outcome = match row {
            Some(schedule) => schedule.register_again(definition, opened, now, is_busy),
            None => Registration::New,
        };
        let schedule = row.get_or_insert_with(|| Self::new(definition.clone(), opened, now));
        RegisteredSchedule { outcome, schedule: schedule.clone() }
    }

    fn register_again(
        &mut self,
        definition: &ScheduleSpec,
        opened: StoreTime,
        now: StoreTime,
        is_busy: bool,
    ) -> Registration {
        // A registration from the future was made before the clock was set back: it is not later.
        let is_older = opened < self.registrant_opened && self.registrant_opened <= now;
        if is_older && !self.definition.is_dynamic {
            return Registration::Older;
        }
        self.registrant_opened = opened;
        match self.register(definition.clone(), now, is_busy) {
            true => Registration::Changed,
            false => Registration::Same,
        }
    }

    /// Executes a command about the schedule itself, not one about its jobs. The row is what a store has of it, and is to be
    /// written or deleted as it is then.
    pub fn execute(
        row: &mut Option<Self>,
        command: &Command,
        now: StoreTime,
        is_busy: bool,
    ) -> CommandOutcome {
        if let Command::Put { definition } = command {
            return Self::put(row, definition, now, is_busy);
        }
        let Some(schedule) = row else { return CommandOutcome::NotFound };
        match command {
            Command::Pause { until, by, reason, .. } => schedule.pause(*until, by, reason, now),
            Command::Resume { .. } => schedule.resume(now),
            Command::Reschedule { rule, .. } => {
                schedule.reschedule(rule.as_ref(), now, is_busy);
            }
            Command::Remove { .. } => *row = None,
            _ => return CommandOutcome::NotFound,
        }
        CommandOutcome::Done
    }

    fn put(
        row: &mut Option<Self>,
        definition: &ScheduleSpec,
        now: StoreTime,
        is_busy: bool,
    ) -> CommandOutcome {
        let definition = ScheduleSpec { is_dynamic: true, ..definition.clone() };
        match row {
            Some(schedule) if !schedule.definition.is_dynamic => return CommandOutcome::InCode,
            Some(schedule) => {
                schedule.register(definition, now, is_busy);
            }
            None => {
                let mut schedule = Self::new(definition, now, now);
                if matches!(schedule.next, Next::At(first) if first.after(FINISHED_SCHEDULE_RETENTION) <= now)
                {
                    (schedule.cursor, schedule.next) = (now, Next::Never);
                }
                *row = Some(schedule);
            }
        }
        CommandOutcome::Done
    }

    fn reschedule(&mut self, rule: Option<&Rule>, now: StoreTime, is_busy: bool) {
        let former = self.override_rule.as_ref().map(|rule| &rule.text);
        if rule.map(|rule| &rule.text) != former {
            self.override_rule = rule.cloned().map(Rule::stored);
            self.restart(now, is_busy);
        }
    }
}
