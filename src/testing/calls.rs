//! The calls that replace a task in a simulation.

use std::future::poll_fn;
use std::sync::{Arc, Weak};

use super::script::TaskScript;
use super::world::World;
use crate::define::settings::word;
use crate::run::Run;
use crate::run::inject::Call;

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
                let result = match (fake, future) {
                    (Some(fake), _) => {
                        // A failed run ends at the end of its time, too.
                        if let Some(rest) = rest {
                            rest.await;
                        }
                        return fake.perform();
                    }
                    (None, Some(future)) => future.await,
                    (None, None) => Ok(()),
                };
                if let Some(rest) = rest {
                    rest.await;
                }
                result
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
