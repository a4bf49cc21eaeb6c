//! How a run begins, on a worker's thread: what it is, and what is called.

use std::fmt;
use std::sync::Arc;

use scheduler_core::Body;
use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::Tick;

use super::belated::Waiting;
use super::conductor::Conductor;
use super::conductor::Guard;
use super::future::RunFuture;
use super::state::Present;
use super::state::Seat;
use super::state::State;
use super::tale::Tale;
use super::timetable::FireTime;
use crate::inject::Call;
use crate::observe::Event;
use crate::observe::EventKind;
use crate::observe::Failure;
use crate::observe::Span;
use crate::observe::StopReason;
use crate::observe::TaskFacts;
use crate::observe::catch;
use crate::run::Cause;
use crate::run::Place;
use crate::run::Run;
use crate::run::Start;
use crate::run::StopCause;
use crate::run::TaskError;
use crate::run::TaskResult;

/// A run that begins.
pub(super) struct Opening {
    pub(super) run: Run,
    /// What a span tells of the task, where there are spans.
    facts: Option<Arc<TaskFacts>>,
}

impl Opening {
    pub(super) fn span(&self) -> Option<Span> {
        self.facts.as_ref().map(|facts| Span::of_run(&self.run, facts))
    }
}

/// Calls, inside a span where there is one.
pub(super) fn in_scope<R>(span: Option<&Span>, call: impl FnOnce() -> R) -> R {
    match span {
        Some(span) => span.in_scope(call),
        None => call(),
    }
}

/// The call of a plain function. What it takes and gives stays in one place: moving it through the doors
/// around the call costs more than the doors.
struct Scene<'a> {
    call: &'a (dyn Fn(&Run) -> TaskResult + Send + Sync),
    span: Option<&'a Span>,
    error: Option<TaskError>,
}

impl Scene<'_> {
    #[inline]
    fn play(&mut self, run: &Run) -> Result<(), Failure> {
        let called = match self.span {
            None => catch(|| self.call(run)),
            Some(span) => span.in_scope(|| catch(|| self.call(run))),
        };
        match &self.error {
            _ if called.is_err() => called,
            Some(error) => Err(Failure::from_error(error)),
            None => Ok(()),
        }
    }

    fn call(&mut self, run: &Run) {
        self.error = (self.call)(run).err();
    }
}

/// What the engine is told of a failure, and tells nobody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsuccessful;

impl fmt::Display for Unsuccessful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task says why")
    }
}

/// What a worker that is there is to do.
enum Choice {
    Nothing,
    /// Another attempt of the run in progress.
    Again,
    Start(FireTime, Cause),
    StartBeside(FireTime),
}

/// What the body of an engine's task keeps.
struct Keeper {
    conductor: Arc<Conductor>,
    seat: Seat,
}

impl Keeper {
    fn run(&self, call: &(dyn Fn(&Run) -> TaskResult + Send + Sync)) -> Result<(), Unsuccessful> {
        self.conductor.run(self.seat, call)
    }

    fn future(&self) -> RunFuture {
        RunFuture::new(&self.conductor, self.seat)
    }
}

/// The engine drops the body before it reports the end of its task, which the conductor has to hear.
impl Drop for Keeper {
    fn drop(&mut self) {
        if self.seat == Seat::Lead {
            let mut state = self.conductor.lock();
            if state.handle.is_some() {
                state.own = Some(Arc::clone(&self.conductor));
            }
        }
    }
}

impl Conductor {
    /// What the engine is to run.
    pub(super) fn body(self: &Arc<Self>, seat: Seat) -> Body {
        let keeper = Keeper { conductor: Arc::clone(self), seat };
        match &self.call {
            Call::Sync(call) => {
                let call = Arc::clone(call);
                Body::new(move || keeper.run(&*call))
            }
            Call::Async(_) => Body::new_async(move || keeper.future()),
        }
    }

    /// One attempt of a plain function.
    fn run(
        self: &Arc<Self>,
        seat: Seat,
        call: &(dyn Fn(&Run) -> TaskResult + Send + Sync),
    ) -> Result<(), Unsuccessful> {
        let Some(opening) = self.begin(seat) else { return Ok(()) };
        let span = opening.span();
        let mut scene = Scene { call, span: span.as_ref(), error: None };
        let scene = &mut scene;
        opening.run.enter(|run| match scene.play(run) {
            Ok(()) => Ok(()),
            Err(failure) => {
                span.iter().for_each(|span| span.fail(&failure));
                self.note_failure(seat, run, &failure);
                Err(Unsuccessful)
            }
        })
    }

    /// Keeps why an attempt failed until the engine says that it is over.
    pub(super) fn note_failure(&self, seat: Seat, run: &Run, failure: &Failure) {
        let mut state = self.lock();
        if let Some(course) = state.course(seat).filter(|course| course.is_attempt(run)) {
            course.failure = Some(Box::new(failure.clone()));
        }
    }

    /// Begins an attempt; none when there is nothing to run.
    pub(super) fn begin(self: &Arc<Self>, seat: Seat) -> Option<Opening> {
        let mut state = self.lock();
        let begun = scheduler_core::Run::with_current(|engine| match seat {
            Seat::Lead => self.begin_plainly(&mut state, engine),
            Seat::Beside(_) => None,
        })?;
        if let Some(run) = begun {
            let facts = cfg!(feature = "tracing").then(|| Arc::clone(&state.facts));
            return Some(Opening { run, facts });
        }
        self.begin_fully(state, seat)
    }

    /// Begins a run where nothing is to be decided, and nobody is told; none where the full way has to be
    /// gone, which comes to the same.
    #[inline]
    fn begin_plainly(&self, state: &mut State, engine: &scheduler_core::Run) -> Option<Run> {
        let has_more_to_do = self.bus.is_heard() || self.policy.timeout.is_some();
        if has_more_to_do || state.present != Present::Nothing || state.has_wish() {
            return None;
        }
        let now = engine.started();
        let judge = state.judge.as_mut().filter(|judge| judge.is_in_time(&now))?;
        let fire = judge.begin_in_time(now)?;
        self.first_attempt(state, Seat::Lead, (fire, Cause::Schedule), engine)
    }

    fn begin_fully(self: &Arc<Self>, state: Guard<'_>, seat: Seat) -> Option<Opening> {
        let now = scheduler_core::Run::with_current(scheduler_core::Run::started)?;
        let (mut state, mut tale) = (state, Tale::default());
        self.lift_pause(&mut state, &mut tale, now);
        let (mut state, choice) = match seat {
            Seat::Lead => self.choose(state, &mut tale, now),
            Seat::Beside(number) => self.choose_beside(state, number, &mut tale, now),
        };
        let mut beside = None;
        let run = match choice {
            Choice::Nothing => None,
            Choice::StartBeside(fire) => {
                state.present = Present::Started(now);
                beside = Some(state.hand_over(fire, Cause::Schedule, now));
                None
            }
            Choice::Again => self.next_attempt(&mut state, seat, now),
            Choice::Start(fire, cause) => scheduler_core::Run::with_current(|engine| {
                self.first_attempt(&mut state, seat, (fire, cause), engine)
            })?,
        };
        let opening = run.map(|run| {
            let facts = cfg!(feature = "tracing").then(|| Arc::clone(&state.facts));
            Opening { run, facts }
        });
        drop(state);
        self.tell_start(opening.as_ref(), &mut tale);
        tale.out(self, None, now);
        if let Some(number) = beside {
            // A pool that is shut down takes none, and will not run this one again either.
            drop(self.start_beside(number));
        }
        let opening = opening?;
        if let Some(deadline) = self.deadline(now) {
            self.limit(seat, &opening.run, deadline);
        }
        Some(opening)
    }

    fn choose<'a>(
        &'a self,
        mut state: Guard<'a>,
        tale: &mut Tale,
        now: Now,
    ) -> (Guard<'a>, Choice) {
        let is_paused = state.wishes.pause.is_some();
        if let Some(course) = state.lead() {
            let is_due = course.again_at.is_some_and(|at| at <= now.tick);
            let may_go_on = state.end.is_none() && !course.is_called_off;
            let goes_on = is_due && may_go_on && !is_paused;
            return (state, if goes_on { Choice::Again } else { Choice::Nothing });
        }
        if state.has_urgent_wish() {
            return (state, Choice::Nothing);
        }
        if std::mem::take(&mut state.wishes.manual_run) {
            return (state, Choice::Start(FireTime::manual(now), Cause::Manual));
        }
        if is_paused {
            return (state, Choice::Nothing);
        }
        let in_time = state.judge.as_mut().filter(|judge| judge.is_in_time(&now));
        if let Some(fire) = in_time.and_then(|judge| judge.begin_in_time(now)) {
            return (state, Choice::Start(fire, Cause::Schedule));
        }
        let mut start = None;
        state = self.judged(state, tale, now, |judge| {
            let verdict = judge.begin(now)?;
            start = verdict.start.map(|fire| (fire, judge.starts_beside()));
            Ok(verdict.skips)
        });
        // RACE: where a trigger was asked, others may have had wishes meanwhile.
        let is_revoked = state.has_urgent_wish() || state.wishes.pause.is_some();
        let choice = match start.filter(|_| !is_revoked) {
            None => Choice::Nothing,
            Some((fire, true)) => Choice::StartBeside(fire),
            Some((fire, false)) => Choice::Start(fire, Cause::Schedule),
        };
        (state, choice)
    }

    fn choose_beside<'a>(
        &'a self,
        mut state: Guard<'a>,
        number: u64,
        tale: &mut Tale,
        now: Now,
    ) -> (Guard<'a>, Choice) {
        if state.end.is_some() {
            return (state, Choice::Nothing);
        }
        let is_paused = state.wishes.pause.is_some();
        let Some(beside) = state.beside_mut(number) else { return (state, Choice::Nothing) };
        let choice = match &beside.course {
            None if beside.cause == Cause::Manual => {
                Choice::Start(FireTime::manual(now), Cause::Manual)
            }
            None if is_paused => Choice::Nothing,
            None => {
                let waiting = (number, Waiting::of(beside));
                let (state, fire) = self.choose_waiting(state, waiting, tale, now);
                let start = |fire| Choice::Start(fire, Cause::Schedule);
                return (state, fire.map_or(Choice::Nothing, start));
            }
            Some(course) if is_paused || course.is_called_off => Choice::Nothing,
            Some(course) if course.again_at.is_some_and(|at| at <= now.tick) => Choice::Again,
            Some(_) => Choice::Nothing,
        };
        (state, choice)
    }

    #[inline]
    fn first_attempt(
        &self,
        state: &mut State,
        seat: Seat,
        (fire, cause): (FireTime, Cause),
        engine: &scheduler_core::Run,
    ) -> Option<Run> {
        let number = state.draw_number();
        let now = engine.started();
        let due = fire.due.as_wall(now);
        let fire_time = if fire.at == fire.due { due } else { fire.at.as_wall(now) };
        let deadline = self.deadline(now);
        let start = Start { number, attempt: 1, cause, fire_time, due, deadline, engine };
        state.open(seat, self.place(), &start);
        state.course(seat).map(|course| course.run.clone())
    }

    fn next_attempt(&self, state: &mut State, seat: Seat, now: Now) -> Option<Run> {
        let course = state.course(seat)?;
        let (last, deadline) = (&course.run, self.deadline(now));
        let run = scheduler_core::Run::with_current(|engine| {
            let start = Start {
                number: last.number(),
                attempt: last.attempt() + 1,
                cause: last.cause(),
                fire_time: last.planned_for(),
                due: course.again_at.map_or(now.wall, |at| Due::Tick(at).as_wall(now)),
                deadline,
                engine,
            };
            Run::begin(self.place(), &start)
        })?;
        run.keep_notes(last.take_notes());
        (course.run, course.deadline) = (run.clone(), deadline);
        (course.again_at, course.failure) = (None, None);
        Some(run)
    }

    fn place(&self) -> Place<'_> {
        Place { task: &self.name, pool: &self.pool, clock: &self.clock }
    }

    fn deadline(&self, now: Now) -> Option<Tick> {
        self.policy.timeout.map(|limit| now.tick + limit)
    }

    fn tell_start(&self, opening: Option<&Opening>, tale: &mut Tale) {
        if let Some(Opening { run, .. }) = opening
            && self.bus.is_heard()
        {
            let kind = EventKind::RunStarted { run: run.info(), late: run.lateness() };
            tale.tell(Event::of(run.started_at(), &self.facts(), kind));
        }
    }

    /// Sees to it that an attempt is asked to stop when its time is over.
    fn limit(self: &Arc<Self>, seat: Seat, run: &Run, deadline: Tick) {
        let Some(pool) = self.pool.upgrade() else { return };
        let (conductor, limited) = (Arc::downgrade(self), run.clone());
        let alarm = pool.call_at(deadline, move || {
            if let Some(conductor) = conductor.upgrade() {
                conductor.time_is_over(seat, &limited);
            }
        });
        let mut state = self.lock();
        if let Some(course) = state.course(seat).filter(|course| course.is_attempt(run)) {
            course.alarm = Some(alarm);
        }
    }

    fn time_is_over(&self, seat: Seat, run: &Run) {
        let mut state = self.lock();
        let is_in_progress = state.course(seat).is_some_and(|course| course.is_attempt(run));
        let is_first = is_in_progress && run.request_stop(StopCause::Timeout);
        drop(state);
        if is_first {
            run.heed_stop();
            let kind = EventKind::StopAsked { run: run.info(), reason: StopReason::Timeout };
            self.bus.emit(Event::of(self.clock.wall(), &self.facts(), kind));
        }
    }
}

impl State {
    /// The number of a new run.
    pub(super) fn draw_number(&mut self) -> u64 {
        self.runs += 1;
        self.runs
    }
}

/// What came of a call that may have panicked.
pub(super) fn flat(result: Result<TaskResult, Failure>) -> Result<(), Failure> {
    result?.map_err(|error| Failure::from_error(&error))
}
