//! The conductor of one task: answers the engine when the task is due next.

use std::fmt;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::Weak;

use scheduler_core::Asked;
use scheduler_core::Clock;
use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::Occasion;
use scheduler_core::Pace;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::Task;
use scheduler_core::TaskHandle;
use scheduler_core::WallTime;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use super::beside::Passing;
use super::chance::Chance;
use super::control::Control;
use super::judge::Ended;
use super::judge::Judge;
use super::judge::Skip;
use super::outlook::Outlook;
use super::policy::Policy;
use super::rule::Rule;
use super::state::NewRule;
use super::state::Seat;
use super::state::State;
use super::tale::Tale;
use super::timetable::Timetable;
use crate::inject::Call;
use crate::observe::Bus;
use crate::observe::Event;
use crate::observe::EventKind;
use crate::observe::Failure;
use crate::observe::TaskFacts;
use crate::observe::TaskState;
use crate::observe::catch;

/// What a conductor is made of.
pub(crate) struct Parts {
    pub(crate) facts: TaskFacts,
    pub(crate) rule: Rule,
    /// Tasks with the same policies have them together.
    pub(crate) policy: Arc<Policy>,
    pub(crate) call: Call,
    /// The pool in which the task runs; the conductor does not keep it from being dropped.
    pub(crate) pool: Arc<ScheduledThreadPool>,
    /// The clock of that pool.
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) bus: Arc<Bus>,
    /// Present where the task is disabled: what is wrong with its attributes, if anything.
    pub(crate) disabled: Option<String>,
    /// Is called when the task has ended.
    pub(crate) on_end: Option<Arc<OnEnd>>,
}

/// Hears that the task of this name has ended.
pub(crate) type OnEnd = dyn Fn(&Arc<str>) + Send + Sync;

/// Conducts one task: decides when it is due, starts its runs, knows what became of them.
pub(crate) struct Conductor {
    pub(super) name: Arc<str>,
    pub(super) policy: Arc<Policy>,
    pub(super) call: Call,
    pub(super) chance: Chance,
    pub(super) clock: Arc<dyn Clock>,
    /// RACE: weak, because the pool keeps its tasks and a task its conductor.
    pub(super) pool: Weak<ScheduledThreadPool>,
    pub(super) bus: Arc<Bus>,
    /// What is wrong with the attributes of a disabled task; empty if nothing is.
    pub(super) faults: Box<str>,
    pub(super) on_end: Option<Arc<OnEnd>>,
    state: Mutex<State>,
}

pub(super) type Guard<'a> = MutexGuard<'a, State>;

impl Conductor {
    /// Makes a conductor whose task is still to be submitted.
    pub(crate) fn make(parts: Parts) -> Control {
        Control::new(Self::new(parts))
    }

    /// Makes a conductor and submits its task.
    #[cfg(test)]
    pub(crate) fn start(parts: Parts) -> Result<Control, scheduler_core::Error> {
        let pool = Arc::clone(&parts.pool);
        let control = Self::make(parts);
        control.submit(&pool)?;
        Ok(control)
    }

    fn new(parts: Parts) -> Arc<Self> {
        let Parts { facts, rule, policy, call, pool, clock, bus, disabled, on_end } = parts;
        let chance = Chance::new(policy.seed, &facts.name);
        let timetable = Timetable::new(&rule, policy.jitter, chance);
        let judge = Judge::new(timetable, &policy, Now::read(&*clock));
        let mut state = State::new(Arc::new(facts), rule, judge);
        state.end = disabled.as_ref().map(|_| TaskState::Disabled);
        Arc::new(Self {
            name: Arc::clone(&state.facts.name),
            policy,
            call,
            chance,
            clock,
            pool: Arc::downgrade(&pool),
            bus,
            faults: disabled.unwrap_or_default().into(),
            on_end,
            state: Mutex::new(state),
        })
    }

    pub(super) fn task(self: &Arc<Self>) -> Task<()> {
        let task = Task::paced(Lead(Arc::downgrade(self)), self.body(Seat::Lead));
        task.name(Arc::clone(&self.name))
    }

    /// Takes the engine's task, which may be running already.
    ///
    /// RACE: a caller that had a wish after the engine's first question found no handle to renew it by. And an end
    /// before this was not heard: see [`Lead`].
    pub(super) fn attach(self: &Arc<Self>, handle: &TaskHandle<()>) {
        let mut state = self.lock();
        state.handle = Some(handle.clone());
        let is_wished = state.has_wish();
        drop(state);
        if handle.is_done() {
            self.engine_has_ended();
        } else if is_wished {
            handle.renew();
        }
    }

    fn is_attached(&self) -> bool {
        self.lock().handle.is_some()
    }

    pub(super) fn lock(&self) -> Guard<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the judge; outside the lock where that asks a trigger. One that cannot answer is asked again later.
    pub(super) fn judged<'a>(
        &'a self,
        mut state: Guard<'a>,
        tale: &mut Tale,
        now: Now,
        ask: impl FnOnce(&mut Judge) -> Result<Vec<Skip>, scheduler_core::Failure>,
    ) -> Guard<'a> {
        let answer = match &mut state.judge {
            None => return state,
            Some(judge) if !judge.asks() => ask(judge),
            Some(_) => {
                let Some(mut judge) = state.judge.take() else { return state };
                drop(state);
                let answer = ask(&mut judge);
                state = self.lock();
                state.judge = Some(judge);
                answer
            }
        };
        match answer {
            Ok(skips) => tale.skip(&mut state, skips, now),
            // INVARIANT: a cron expression never fails; if it does, it is not known when the task is due.
            Err(failure) => {
                state.end.get_or_insert(TaskState::Failed);
                let (failure, at) = (Failure::from_engine(&failure), now.wall.to_utc());
                let kind = EventKind::HookFailed { hook: "trigger", failure };
                tale.tell(Event::of(at, &state.facts, kind));
            }
        }
        self.note_trigger(&mut state, tale, now);
        state
    }

    /// Takes note of whether the trigger could answer.
    fn note_trigger(&self, state: &mut State, tale: &mut Tale, now: Now) {
        let Some(judge) = &state.judge else { return };
        if let Some((failure, asked_again_in)) = judge.take_failure(now) {
            let failure = Failure::from_engine(&failure);
            state.trigger_failure = Some(Box::new(failure.clone()));
            let kind = EventKind::TriggerFailed { failure, asked_again_in };
            tale.tell(Event::of(now.wall.to_utc(), &state.facts, kind));
        } else if !judge.has_failed() {
            state.trigger_failure = None;
        }
    }

    /// Says when the engine's task is due next, with all wishes seen to.
    fn plan<'a>(
        &'a self,
        mut state: Guard<'a>,
        tale: &mut Tale,
        now: Now,
    ) -> (Guard<'a>, Option<Due>) {
        self.lift_pause(&mut state, tale, now);
        loop {
            if let Some(course) = state.lead() {
                let again_at = course.again_at;
                if state.end.is_none() && !course.is_called_off {
                    let paused = state.wishes.paused_until();
                    return (state, paused.or(again_at.map(Due::Tick)));
                }
                state = self.give_up(state, Seat::Lead, tale, now);
            } else if let Some(end) = state.end {
                tale.end(&mut state, end);
                return (state, None);
            } else if let Some(wish) = state.wishes.rule.take() {
                state = self.take_rule(state, *wish, tale, now);
            } else if !state.wishes.resumed.is_empty() {
                let resumed = state.wishes.resumed.remove(0);
                state = self.judged(state, tale, now, |judge| judge.resumed(resumed));
            } else if state.wishes.manual_run {
                return (state, Some(Due::Tick(now.tick)));
            } else {
                let due = state.judge.as_ref().and_then(|judge| judge.due());
                match (due, state.wishes.paused_until()) {
                    (Some(_), Some(until)) => return (state, Some(until)),
                    (Some(due), None) => return (state, Some(due)),
                    // The task ends with its last run, which may still fail and be tried again.
                    (None, until) if !state.beside.is_empty() => {
                        return (state, Some(until.unwrap_or(Due::NEVER)));
                    }
                    (None, _) => state.end = Some(TaskState::Completed),
                }
            }
        }
    }

    /// Ends a pause whose time is over; says whether there was one.
    pub(super) fn lift_pause(&self, state: &mut State, tale: &mut Tale, now: Now) -> bool {
        let Some(at) = state.wishes.lift_pause(now) else { return false };
        tale.resume(Outlook::of(self, state, now));
        state.pass_over_beside(Passing::Resumed(at), tale, now);
        true
    }

    /// Drops what may be the user's; a panic of its destructor is told of. Not to be called under the lock.
    pub(super) fn let_go<V>(&self, value: V, now: Now) {
        if let Err(failure) = catch(|| drop(value)) {
            let kind = EventKind::DropPanicked { failure };
            self.bus.emit(Event::of(now.wall.to_utc(), &self.facts(), kind));
        }
    }

    /// What is known of the task now. Not to be called under the lock.
    pub(super) fn facts(&self) -> Arc<TaskFacts> {
        Arc::clone(&self.lock().facts)
    }

    /// A judge of a rule that was not asked yet.
    pub(super) fn judge_of(&self, rule: &Rule, now: Now) -> Box<Judge> {
        let timetable = Timetable::new(rule, self.policy.jitter, self.chance);
        Box::new(Judge::new(timetable, &self.policy, now))
    }

    /// Goes by another rule from now on.
    fn take_rule<'a>(
        &'a self,
        mut state: Guard<'a>,
        NewRule { rule, text, from, replaced }: NewRule,
        tale: &mut Tale,
        now: Now,
    ) -> Guard<'a> {
        state = self.judged(state, tale, now, |judge| judge.replaced(&replaced));
        let mut judge = self.judge_of(&rule, from);
        drop(state);
        let first = judge.first(from);
        state = self.lock();
        state.set_rule(rule, text, judge, tale);
        // What has come since then, while the last run was in progress, is judged as such.
        let resumed = state.wishes.take_resumed();
        let last = Ended { began: from, at: now, resumed };
        let judged = |judge: &mut Judge| first.and_then(|()| judge.ended_beside(&last));
        state = self.judged(state, tale, now, judged);
        let (outlook, facts) = (Outlook::of(self, &state, now), Arc::clone(&state.facts));
        drop(state);
        tale.tell(rescheduled(&facts, outlook.next(now), now));
        self.lock()
    }

    fn answer(&self, asked: &Asked<'_>) -> Option<Due> {
        let mut state = self.lock();
        if matches!(asked.occasion, Occasion::RunEnded { .. })
            && let Some(due) = self.end_plainly(&mut state, &asked.now)
        {
            return Some(due);
        }
        self.answer_fully(state, asked)
    }

    fn answer_fully(&self, state: Guard<'_>, asked: &Asked<'_>) -> Option<Due> {
        let (now, mut tale) = (asked.now, Tale::default());
        let state = match asked.occasion {
            Occasion::First => {
                let first = |judge: &mut Judge| judge.first(now).map(|()| Vec::new());
                self.judged(state, &mut tale, now, first)
            }
            Occasion::RunEnded { .. } => self.step_over(state, &mut tale, now),
            // The pending fire time is that of the run, which has come whatever the clock shows now.
            Occasion::Renewed if state.lead().is_some() => state,
            Occasion::Renewed => {
                let renew = |judge: &mut Judge| {
                    judge.renew(now);
                    Ok(Vec::new())
                };
                self.judged(state, &mut tale, now, renew)
            }
        };
        let (state, due) = self.plan(state, &mut tale, now);
        let next = tale.outlook(self, &state, now);
        drop(state);
        tale.out(self, next, now);
        due
    }

    /// The engine's task has ended: by itself, or because its pool has dropped it.
    fn engine_has_ended(&self) {
        let (now, mut tale) = (Now::read(&*self.clock), Tale::default());
        let mut state = self.lock();
        let (handle, spare, own) = (state.handle.take(), state.take_spare(), state.own.take());
        let end = *state.end.get_or_insert(TaskState::Cancelled);
        if state.course(Seat::Lead).is_some_and(|course| course.again_at.is_some()) {
            state = self.give_up(state, Seat::Lead, &mut tale, now);
        }
        tale.end(&mut state, end);
        // A pause that nobody ends any more may hold up attempts of runs beside.
        let beside = state.handles();
        drop(state);
        tale.out(self, None, now);
        drop((handle, spare, own));
        beside.iter().for_each(TaskHandle::renew);
    }
}

/// That a task has these facts from now on.
pub(super) fn rescheduled(facts: &Arc<TaskFacts>, next: Option<WallTime>, now: Now) -> Event {
    let kind =
        EventKind::Rescheduled { rule: Arc::clone(&facts.rule), next: next.map(WallTime::to_utc) };
    Event::of(now.wall.to_utc(), facts, kind)
}

/// A conductor, as the engine's task of its task asks it.
///
/// INVARIANT: weak, because an engine's task keeps its pace as long as there is a run of it, which a task or
/// a listener may keep, and these are kept by the conductor. The body is what keeps the conductor: the
/// engine drops it when the task ends, and the conductor keeps itself until it has heard of the end.
struct Lead(Weak<Conductor>);

impl Pace for Lead {
    fn next(&self, asked: &Asked<'_>) -> Option<Due> {
        self.0.upgrade()?.answer(asked)
    }

    /// One that was not attached yet was refused by its pool, or looks itself whether it has ended.
    fn ended(&self) {
        let Some(conductor) = self.0.upgrade() else { return };
        if conductor.is_attached() {
            conductor.engine_has_ended();
        }
        Control::new(conductor).let_go();
    }
}

impl fmt::Debug for Conductor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conductor").field("task", &self.name).finish_non_exhaustive()
    }
}
