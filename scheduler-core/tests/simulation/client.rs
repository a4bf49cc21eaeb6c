//! Performs an operation on the real pool, and returns the result.

use super::body::build;
use super::op::{Blueprint, ClientOp, MYSELF, TimerScript};
use super::plant::Plant;
use super::stage::{Note, Stage};
use super::timer::{Bell, SimTimer, arm};
use super::words::{Due, Rhythm};
use scheduler_core::{Error, TaskHandle, UnstartedTask};
use std::sync::Arc;
use std::time::Duration;

/// The result of an operation, to be compared with the model.
#[derive(Debug)]
pub(crate) enum Answer {
    /// There was nothing to do it to.
    Nothing,
    Done,
    /// The number of the task that was changed.
    To(usize),
    Submitted {
        task: usize,
        rejected: Option<Rejected>,
    },
    Cancelled {
        task: usize,
        won: bool,
    },
    Removed {
        task: usize,
        was_there: bool,
    },
    /// A timer was armed, or refused.
    Armed {
        task: usize,
        due: Due,
        is_refused: bool,
    },
    /// A timer was made.
    Made(usize),
    Drained(Vec<usize>),
    Accepted(bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rejected {
    ByPool,
    ByArgument,
    /// There is no worker, and none could be started.
    NoThread,
}

/// Does an operation to the pool; `me` is the task whose body does it.
pub(crate) fn perform(stage: &Arc<Stage>, op: &ClientOp, me: Option<usize>) -> Answer {
    match op {
        ClientOp::Cancel { pick, interrupts } => cancel(stage, *pick, *interrupts, me),
        ClientOp::Wake { pick, keeps_waker } => wake(stage, *pick, *keeps_waker, me),
        ClientOp::AskToStop(pick) => {
            find(stage, *pick, me).map_or(Answer::Nothing, |(task, handle)| {
                handle.ask_to_stop();
                Answer::To(task)
            })
        }
        ClientOp::Arm { pick, when } => {
            find_timer(stage, *pick, me).map_or(Answer::Nothing, |timer| arm(&timer, *when))
        }
        ClientOp::Disarm(pick) => find_timer(stage, *pick, me).map_or(Answer::Nothing, |timer| {
            timer.disarm().perform();
            Answer::To(timer.task)
        }),
        ClientOp::DropHeld(pick) => {
            take_held(stage, *pick).map_or(Answer::Nothing, |(task, held)| {
                drop(held);
                Answer::To(task)
            })
        }
        ClientOp::RunHeld(pick) => {
            take_held(stage, *pick).map_or(Answer::Nothing, |(task, held)| {
                held.run();
                Answer::To(task)
            })
        }
        ClientOp::DropPool => {
            let pool = stage.props().pool.take();
            if pool.is_some() { Answer::Done } else { Answer::Nothing }
        }
        op => ask_pool(stage, op),
    }
}

fn ask_pool(stage: &Arc<Stage>, op: &ClientOp) -> Answer {
    let Some(pool) = stage.pool() else { return Answer::Nothing };
    match op {
        ClientOp::Submit(blueprint) => return submit(stage, blueprint),
        ClientOp::MakeTimer(script) => return make_timer(stage, script),
        ClientOp::Remove(pick) => return remove(stage, *pick),
        ClientOp::ShutdownNow => {
            let drained = pool.shutdown_now().into_iter();
            let drained: Vec<_> = drained.map(|task| (task.id().as_u64() as usize, task)).collect();
            let tasks = drained.iter().map(|(task, _)| *task).collect();
            stage.props().held.extend(drained);
            return Answer::Drained(tasks);
        }
        ClientOp::SetKeepAlive(nanos) => {
            return Answer::Accepted(pool.set_keep_alive(Duration::from_nanos(*nanos)).is_ok());
        }
        ClientOp::SetCoreMayTimeOut(may) => {
            return Answer::Accepted(pool.set_core_may_time_out(*may).is_ok());
        }
        ClientOp::Prestart => return Answer::Accepted(pool.prestart()),
        ClientOp::SetCoreSize(size) => pool.set_core_size(*size),
        ClientOp::SetRemoveOnCancel(removes) => pool.set_remove_on_cancel(*removes),
        ClientOp::SetPolicy(policy) => pool.set_shutdown_policy(*policy),
        ClientOp::Purge => pool.purge(),
        ClientOp::Shutdown => pool.shutdown(),
        ClientOp::Cancel { .. }
        | ClientOp::Wake { .. }
        | ClientOp::AskToStop(_)
        | ClientOp::Arm { .. }
        | ClientOp::Disarm(_)
        | ClientOp::DropHeld(_)
        | ClientOp::RunHeld(_)
        | ClientOp::DropPool => return Answer::Nothing,
    }
    Answer::Done
}

fn submit(stage: &Arc<Stage>, blueprint: &Blueprint) -> Answer {
    let Some(pool) = stage.pool() else { return Answer::Nothing };
    let task = stage.props().handles.len();
    let told = misquoted(blueprint, stage, task);
    let built = build(told.as_ref().unwrap_or(blueprint), stage, task);
    // A body may be rejected and dropped, or run, before the submission returns.
    stage.props().handles.push(None);
    let handle = match pool.submit_task(built) {
        Ok(handle) => handle,
        Err(error) => {
            let rejected = rejected(&error);
            if rejected == Rejected::ByArgument {
                // No number was drawn.
                stage.props().handles.pop();
            }
            return Answer::Submitted { task, rejected: Some(rejected) };
        }
    };
    if handle.id().as_u64() as usize != task {
        stage.note(Note::Wrong(format!("task {task} got the number {}", handle.id())));
    }
    if stage.is_planted(Plant::LosingPool) && task % 4 == 3 {
        handle.cancel();
    }
    let callback_stage = Arc::clone(stage);
    handle.on_done(move |state| callback_stage.note(Note::Told { task, state }));
    stage.props().handles[task] = Some(handle);
    Answer::Submitted { task, rejected: None }
}

/// The blueprint that the pool gets instead, where a bug is planted there.
fn misquoted(blueprint: &Blueprint, stage: &Stage, task: usize) -> Option<Blueprint> {
    let mut told = blueprint.clone();
    match (stage.plant?, &mut told.rhythm) {
        (Plant::LateSubmit, _) => told.delay = told.delay.saturating_add(task as u64 % 2),
        (Plant::DriftingGrid, Rhythm::Rate(period)) => *period = period.saturating_add(1),
        _ => return None,
    }
    Some(told)
}

/// Why a submission gave no handle.
fn rejected(error: &Error) -> Rejected {
    match error {
        error if error.is_rejected() => Rejected::ByPool,
        error if error.is_no_thread() => Rejected::NoThread,
        _ => Rejected::ByArgument,
    }
}

fn cancel(stage: &Arc<Stage>, pick: u64, interrupts: bool, me: Option<usize>) -> Answer {
    let Some((task, handle)) = find(stage, pick, me) else { return Answer::Nothing };
    let won = if interrupts { handle.cancel_now() } else { handle.cancel() };
    Answer::Cancelled { task, won: won || stage.is_planted(Plant::LyingCancel) }
}

fn remove(stage: &Arc<Stage>, pick: u64) -> Answer {
    let (Some((task, handle)), Some(pool)) = (find(stage, pick, None), stage.pool()) else {
        return Answer::Nothing;
    };
    let removed = pool.remove(&handle);
    let was_there = removed.is_some();
    stage.props().held.extend(removed.map(|removed| (task, removed)));
    Answer::Removed { task, was_there }
}

fn wake(stage: &Arc<Stage>, pick: u64, keeps_waker: bool, me: Option<usize>) -> Answer {
    let (task, waker) = {
        let mut props = stage.props();
        let index = match (pick, me) {
            (MYSELF, Some(me)) => props.wakers.iter().position(|(task, _)| *task == me),
            (_, _) if props.wakers.is_empty() => None,
            _ => Some((pick % props.wakers.len() as u64) as usize),
        };
        let Some(index) = index else { return Answer::Nothing };
        if keeps_waker { props.wakers[index].clone() } else { props.wakers.swap_remove(index) }
    };
    waker.wake();
    Answer::To(task)
}

/// Makes a timer, which takes the number of a task.
fn make_timer(stage: &Arc<Stage>, script: &TimerScript) -> Answer {
    let Some(pool) = stage.pool() else { return Answer::Nothing };
    let task = stage.props().handles.len();
    let content = Bell { stage: Arc::clone(stage), task, script: script.clone() };
    let timer = pool.timer(format!("timer {task}"), content);
    if timer.id().as_u64() as usize != task {
        stage.note(Note::Wrong(format!("timer {task} got the number {}", timer.id())));
    }
    let mut props = stage.props();
    props.handles.push(None);
    props.timers.push(timer);
    Answer::Made(task)
}

fn find_timer(stage: &Stage, pick: u64, me: Option<usize>) -> Option<SimTimer> {
    let timers = &stage.props().timers;
    let timer = match (pick, me) {
        (MYSELF, Some(me)) => timers.iter().find(|timer| timer.task == me),
        (_, _) if timers.is_empty() => None,
        _ => timers.get((pick % timers.len() as u64) as usize),
    };
    timer.cloned()
}

/// A task that has a handle.
fn find(stage: &Stage, pick: u64, me: Option<usize>) -> Option<(usize, TaskHandle<()>)> {
    let count = stage.props().handles.len();
    let task = match (pick, me) {
        (MYSELF, Some(me)) => me,
        (_, _) if count == 0 => return None,
        _ => (pick % count as u64) as usize,
    };
    stage.handle(task).map(|handle| (task, handle))
}

fn take_held(stage: &Stage, pick: u64) -> Option<(usize, UnstartedTask)> {
    let mut props = stage.props();
    let index = (pick % props.held.len().max(1) as u64) as usize;
    (index < props.held.len()).then(|| props.held.swap_remove(index))
}
