//! What a simulation has been told of the runs of a task: how long they take, and which of them fail.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::Weak;
use std::time::Duration;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use super::world::World;
use crate::inject::Call;
use crate::run::Run;
use crate::run::TaskError;
use crate::run::TaskResult;
use crate::settings::word;

/// The part of one task.
#[derive(Debug, Default)]
pub(super) struct Part {
    acts: Mutex<Acts>,
}

#[derive(Debug, Default)]
struct Acts {
    /// How long an attempt takes of which nothing else is said.
    takes: Duration,
    /// How long the next attempts take.
    takes_next: VecDeque<Duration>,
    feints: VecDeque<Feint>,
}

/// What happens in place of a body.
#[derive(Clone, Debug)]
pub(super) enum Feint {
    Error(String),
    Panic(String),
}

impl Part {
    pub(super) fn takes(&self, length: Duration) {
        self.lock().takes = length;
    }

    pub(super) fn takes_each(&self, lengths: impl IntoIterator<Item = Duration>) {
        self.lock().takes_next.extend(lengths);
    }

    pub(super) fn feign_next(&self, feint: Feint) {
        self.lock().feints.push_back(feint);
    }

    fn next(&self) -> (Duration, Option<Feint>) {
        let mut acts = self.lock();
        let length = acts.takes_next.pop_front().unwrap_or(acts.takes);
        (length, acts.feints.pop_front())
    }

    fn lock(&self) -> MutexGuard<'_, Acts> {
        self.acts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feint {
    /// A panic without the words of the panic hook: nothing has gone wrong.
    fn perform(self) -> TaskResult {
        match self {
            Self::Error(text) => Err(TaskError::from_display(&text)),
            Self::Panic(text) => resume_unwind(Box::new(text)),
        }
    }
}

/// What is called in place of a task: the task itself, if nothing else is wanted, which then takes as
/// long as was said.
pub(super) fn stand_in(world: &Arc<World>, part: Arc<Part>, call: Call) -> Call {
    let call = watched(world, call);
    let world = Arc::downgrade(world);
    match call {
        Call::Sync(body) => Call::Sync(Arc::new(move |run: &Run| {
            let (length, feint) = part.next();
            if let Some(world) = world.upgrade() {
                world.run_takes(length);
            }
            match feint {
                Some(feint) => feint.perform(),
                None => body(run),
            }
        })),
        Call::Async(begin) => Call::Async(Arc::new(move |run: &Run| {
            let (length, feint) = part.next();
            let rest = (!length.is_zero()).then(|| run.sleep_async(length));
            let future = feint.is_none().then(|| begin(run));
            let future = async move {
                let result = match (feint, future) {
                    (Some(feint), _) => {
                        // The end of a run comes when its time is over, also when it fails.
                        if let Some(rest) = rest {
                            rest.await;
                        }
                        return feint.perform();
                    }
                    (None, Some(future)) => future.await,
                    (None, None) => Ok(()),
                };
                if let Some(rest) = rest {
                    rest.await;
                }
                result
            };
            match world.upgrade() {
                Some(world) => world.wakeful(Box::pin(future)),
                None => Box::pin(future),
            }
        })),
    }
}

/// The task itself, with panics that the test is told of.
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
    world.alarm().watch(who, call)
}
