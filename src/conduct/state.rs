//! What a conductor keeps behind its lock: the wishes of others, the runs in progress, the past.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Alarm;
use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::TaskHandle;
use scheduler_core::Tick;
use scheduler_core::WallTime;

use super::conductor::Conductor;
use super::judge::Judge;
use super::judge::Replaced;
use super::rule::Rule;
use super::tale::Tale;
use super::timetable::FireTime;
use crate::notice::Wakers;
use crate::observe::Failure;
use crate::observe::History;
use crate::observe::Outcome;
use crate::observe::Recorded;
use crate::observe::TaskFacts;
use crate::observe::TaskState;
use crate::run::Cause;
use crate::run::Place;
use crate::run::Run;
use crate::run::Start;

/// How many times are remembered at which a task was resumed during one run.
const RESUMED_MAX: usize = 64;

/// The state of a task.
///
/// INVARIANT: its lock is the innermost one but for those of a cron rule's history and of the totals of
/// removed tasks; nobody else's code is called while it is held: no trigger of the user's, no body, no
/// listener, no destructor of theirs, no pool.
pub(super) struct State {
    pub(super) facts: Arc<TaskFacts>,
    pub(super) rule: Rule,
    /// Absent while it is being asked, by the thread that runs or renews the task.
    pub(super) judge: Option<Box<Judge>>,
    /// What the engine's task of this task does at present, or did and will be asked about.
    pub(super) present: Present,
    /// The run in the engine's task; between two runs it is the last one, whose parts the next takes over.
    ///
    /// INVARIANT: between runs only while there is a handle: it holds the engine's task, as that holds
    /// this.
    lead: Option<Box<Course>>,
    /// Runs that take place beside it, each in an engine's task of its own.
    pub(super) beside: Vec<Beside>,
    /// How many there have been.
    pub(super) seats: u64,
    /// How many runs have begun.
    pub(super) runs: u64,
    pub(super) wishes: Wishes,
    /// Why no run starts: how the task has ended, though it may be being run for the last time; or that it is disabled.
    pub(super) end: Option<TaskState>,
    pub(super) is_end_told: bool,
    /// Why the trigger could not say when the task fires next.
    pub(super) trigger_failure: Option<Box<Failure>>,
    pub(super) history: History,
    /// Who waits for the end of a run.
    pub(super) watchers: Wakers,
    /// The engine's task; absent before it is attached, and after its end.
    pub(super) handle: Option<TaskHandle<()>>,
    /// The conductor itself, between the drop of the engine's body, which kept it, and the end of the engine's task.
    ///
    /// INVARIANT: only while there is a handle: the engine reports that end, and this is taken.
    pub(super) own: Option<Arc<Conductor>>,
}

/// What others want of a task, and it has not seen to yet.
#[derive(Default)]
pub(super) struct Wishes {
    pub(super) rule: Option<Box<NewRule>>,
    pub(super) manual_run: bool,
    pub(super) pause: Option<Box<Pause>>,
    /// When it was resumed since it is to go by its newest rule: fire times of that which had come by then
    /// are to be passed over.
    pub(super) resumed: Vec<Now>,
}

/// Another rule, to be gone by.
pub(super) struct NewRule {
    pub(super) rule: Rule,
    /// How it is shown: as it was given.
    pub(super) text: String,
    /// Since when it counts.
    pub(super) from: Now,
    /// When the present rule was replaced: before, where the rule that replaced it was replaced, too,
    /// and never gone by.
    pub(super) replaced: Replaced,
}

/// Why and since when no run starts.
#[derive(Clone, Debug)]
pub(super) struct Pause {
    pub(super) note: Option<Arc<str>>,
    pub(super) since: DateTime<Utc>,
    pub(super) until: Option<DateTime<Utc>>,
    /// When it was said that it ends then.
    pub(super) said: Now,
}

/// What the engine's task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Present {
    /// It waits, or runs only to find that it is to do nothing.
    Nothing,
    /// It has started a run beside itself.
    Started(Now),
    /// A run is in progress, or waits for its next attempt.
    Run,
}

/// A run in progress, from its first attempt to the end of its last.
pub(super) struct Course {
    /// As its present attempt sees it, or the last one while it waits.
    pub(super) run: Run,
    pub(super) began: Now,
    /// When the next attempt is due, where it waits for that.
    pub(super) again_at: Option<Tick>,
    /// Whether somebody cancelled it: there is no further attempt.
    pub(super) is_called_off: bool,
    /// When the time of the present attempt is over.
    pub(super) deadline: Option<Tick>,
    /// Why the present attempt, or the last one, failed.
    pub(super) failure: Option<Box<Failure>>,
    /// Ends the present attempt when its time is over.
    pub(super) alarm: Option<Alarm>,
}

/// A run beside the engine's task of its task.
pub(super) struct Beside {
    /// That of its seat: the run is numbered when it begins.
    pub(super) number: u64,
    /// Since when it waits for a worker.
    pub(super) since: Tick,
    pub(super) fire: FireTime,
    pub(super) cause: Cause,
    /// Whether a later fire time has been decided about since: it waits too, or its run has begun.
    pub(super) is_overtaken: bool,
    pub(super) handle: Option<TaskHandle<()>>,
    /// Absent before it has begun.
    pub(super) course: Option<Course>,
}

/// Where a run takes place: in the engine's task of its task, or beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seat {
    Lead,
    Beside(u64),
}

impl State {
    pub(super) fn new(facts: Arc<TaskFacts>, rule: Rule, judge: Judge) -> Self {
        Self {
            facts,
            rule,
            judge: Some(Box::new(judge)),
            present: Present::Nothing,
            lead: None,
            beside: Vec::new(),
            seats: 0,
            runs: 0,
            wishes: Wishes::default(),
            end: None,
            is_end_told: false,
            trigger_failure: None,
            history: History::default(),
            watchers: Wakers::default(),
            handle: None,
            own: None,
        }
    }

    /// Goes by another rule, which is shown like that.
    pub(super) fn set_rule(
        &mut self,
        rule: Rule,
        text: String,
        judge: Box<Judge>,
        tale: &mut Tale,
    ) {
        self.facts = Arc::new(TaskFacts {
            kind: rule.kind(),
            rule: text.into(),
            period: rule.period(),
            zone: rule.zone().unwrap_or(self.facts.zone),
            ..TaskFacts::clone(&self.facts)
        });
        let old = self.judge.replace(judge);
        tale.drop_rule_later(old, std::mem::replace(&mut self.rule, rule));
    }

    /// The run in progress in the engine's task.
    pub(super) fn lead(&self) -> Option<&Course> {
        self.lead.as_deref().filter(|_| self.present == Present::Run)
    }

    #[inline]
    pub(super) fn course(&mut self, seat: Seat) -> Option<&mut Course> {
        match seat {
            Seat::Lead => self.lead.as_deref_mut().filter(|_| self.present == Present::Run),
            Seat::Beside(number) => self.beside_mut(number)?.course.as_mut(),
        }
    }

    /// All runs in progress, to be cancelled.
    pub(super) fn courses_mut(&mut self) -> impl Iterator<Item = &mut Course> {
        let lead = self.lead.as_deref_mut().filter(|_| self.present == Present::Run);
        lead.into_iter().chain(self.beside.iter_mut().filter_map(|beside| beside.course.as_mut()))
    }

    /// Takes note of a run that begins, made of the last one where nobody has kept that.
    #[inline]
    pub(super) fn open(&mut self, seat: Seat, place: Place<'_>, start: &Start<'_>) {
        if seat == Seat::Lead {
            self.present = Present::Run;
            if let Some(course) = &mut self.lead
                && course.run.begin_anew(start)
            {
                (course.began, course.deadline) = (start.engine.started(), start.deadline);
                (course.again_at, course.is_called_off) = (None, false);
                (course.failure, course.alarm) = (None, None);
                return;
            }
        }
        let course = Course {
            run: Run::begin(place, start),
            began: start.engine.started(),
            again_at: None,
            is_called_off: false,
            deadline: start.deadline,
            failure: None,
            alarm: None,
        };
        match seat {
            Seat::Lead => self.lead = Some(Box::new(course)),
            Seat::Beside(number) => {
                if let Some(beside) = self.beside_mut(number) {
                    beside.course = Some(course);
                }
            }
        }
    }

    /// Records a run that is over; says how long it took, and what it means for the task.
    #[inline]
    pub(super) fn record(
        &mut self,
        seat: Seat,
        outcome: &Outcome,
        now: &Now,
    ) -> Option<(Duration, Recorded)> {
        let course = match seat {
            Seat::Lead => self.lead.as_deref(),
            Seat::Beside(number) => {
                let beside = self.beside.iter().find(|beside| beside.number == number);
                beside.and_then(|beside| beside.course.as_ref())
            }
        }?;
        let took = now.tick.since(course.began.tick);
        let recorded = self.history.record(&course.run, course.began.wall, took, outcome);
        Some((took, recorded))
    }

    /// Lets go of a run that is over, and gives it out unless the next one is to be made of it.
    #[inline]
    pub(super) fn close(&mut self, seat: Seat, is_wanted: bool) -> Option<Run> {
        let course = match seat {
            Seat::Lead => {
                self.present = Present::Nothing;
                let is_kept = !is_wanted && self.handle.is_some();
                if is_kept { None } else { self.lead.take().map(|course| *course) }
            }
            Seat::Beside(number) => self.beside_mut(number)?.course.take(),
        };
        course.map(|course| course.run)
    }

    /// Lets go of what was kept for a next run, when there will be none.
    pub(super) fn take_spare(&mut self) -> Option<Run> {
        if self.present == Present::Run {
            return None;
        }
        self.lead.take().map(|course| course.run)
    }

    pub(super) fn beside_mut(&mut self, number: u64) -> Option<&mut Beside> {
        self.beside.iter_mut().find(|beside| beside.number == number)
    }

    pub(super) fn take_beside(&mut self, number: u64) -> Option<Beside> {
        let index = self.beside.iter().position(|beside| beside.number == number)?;
        Some(self.beside.remove(index))
    }

    /// All runs in progress, the one in the engine's task of this task first.
    pub(super) fn courses(&self) -> impl Iterator<Item = &Course> {
        self.lead()
            .into_iter()
            .chain(self.beside.iter().filter_map(|beside| beside.course.as_ref()))
    }

    /// The engine's tasks that may wait and have to look at a wish.
    pub(super) fn handles(&self) -> Vec<TaskHandle<()>> {
        let beside = self.beside.iter().filter_map(|beside| beside.handle.as_ref());
        self.handle.iter().chain(beside).cloned().collect()
    }

    /// The engine's task, where it waits for nothing but the end of runs beside.
    pub(super) fn lead_to_end(&self) -> Option<TaskHandle<()>> {
        let has_next = self.judge.as_ref().is_none_or(|judge| judge.due().is_some());
        let is_to_end = self.end.is_some() || self.beside.is_empty() && !has_next;
        self.handle.clone().filter(|_| is_to_end)
    }

    /// Whether anything is wanted of the task that its conductor has not seen to.
    #[inline]
    pub(super) fn has_wish(&self) -> bool {
        let Wishes { rule, manual_run, pause, resumed } = &self.wishes;
        let is_wished = rule.is_some() || *manual_run || pause.is_some() || !resumed.is_empty();
        is_wished || self.end.is_some()
    }

    /// Whether somebody wants what a worker that is about to start a run has to leave to the pace.
    pub(super) fn has_urgent_wish(&self) -> bool {
        self.end.is_some() || self.wishes.rule.is_some() || !self.wishes.resumed.is_empty()
    }
}

impl Wishes {
    /// Until when no run starts; none when the task is not paused.
    pub(super) fn paused_until(&self) -> Option<Due> {
        self.pause.as_ref().map(|pause| pause.end())
    }

    /// Ends a pause that was to end by now; says when it was over.
    pub(super) fn lift_pause(&mut self, now: Now) -> Option<Now> {
        let is_over = |pause: &mut Box<Pause>| pause.end().is_reached(now);
        let at = self.pause.take_if(is_over)?.ended(now);
        self.resume(at);
        Some(at)
    }

    /// Takes note that the task is to go by another rule from now on.
    pub(super) fn replace_rule(
        &mut self,
        (rule, text): (Rule, String),
        now: Now,
    ) -> Option<Box<NewRule>> {
        let (was_paused, resumed) = (self.pause.is_some(), std::mem::take(&mut self.resumed));
        let mut replaced = Replaced { at: now, was_paused, resumed };
        let mut before = self.rule.take();
        if let Some(before) = &mut before {
            std::mem::swap(&mut before.replaced, &mut replaced);
        }
        self.rule = Some(Box::new(NewRule { rule, text, from: now, replaced }));
        before
    }

    /// Takes out when the task was resumed while the present rule was to be gone by.
    pub(super) fn take_resumed(&mut self) -> Vec<Now> {
        let new = self.rule.as_mut().map(|new| &mut new.replaced.resumed);
        std::mem::take(new.unwrap_or(&mut self.resumed))
    }

    /// Takes note that the task is resumed. Of very many times during one run the last ones are one.
    pub(super) fn resume(&mut self, at: Now) {
        if self.resumed.len() == RESUMED_MAX {
            self.resumed.pop();
        }
        self.resumed.push(at);
    }
}

impl Pause {
    pub(super) fn end(&self) -> Due {
        self.until.map_or(Due::NEVER, |until| Due::Wall(until.into()))
    }

    /// What both clocks showed when it was over.
    ///
    /// The wall clock may have been set meanwhile, or the machine suspended: then that is the later of
    /// the two instants that are possible by the monotonic clock. What came in a pause is never replayed.
    pub(super) fn ended(&self, now: Now) -> Now {
        let Some(until) = self.until else { return now };
        // One that is over when it begins is a pause nevertheless.
        let wall = WallTime::from(until).max(self.said.wall);
        let from_said = self.said.tick + wall.since(self.said.wall);
        let since = u64::try_from(now.wall.since(wall).as_nanos()).unwrap_or(u64::MAX);
        let until_now = Tick::from_nanos(now.tick.as_nanos().saturating_sub(since));
        Now { tick: from_said.max(until_now).min(now.tick), wall: wall.min(now.wall) }
    }
}
