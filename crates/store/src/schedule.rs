//! Schedules: what a process registers, and what a store keeps of it.
//!
//! A schedule is a *cursor*: all ticks up to it are decided. A tick that fires becomes a job in the same transaction that
//! moves the cursor.

use std::time::Duration;

use crate::check::storable;
use crate::command::{Command, CommandOutcome, Pause};
use crate::id::{JobId, StoreTime, micros};
use crate::job::{JobState, NewJob, OnLost, Payload, Priority, StoredJob};
use crate::request::{Fire, Fired, OnBusy, RegisteredSchedule, Registration};
use crate::skips::{JobBefore, Skips};

pub use scheduler_expr::Overlap;

/// A dynamic schedule that is over is kept for so long after its last tick. A single tick that is later when it is put does
/// not fire: it may have fired before.
pub const FINISHED_SCHEDULE_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// The way from the cursor to the next tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Timing {
    /// A process computes it from the rule, as for cron.
    #[default]
    Computed,
    /// Every period, counted from the first tick, which comes that long after the registration.
    Rate {
        /// From the registration to the first tick.
        first: Duration,
        /// From tick to tick.
        period: Duration,
    },
    /// That long after the end of the last job; the first tick comes that long after the registration.
    Delay {
        /// From the registration to the first tick.
        first: Duration,
        /// From the end of a job to the next tick.
        delay: Duration,
    },
    /// A single tick, at an instant.
    Once(StoreTime),
    /// A single tick, that long after the registration.
    OnceAfter(Duration),
}

/// A rule: a text that the processes understand, and its timing, which the store needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The text. Two rules are the same if their texts are.
    pub text: String,
    /// The way from the cursor to the next tick.
    pub timing: Timing,
}

impl Timing {
    /// With lengths as a store keeps them: in microseconds, rounded up.
    #[must_use]
    pub fn stored(self) -> Self {
        let round = |length| Duration::from_micros(micros(length).unsigned_abs());
        match self {
            Self::Computed | Self::Once(_) => self,
            Self::Rate { first, period } => {
                Self::Rate { first: round(first), period: round(period) }
            }
            Self::Delay { first, delay } => {
                Self::Delay { first: round(first), delay: round(delay) }
            }
            Self::OnceAfter(first) => Self::OnceAfter(round(first)),
        }
    }
}

impl Rule {
    /// Its ticks count from the end of a job.
    fn is_delay(&self) -> bool {
        matches!(self.timing, Timing::Delay { .. })
    }

    /// As a store keeps it.
    #[must_use]
    pub fn stored(mut self) -> Self {
        self.timing = self.timing.stored();
        self
    }
}

impl ScheduleSpec {
    /// A job of it, which nothing yet says when to run.
    #[must_use]
    pub fn job(&self, id: JobId) -> NewJob {
        NewJob {
            payload: self.payload.clone(),
            queue: self.queue.clone(),
            priority: self.priority,
            partition: self.partition.clone(),
            max_attempts: self.max_attempts,
            on_lost: self.on_lost,
            ..NewJob::new(id, self.task.clone())
        }
    }

    /// Its jobs keep each other out, unless another rule is set by hand.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.overlap != Overlap::Allow || self.rule.is_delay()
    }
}

/// A schedule as a process registers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleSpec {
    /// Its name, unique in the store.
    pub name: String,
    /// The task that runs its jobs.
    pub task: String,
    /// The argument of its jobs.
    pub payload: Payload,
    /// The queue of its jobs.
    pub queue: String,
    /// The priority of its jobs.
    pub priority: Priority,
    /// The partition of its jobs.
    pub partition: Option<String>,
    /// When it fires.
    pub rule: Rule,
    /// The version of the code and the time zone data that compute its ticks. If it changes, the next tick is computed
    /// again from the cursor (R16).
    pub calculator: String,
    /// The rule for a tick that comes while a job is unfinished.
    pub overlap: Overlap,
    /// After how many attempts its jobs are parked.
    pub max_attempts: u32,
    /// The rule for its jobs if their process dies.
    pub on_lost: OnLost,
    /// True if it was made while the program runs, and any process that knows the task may fire it; false if it stands in
    /// the code, and only processes with the same code fire it.
    pub is_dynamic: bool,
}

/// A tick that becomes a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickJob {
    /// The identity of the job.
    pub id: JobId,
    /// The tick.
    pub tick: StoreTime,
    /// The number of ticks before this one that were missed and are not run.
    pub missed: u64,
    /// When the job is due: the tick plus jitter.
    pub run_at: StoreTime,
}

/// When a schedule fires next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this tick.
    At(StoreTime),
    /// Not known: a process computes it from the cursor.
    Unknown,
    /// After the unfinished job has ended.
    AfterJob,
    /// Never: it has ended.
    Never,
}

/// The author of a rule that was set by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Override {
    /// When it was set.
    pub since: StoreTime,
    /// The person; empty if the program has set it.
    pub by: String,
    /// The text of the rule that counted before.
    pub before: String,
}

/// A schedule as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSchedule {
    /// As it was last registered.
    pub definition: ScheduleSpec,
    /// A rule set by hand, in place of the one in the definition.
    pub override_rule: Option<Rule>,
    /// The author of that rule, and the rule before.
    pub overridden: Option<Override>,
    /// All ticks up to this instant are decided. Ticks count from the registration, a change of the rule, or an end of a
    /// pause.
    pub cursor: StoreTime,
    /// The first tick of a rate, from which the others are counted.
    pub anchor: Option<StoreTime>,
    /// When it fires next.
    pub next: Next,
    /// The number of ticks that have become jobs.
    pub fired: u64,
    /// The last tick that became a job.
    pub last_fired: Option<StoreTime>,
    /// The numbers of skipped ticks.
    pub skips: Skips,
    /// The last pause.
    pub pause: Option<Pause>,
    /// With [`Overlap::QueueOne`]: the tick that waits for the end of the job.
    pub waiting: Option<TickJob>,
    /// When the process that registered it first opened a session, by the store's clock (R15).
    pub registrant_opened: StoreTime,
    /// The end of the last run of a job of it, in any process.
    pub last_end: Option<RunEnd>,
    /// When a run of a job of it succeeded last.
    pub last_success: Option<StoreTime>,
    /// The number of its jobs that were parked since then.
    pub failures: u64,
}

/// The end of a run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunEnd {
    /// When the store learned it.
    pub at: StoreTime,
    /// The state in which the run has left the job.
    pub state: JobState,
    /// When the run began.
    pub started_at: Option<StoreTime>,
    /// The first 500 characters of the error of the job.
    pub error: Option<String>,
}

/// The number of characters of an error that an end keeps.
const ERROR_CHARS_MAX: usize = 500;

impl RunEnd {
    pub(crate) fn new(at: StoreTime) -> Self {
        Self { at, state: JobState::Done, started_at: None, error: None }
    }

    /// The run that has left a job as it is now.
    #[must_use]
    pub fn of(job: &StoredJob, at: StoreTime) -> Self {
        let error = job.error.as_ref().map(|error| error.chars().take(ERROR_CHARS_MAX).collect());
        Self { at, state: job.state, started_at: job.started_at, error }
    }

    /// The run that has parked a job, as a store keeps it.
    #[must_use]
    pub fn parked(at: StoreTime, started_at: Option<StoreTime>, error: Option<String>) -> Self {
        Self { at, state: JobState::Parked, started_at, error }
    }
}

impl StoredSchedule {
    /// A schedule that is registered now.
    #[must_use]
    pub fn new(mut definition: ScheduleSpec, registrant_opened: StoreTime, now: StoreTime) -> Self {
        definition.rule = definition.rule.stored();
        let mut schedule = Self {
            definition,
            override_rule: None,
            overridden: None,
            cursor: now,
            anchor: None,
            next: Next::Unknown,
            fired: 0,
            last_fired: None,
            skips: Skips::default(),
            pause: None,
            waiting: None,
            registrant_opened,
            last_end: None,
            last_success: None,
            failures: 0,
        };
        schedule.restart(now, false);
        schedule
    }

    /// Its rule counts from now on.
    pub fn restart(&mut self, now: StoreTime, is_busy: bool) {
        (self.cursor, self.anchor) = (now, None);
        self.next = match self.rule().timing {
            Timing::Computed => Next::Unknown,
            Timing::Rate { first, .. } => {
                self.anchor = Some(now.after(first));
                Next::At(now.after(first))
            }
            Timing::Delay { .. } if is_busy => Next::AfterJob,
            Timing::Delay { first, .. } | Timing::OnceAfter(first) => Next::At(now.after(first)),
            // The rule was written in another way, or comes back after another one.
            Timing::Once(at) if self.last_fired >= Some(at) => Next::Never,
            Timing::Once(at) => Next::At(at),
        };
        if let Next::At(first) = self.next {
            // A single tick may have passed already, and is not decided.
            self.cursor = now.min(first.before(Duration::from_micros(1)));
        }
    }

    /// Writes what a process registers, which may have another rule. Returns true if the rule of the code has changed.
    pub(crate) fn register(
        &mut self,
        mut definition: ScheduleSpec,
        now: StoreTime,
        is_busy: bool,
    ) -> bool {
        definition.rule = definition.rule.stored();
        let is_changed = self.definition.rule.text != definition.rule.text
            || self.definition.is_dynamic != definition.is_dynamic;
        let is_other_calculator = self.definition.calculator != definition.calculator;
        self.definition = definition;
        if is_changed {
            (self.override_rule, self.overridden) = (None, None);
            self.restart(now, is_busy);
        } else if is_other_calculator && self.rule().timing == Timing::Computed {
            self.next = Next::Unknown;
        }
        is_changed
    }

    /// Pauses it; a pause that holds, or has ticks that are not decided yet, gets longer.
    pub(crate) fn pause(
        &mut self,
        until: Option<StoreTime>,
        by: &str,
        reason: &str,
        now: StoreTime,
    ) {
        let former = self.pause.take().filter(|former| {
            former.holds(now) || former.until.is_some_and(|until| self.cursor < until)
        });
        let since = former.map_or(now, |former| former.since);
        self.pause = Some(Pause::new(since, until, by, reason));
    }

    /// Ends a pause that holds.
    pub(crate) fn resume(&mut self, now: StoreTime) {
        if let Some(pause) = self.pause.as_mut().filter(|pause| pause.holds(now)) {
            pause.until = Some(now);
        }
    }

    /// It was made while the program runs, and its last tick was decided at that time or before.
    #[must_use]
    pub fn is_over(&self, at: StoreTime) -> bool {
        self.definition.is_dynamic
            && self.override_rule.is_none()
            && self.next == Next::Never
            && self.waiting.is_none()
            && self.cursor <= at
    }

    /// The jobs of the schedule keep each other out.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.definition.overlap != Overlap::Allow || self.rule().is_delay()
    }

    /// A run has ended a job of it.
    pub fn note_end(&mut self, job: &StoredJob, now: StoreTime) {
        self.last_end = Some(RunEnd::of(job, now));
        match job.state {
            JobState::Done => (self.last_success, self.failures) = (Some(now), 0),
            JobState::Parked => self.failures += 1,
            _ => {}
        }
    }

    /// A job of it has ended, and none is unfinished: the next tick of a delay counts from now.
    pub fn job_ended(&mut self, now: StoreTime) {
        if let (Timing::Delay { delay, .. }, Next::AfterJob) = (self.rule().timing, self.next) {
            (self.cursor, self.next) = (now, Next::At(now.after(delay)));
        }
    }

    /// The rule that counts.
    #[must_use]
    pub fn rule(&self) -> &Rule {
        self.override_rule.as_ref().unwrap_or(&self.definition.rule)
    }

    /// The time between two ticks, if the rule is a plain rate or delay.
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        match self.rule().timing {
            Timing::Rate { period, .. } => Some(period),
            Timing::Delay { delay, .. } => Some(delay),
            Timing::Computed | Timing::Once(_) | Timing::OnceAfter(_) => None,
        }
    }

    /// The next tick; none if a process has yet to compute it, if it follows the end of an unfinished job, or if there is none.
    #[must_use]
    pub fn next_tick(&self) -> Option<StoreTime> {
        match self.next {
            Next::At(tick) => Some(tick),
            Next::Unknown | Next::AfterJob | Next::Never => None,
        }
    }
}

impl StoredSchedule {
    /// Returns true if a process has to decide something now.
    #[must_use]
    pub fn is_due(&self, now: StoreTime) -> bool {
        let is_paused = self.pause.as_ref().is_some_and(|pause| pause.holds(now));
        !is_paused
            && match self.next {
                Next::At(tick) => tick <= now,
                Next::Unknown => true,
                Next::AfterJob | Next::Never => false,
            }
    }

    /// When a process has to decide something next that it need not decide now.
    #[must_use]
    pub fn decides_after(&self, now: StoreTime) -> Option<StoreTime> {
        let paused = self.pause.as_ref().filter(|pause| pause.holds(now));
        let tick = match self.next {
            Next::At(tick) => tick,
            Next::Unknown => now,
            Next::AfterJob | Next::Never => return None,
        };
        match paused {
            Some(pause) => Some(pause.until?.max(tick)),
            None => Some(tick).filter(|tick| now < *tick),
        }
    }
}

/// The next step of a store after a [`Fire`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FireStep {
    /// The request is answered.
    Answer(Fired),
    /// The tick becomes a job. If it is a new one, [`StoredSchedule::has_fired`] counts it.
    Insert(TickJob),
}

impl StoredSchedule {
    /// Fires a tick of a session that is alive.
    pub fn fire(&mut self, request: &Fire, now: StoreTime, before: JobBefore) -> FireStep {
        let tick = request.job.as_ref();
        if !request.has_seen(self) {
            return FireStep::Answer(Fired::Refused(Some(Box::new(self.clone()))));
        }
        if now < request.cursor || tick.is_some_and(|job| now < job.tick) {
            return FireStep::Answer(Fired::TooEarly);
        }
        let is_blocked = tick.is_some() && before != JobBefore::Ended && self.is_exclusive();
        if is_blocked && request.on_busy == OnBusy::Wait {
            return FireStep::Answer(Fired::Busy);
        }
        (self.cursor, self.next) = (request.cursor, request.next);
        let mut skips = request.skips;
        let step = match (tick, is_blocked, request.on_busy) {
            (None, ..) => FireStep::Answer(Fired::Moved(None)),
            (Some(tick), false, _) => FireStep::Insert(tick.clone()),
            (Some(tick), true, OnBusy::Queue) => {
                let skipped = self.waiting.replace(tick.clone());
                skips.overlap += u64::from(skipped.is_some());
                FireStep::Answer(Fired::Queued)
            }
            (Some(_), true, _) => {
                skips.overlap += 1;
                FireStep::Answer(Fired::Skipped)
            }
        };
        let is_limited = before == JobBefore::Limited && (tick.is_none() || is_blocked);
        let limit = if is_limited { std::mem::take(&mut skips.overlap) } else { 0 };
        skips.limit += limit;
        self.skips = self.skips.plus(skips);
        if limit > 0 { FireStep::Answer(Fired::Limited(limit)) } else { step }
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

    /// Executes a command about the schedule itself, not one about its jobs, of a person; of none if the name is empty. The row is
    /// what a store has of it, and is to be written or deleted as it is then.
    pub fn execute(
        row: &mut Option<Self>,
        (command, by): (&Command, &str),
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
                schedule.reschedule(rule.as_ref(), by, now, is_busy);
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

    fn reschedule(&mut self, rule: Option<&Rule>, by: &str, now: StoreTime, is_busy: bool) {
        let former = self.override_rule.as_ref().map(|rule| &rule.text);
        if rule.map(|rule| &rule.text) != former {
            let (by, before) = (storable(by), self.rule().text.clone());
            self.overridden = rule.map(|_| Override { since: now, by, before });
            self.override_rule = rule.cloned().map(Rule::stored);
            self.restart(now, is_busy);
        }
    }
}
