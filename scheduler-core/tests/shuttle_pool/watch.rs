//! The history of each task, and its checks when the pool has terminated.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use scheduler_core::{
    Clock, Event, Listener, ManualClock, TaskHandle, TaskState, Tick, UnstartedTask,
};
use shuttle::thread;

/// The history of one task, as its body sees it. Shuttle does not switch at its atomics.
pub(super) struct Watch {
    due: Tick,
    runs_once: bool,
    seen: Arc<Seen>,
    all_runs: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Seen {
    runs: AtomicUsize,
    is_running: AtomicBool,
    overlaps: AtomicUsize,
    early: AtomicUsize,
    dropped: AtomicUsize,
    called: AtomicUsize,
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::SeqCst);
}

fn get(count: &AtomicUsize) -> usize {
    count.load(Ordering::SeqCst)
}

/// Counts the dropping of a body.
struct Token(Arc<Seen>);

impl Drop for Token {
    fn drop(&mut self) {
        add(&self.0.dropped);
    }
}

impl Watch {
    /// The body to be watched; to be made once.
    pub(super) fn body(&self, clock: &ManualClock) -> impl FnMut() + Send + use<> {
        let (token, clock, due) = (Token(Arc::clone(&self.seen)), clock.clone(), self.due);
        let all_runs = Arc::clone(&self.all_runs);
        move || {
            let seen = &token.0;
            if seen.is_running.swap(true, Ordering::SeqCst) {
                add(&seen.overlaps);
            }
            if clock.now() < due {
                add(&seen.early);
            }
            thread::yield_now();
            add(&seen.runs);
            add(&all_runs);
            seen.is_running.store(false, Ordering::SeqCst);
        }
    }
}

/// A task that the pool has taken.
pub(super) struct Accepted {
    pub(super) handle: TaskHandle<()>,
    watch: Watch,
    cancels_won: AtomicUsize,
}

impl Accepted {
    pub(super) fn cancel(&self) {
        self.cancels_won.fetch_add(usize::from(self.handle.cancel()), Ordering::SeqCst);
    }

    pub(super) fn cancel_now(&self) {
        self.cancels_won.fetch_add(usize::from(self.handle.cancel_now()), Ordering::SeqCst);
    }

    fn check(&self, told: Told) {
        let (seen, state) = (&self.watch.seen, self.handle.state());
        assert!(state.is_done(), "a task is open at the end: {state:?}");
        assert_eq!(get(&seen.overlaps), 0, "a task overlaps itself");
        assert_eq!(get(&seen.early), 0, "a task runs early");
        assert_eq!(get(&seen.dropped), 1, "a body is dropped once");
        assert_eq!(get(&seen.called), 1, "a callback is called once");
        assert_eq!(told.ended, 1, "a task ends once");
        let wins = get(&self.cancels_won);
        assert!(wins == 0 || wins == 1 && state == TaskState::Cancelled, "a cancel that won");
        if self.watch.runs_once {
            assert!(told.started <= 1 && get(&seen.runs) <= 1, "a one-shot runs once");
            assert!(state == TaskState::Cancelled || get(&seen.runs) == 1, "it has run");
            if told.ended_outside {
                assert_eq!(told.finished, 0, "two of them have the task");
            }
        } else {
            assert_eq!(told.started, told.finished, "each run is over");
        }
    }
}

/// The events of one task.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    started: usize,
    finished: usize,
    ended: usize,
    ended_outside: bool,
}

/// All tasks of a scene.
#[derive(Clone, Default)]
pub(super) struct Watches {
    accepted: Arc<Mutex<Vec<Arc<Accepted>>>>,
    told: Arc<Mutex<BTreeMap<u64, Told>>>,
    terminations: Arc<AtomicUsize>,
    runs: Arc<AtomicUsize>,
}

/// INVARIANT: held for some assignments only. Shuttle does not see these locks: a switch to another
/// thread while one is held would block the thread that runs all of them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watches {
    /// A watch for a task that runs once, not before it is due.
    pub(super) fn one_run(&self, due: Tick) -> Watch {
        Watch { due, runs_once: true, seen: Arc::default(), all_runs: Arc::clone(&self.runs) }
    }

    /// A watch for a task that recurs, and runs not before it is due first.
    pub(super) fn many_runs(&self, due: Tick) -> Watch {
        Watch { runs_once: false, ..self.one_run(due) }
    }

    pub(super) fn add(&self, watch: Watch, handle: TaskHandle<()>) -> Arc<Accepted> {
        let seen = Arc::clone(&watch.seen);
        handle.on_done(move |_| add(&seen.called));
        let accepted = Arc::new(Accepted { handle, watch, cancels_won: AtomicUsize::new(0) });
        lock(&self.accepted).push(Arc::clone(&accepted));
        accepted
    }

    pub(super) fn listener(&self) -> impl Listener + use<> {
        let told = Arc::clone(&self.told);
        move |event: &Event<'_>| {
            let is_outside = scheduler_core::Run::current().is_none();
            let (id, note): (_, fn(&mut Told, bool)) = match event {
                Event::RunStarted { run } => (run.task_id(), |told, _| told.started += 1),
                Event::RunFinished { run, .. } => (run.task_id(), |told, _| told.finished += 1),
                Event::TaskEnded { id, .. } => (*id, |told, is_outside| {
                    told.ended += 1;
                    told.ended_outside = is_outside;
                }),
                _ => return,
            };
            note(lock(&told).entry(id.as_u64()).or_default(), is_outside);
        }
    }

    pub(super) fn note_termination(&self) {
        add(&self.terminations);
    }

    /// The number of runs so far.
    pub(super) fn runs(&self) -> usize {
        get(&self.runs)
    }

    /// Checks that tasks that were handed out are open and have not run.
    pub(super) fn check_drained(&self, drained: &[UnstartedTask]) {
        let accepted = lock(&self.accepted).clone();
        for accepted in accepted {
            if drained.iter().any(|task| task.belongs_to(&accepted.handle)) {
                let runs = get(&accepted.watch.seen.runs);
                assert!(!accepted.watch.runs_once || runs == 0, "two of them have the task");
            }
        }
    }

    /// Judges all tasks, and says how many there were.
    pub(super) fn check(&self) -> usize {
        assert_eq!(get(&self.terminations), 1, "a pool terminates once");
        let accepted = lock(&self.accepted).clone();
        for accepted in &accepted {
            let id = accepted.handle.id().as_u64();
            // Copied, so that no lock is held while the engine is asked.
            let told = lock(&self.told).get(&id).copied().unwrap_or_default();
            accepted.check(told);
        }
        accepted.len()
    }
}
