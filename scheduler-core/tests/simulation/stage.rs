//! The stage for bodies, listener and client, and the diary they write.
//!
//! Everything here runs inside the engine, called by it; the driver reads the diary after each step.

use super::client::Answer;
use super::clock::SimClock;
use super::op::ClientOp;
use super::plan::Settings;
use super::plant::Plant;
use super::timer::SimTimer;
use super::words::{Due, Now, Outcome};
use scheduler_core::{
    Clock, Event, RejectionPolicy, ScheduledThreadPool, TaskHandle, TaskState, UnstartedTask,
    VirtualWorkers,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// An observation; they are kept in the order in which they happened.
#[derive(Debug)]
pub(crate) enum Note {
    /// A body was entered for a new run, at this true time.
    Entered {
        task: usize,
        number: u64,
        fire_time: i64,
        at: Now,
    },
    /// A step of a body has ended, and keeps its worker busy for so long.
    Stepped {
        task: usize,
        outcome: Outcome,
        lasts: u64,
    },
    /// The future of a run is polled once more, and was asked to stop or not.
    PolledOn {
        task: usize,
        stop_asked: bool,
    },
    /// A body has done something to the pool.
    Did {
        op: ClientOp,
        answer: Answer,
    },
    RunStarted {
        task: usize,
    },
    RunFinished {
        task: usize,
        is_ok: bool,
        next: Option<i64>,
    },
    Ended {
        task: usize,
        state: TaskState,
    },
    /// A callback of a handle was called.
    Told {
        task: usize,
        state: TaskState,
    },
    /// A body was dropped.
    Dropped {
        task: usize,
    },
    /// A timer has fired, for the time that it was armed for; one that returned is finished later.
    Fired {
        task: usize,
        number: u64,
        due: Due,
        returned: bool,
        at: Now,
    },
    /// The end of a firing that returned was reported.
    Finished {
        task: usize,
        number: u64,
    },
    /// A timer heard that the clock was set back.
    SetBack {
        task: usize,
    },
    /// A timer heard that its pool has dropped it.
    TimerDropped {
        task: usize,
    },
    /// A timer has panicked.
    TimerPanicked {
        task: usize,
    },
    /// The destructor of a body panicked.
    Burst {
        task: usize,
    },
    WorkerStarted,
    WorkerStopped,
    WorkerRefused,
    Terminated,
    /// Something was noticed that is wrong by itself.
    Wrong(String),
}

/// The pool and the tasks, for the client and the bodies.
pub(crate) struct Stage {
    pub(crate) clock: Arc<SimClock>,
    pub(crate) plant: Option<Plant>,
    pub(crate) discards: bool,
    props: Mutex<Props>,
}

#[derive(Default)]
pub(crate) struct Props {
    pub(crate) pool: Option<ScheduledThreadPool>,
    /// By task; none where the pool has refused it.
    pub(crate) handles: Vec<Option<TaskHandle<()>>>,
    pub(crate) held: Vec<(usize, UnstartedTask)>,
    pub(crate) wakers: Vec<(usize, Waker)>,
    pub(crate) timers: Vec<SimTimer>,
    pub(crate) notes: Vec<Note>,
}

impl Stage {
    pub(crate) fn new(clock: Arc<SimClock>, plant: Option<Plant>, discards: bool) -> Arc<Self> {
        Arc::new(Self { clock, plant, discards, props: Mutex::default() })
    }

    /// The props, for a moment: nothing of the engine is called meanwhile.
    pub(crate) fn props(&self) -> MutexGuard<'_, Props> {
        self.props.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, note: Note) {
        self.props().notes.push(note);
    }

    pub(crate) fn pool(&self) -> Option<ScheduledThreadPool> {
        self.props().pool.clone()
    }

    pub(crate) fn handle(&self, task: usize) -> Option<TaskHandle<()>> {
        self.props().handles.get(task).cloned().flatten()
    }

    pub(crate) fn is_planted(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }

    /// Opens the pool that the seed has drawn.
    pub(crate) fn open_pool(
        self: &Arc<Self>,
        settings: &Settings,
        virtual_workers: &VirtualWorkers,
    ) {
        let (hook, ear) = (Arc::clone(self), Arc::clone(self));
        let hoards = self.is_planted(Plant::HoardingQueue);
        let slack = settings.slack + u64::from(self.is_planted(Plant::LazyPool));
        let policy = if self.discards { RejectionPolicy::Discard } else { RejectionPolicy::Abort };
        let pool = ScheduledThreadPool::builder()
            .core_size(settings.core_size)
            .keep_alive(Duration::from_nanos(settings.keep_alive))
            .slack(Duration::from_nanos(slack))
            .core_may_time_out(settings.core_may_time_out)
            .remove_on_cancel(settings.removes_on_cancel && !hoards)
            .shutdown_policy(settings.policy)
            .rejection_policy(policy)
            .thread_name_prefix("w")
            .clock(Arc::clone(&self.clock) as Arc<dyn Clock>)
            .virtual_workers(virtual_workers)
            .on_terminated(move || hook.note(Note::Terminated))
            .listener(move |event: &Event<'_>| ear.hear(event))
            .build();
        self.props().pool = Some(pool.expect("the drawn settings are valid"));
    }

    /// The listener of the pool.
    fn hear(&self, event: &Event<'_>) {
        let note = match event {
            Event::RunStarted { run } => Note::RunStarted { task: run.task_id().as_u64() as usize },
            Event::RunFinished { run, outcome, next, .. } => Note::RunFinished {
                task: run.task_id().as_u64() as usize,
                is_ok: outcome.is_ok(),
                next: next.and_then(|next| next.timestamp_nanos_opt()),
            },
            Event::TaskEnded { id, state, .. } => {
                if self.is_planted(Plant::DeafListener) && id.as_u64() % 4 == 3 {
                    return;
                }
                Note::Ended { task: id.as_u64() as usize, state: *state }
            }
            Event::WorkerStarted { .. } => Note::WorkerStarted,
            Event::WorkerStopped { .. } => Note::WorkerStopped,
            Event::WorkerRefused { .. } => Note::WorkerRefused,
            Event::TimerPanicked { id, call: "fire", .. } => {
                Note::TimerPanicked { task: id.as_u64() as usize }
            }
            Event::DropPanicked { id, .. } => Note::Burst { task: id.as_u64() as usize },
            other => Note::Wrong(format!("an event that nothing here causes: {other:?}")),
        };
        self.note(note);
    }
}
