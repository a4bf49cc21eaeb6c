//! The scripts of tasks, and calls that follow them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::base::sync::Mutex;
use crate::define::settings::word;
use crate::run::inject::Call;
use crate::run::{Run, TaskError, TaskResult};
use crate::testing::world::World;

/// The script of one task.
#[derive(Debug, Default)]
pub(super) struct TaskScript {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The time that an attempt takes by default.
    takes: Duration,
    /// The times that the next attempts take.
    takes_next: VecDeque<Duration>,
    fake_results: VecDeque<FakeResult>,
}

/// The result of an attempt whose body is not called.
#[derive(Clone, Debug)]
pub(super) enum FakeResult {
    Error(String),
    Panic(String),
}

impl TaskScript {
    pub(super) fn takes(&self, length: Duration) {
        self.state.lock().takes = length;
    }

    pub(super) fn takes_each(&self, lengths: impl IntoIterator<Item = Duration>) {
        self.state.lock().takes_next.extend(lengths);
    }

    pub(super) fn fake_next(&self, fake: FakeResult) {
        self.state.lock().fake_results.push_back(fake);
    }

    /// The time that the next attempt takes, and its result if the body is not called.
    fn next(&self) -> (Duration, Option<FakeResult>) {
        let mut state = self.state.lock();
        let length = state.takes_next.pop_front().unwrap_or(state.takes);
        (length, state.fake_results.pop_front())
    }
}

impl FakeResult {
    /// Returns or panics. The panic hook is not called.
    fn perform(self) -> TaskResult {
        match self {
            Self::Error(text) => Err(TaskError::from_display(&text)),
            Self::Panic(text) => resume_unwind(Box::new(text)),
        }
    }
}

/// Wraps a task so that its attempts follow the script.
pub(super) fn wrap_call(world: &Arc<World>, script: Arc<TaskScript>, call: Call) -> Call {
    let call = watched(world, call);
    let world = Arc::downgrade(world);
    match call {
        Call::Sync(body) => Call::Sync(Arc::new(move |run: &Run| {
            let (length, fake) = script.next();
            if let Some(world) = world.upgrade() {
                world.run_takes(length);
            }
            match fake {
                Some(fake) => fake.perform(),
                None => body(run),
            }
        })),
        Call::Async(begin) => Call::Async(Arc::new(move |run: &Run| {
            let (length, fake) = script.next();
            let rest = (!length.is_zero()).then(|| run.sleep_async(length));
            let future = fake.is_none().then(|| begin(run));
            let future = async move {
                let result = match future {
                    Some(future) => future.await,
                    None => Ok(()),
                };
                // A run that is to fail ends at the end of its time, too.
                if let Some(rest) = rest {
                    rest.await;
                }
                fake.map_or(result, FakeResult::perform)
            };
            #[cfg(feature = "tokio")]
            if let Some(world) = world.upgrade() {
                return world.wakeful(Box::pin(future));
            }
            Box::pin(future)
        })),
    }
}

/// Wraps a task so that its panics fail the test.
fn watched(world: &Arc<World>, call: Call) -> Call {
    let world = Arc::downgrade(world);
    match call {
        Call::Sync(body) => Call::Sync(Arc::new(move |run: &Run| watch(&world, run, || body(run)))),
        Call::Async(begin) => Call::Async(Arc::new(move |run: &Run| {
            let mut future = watch(&world, run, || begin(run));
            let (world, run) = (Weak::clone(&world), run.clone());
            Box::pin(poll_fn(move |context| watch(&world, &run, || future.as_mut().poll(context))))
        })),
    }
}

fn watch<R>(world: &Weak<World>, run: &Run, call: impl FnOnce() -> R) -> R {
    let Some(world) = world.upgrade() else { return call() };
    let who = || format!("task {}, in its run {},", word(run.task_name()), run.number());
    world.panics().watch(who, call)
}
