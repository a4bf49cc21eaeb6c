//! A task at one moment, as others see it. Times never lie: what is shown as next is what will start.

use std::sync::Arc;

use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::WallTime;

use super::control::Control;
use super::policy::Overlap;
use super::state::Beside;
use super::state::Course;
use super::state::State;
use super::timetable::FireTime;
use super::timetable::Timetable;
use crate::observe::TaskSnapshot;
use crate::observe::TaskState;
use crate::run::Cause;

/// What is needed to say when a task is due next, outside its lock.
struct Outlook {
    pending: Option<FireTime>,
    timetable: Option<Timetable>,
    /// From when on a fire time may start a run; none when none may.
    from: Option<Now>,
    /// Whether the pending fire time is that of the run in progress.
    is_begun: bool,
    is_queued: bool,
    again_at: Option<Due>,
    wants_manual_run: bool,
    /// Whether a run beside others is to start as soon as a worker is free.
    is_beside_next: bool,
}

impl Control {
    /// The task at this moment.
    pub(crate) fn snapshot(&self) -> TaskSnapshot {
        let now = self.now();
        let state = self.conductor.lock();
        let outlook = Outlook::of(&state, self.conductor.policy.overlap, now);
        let pause = state.wishes.pause.clone();
        let mut snapshot = TaskSnapshot {
            facts: Arc::clone(&state.facts),
            state: shown(&state),
            is_paused: pause.is_some() && state.end.is_none(),
            pause_note: pause.as_ref().and_then(|pause| pause.note.clone()),
            paused_since: pause.as_ref().map(|pause| pause.since),
            paused_until: pause.as_ref().and_then(|pause| pause.until),
            next: None,
            would_run_at: None,
            running: state.courses().count(),
            running_since: state
                .courses()
                .map(|course| course.began.wall)
                .min()
                .map(WallTime::to_utc),
            last_runs: state.history.runs().collect(),
            streak: state.history.streak(),
            last_success: state.history.last_success(),
            counters: state.history.counters(),
        };
        drop(state);
        snapshot.next = outlook.next(now).map(WallTime::to_utc);
        if snapshot.is_paused {
            let resumed = Outlook { from: Some(now), ..outlook };
            snapshot.would_run_at = resumed.next(now).map(WallTime::to_utc);
        }
        snapshot
    }
}

fn shown(state: &State) -> TaskState {
    let is_waiting = |course: &Course| course.again_at.is_some();
    let mut courses = state.courses().peekable();
    if courses.peek().is_some() {
        return if courses.all(is_waiting) { TaskState::Retrying } else { TaskState::Running };
    }
    match state.end {
        Some(end) => end,
        None if state.wishes.pause.is_some() => TaskState::Paused,
        None => TaskState::Waiting,
    }
}

impl Outlook {
    fn of(state: &State, overlap: Overlap, now: Now) -> Self {
        let judge = state.judge.as_deref();
        let from = match (&state.wishes.pause, state.end) {
            (_, Some(_)) => None,
            (None, None) => Some(now),
            (Some(pause), None) => {
                pause.until.map(|until| at(WallTime::from(until).max(now.wall), now))
            }
        };
        let course = state.lead();
        let is_scheduled = |course: &Course| course.run.cause() == Cause::Schedule;
        let is_next = |beside: &Beside| {
            let may_start = beside.cause == Cause::Manual || state.wishes.pause.is_none();
            beside.course.is_none() && may_start
        };
        Self {
            pending: judge.and_then(|judge| judge.pending()),
            timetable: judge.map(|judge| judge.sketch()),
            from,
            is_begun: course.is_some_and(is_scheduled),
            is_queued: course.is_some() && overlap == Overlap::QueueOne,
            again_at: course.and_then(|course| course.again_at).map(Due::Tick),
            wants_manual_run: state.wishes.manual_run && state.end.is_none(),
            is_beside_next: state.end.is_none() && state.beside.iter().any(is_next),
        }
    }

    /// When the next run starts, as far as that is known.
    fn next(&self, now: Now) -> Option<WallTime> {
        if self.is_beside_next || self.wants_manual_run && !self.is_begun {
            return Some(now.wall);
        }
        let from = self.from?;
        if let Some(again_at) = self.again_at {
            return Some(again_at.as_wall(now).max(from.wall));
        }
        let (pending, timetable) = (self.pending?, self.timetable.as_ref()?);
        if pending.due == Due::NEVER {
            return None;
        }
        let is_late = pending.due.is_reached(now);
        if is_late && !self.is_begun && from == now && !self.is_queued {
            // It waits for a worker.
            return Some(now.wall);
        }
        let next = timetable.upcoming(pending, from)?;
        if self.is_queued && is_late && timetable.upcoming(pending, now)? != pending {
            return self.after_queued(timetable, pending, now);
        }
        Some(next.due.as_wall(now))
    }

    /// The next run after one in progress behind which one fire time may be queued: that starts when
    /// the run ends, which nobody knows.
    fn after_queued(&self, timetable: &Timetable, pending: FireTime, now: Now) -> Option<WallTime> {
        let second = timetable.following_sketch(pending)?;
        let is_queued = second.due.is_reached(now) || !self.is_begun;
        (!is_queued).then(|| second.due.as_wall(now))
    }
}

/// The reading of both clocks at a later time of the wall clock, if it is not set.
fn at(wall: WallTime, now: Now) -> Now {
    Now { tick: Due::Wall(wall).as_tick(now), wall }
}
