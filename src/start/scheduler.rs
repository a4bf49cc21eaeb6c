//! The running scheduler as the program has it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::builder::Builder;
use super::context::Context;
use super::error::StopError;
use super::running::{Running, shown};
use super::tasks::Tasks;
use crate::base::set_once::SetOnce;
use crate::base::sync::Mutex;
use crate::observe::catch;
use crate::run::Run;
use crate::task::{ControlError, Until};

/// A running scheduler beside the rest of a program.
///
/// It installs no signal handler. Dropping it stops all tasks and waits for none.
///
/// In the child of a `fork` without `exec` its threads are missing, and locks that they held stay locked. Do not use it
/// there; end by `_exit` or `exec`.
///
/// ```rust
/// use scheduler::Scheduler;
///
/// let scheduler = Scheduler::builder().spawn()?;
/// // … serve requests …
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping it stops all tasks; keep it, or use `scheduler::start()` to run until Ctrl-C"]
#[derive(Debug)]
pub struct Scheduler {
    running: Running,
    is_stopped: bool,
}

impl Scheduler {
    /// A builder with the default settings.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Starts no new runs, and waits until those in progress have ended.
    ///
    /// It blocks the calling thread. In async code write [`shutdown_async`](Self::shutdown_async).
    ///
    /// # Errors
    ///
    /// When tasks had not ended within the [limit](Builder::await_termination). At once inside a task of this
    /// scheduler ([`StopError::is_inside_task`]), and with the feature `tokio` on the only thread of a runtime
    /// ([`StopError::is_inside_runtime`]): waiting there would keep tasks from ending. The scheduler stops all the same.
    pub fn shutdown(self) -> Result<(), StopError> {
        self.stop("")
    }

    /// As [`shutdown`](Self::shutdown), without blocking the calling thread.
    ///
    /// ```
    /// # fn main() {}
    /// # mod program {
    /// # /* The crate does not depend on Tokio, not even for its tests.
    /// #[tokio::main]
    /// # */
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let scheduler = scheduler::Scheduler::builder().spawn()?;
    ///     // … serve requests …
    ///     scheduler.shutdown_async().await?;
    ///     Ok(())
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When tasks had not ended within the [limit](Builder::await_termination). At once inside a task of this
    /// scheduler ([`StopError::is_inside_task`]).
    pub async fn shutdown_async(self) -> Result<(), StopError> {
        self.stop_async("").await
    }

    /// The tasks, for reading and controlling them.
    #[must_use]
    pub fn tasks(&self) -> Tasks {
        self.running.tasks.clone()
    }

    /// The durable jobs, to enqueue, to look at and to control.
    ///
    /// # Errors
    ///
    /// The scheduler has no [store](Builder::store).
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn jobs(&self) -> Result<crate::Jobs, crate::JobsError> {
        self.running.tasks.jobs()
    }

    /// The durable schedules in the store, those that are data among them.
    ///
    /// # Errors
    ///
    /// The scheduler has no [store](Builder::store).
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn schedules(&self) -> Result<crate::Schedules, crate::JobsError> {
        self.running.tasks.schedules()
    }

    /// Blocks until a task has had some number of runs: see [`TaskControl::wait_for`](super::TaskControl::wait_for).
    ///
    /// # Errors
    ///
    /// As [`Tasks::wait_for`].
    pub fn wait_for(&self, name: &str, until: Until, limit: Duration) -> Result<(), ControlError> {
        self.running.tasks.wait_for(name, until, limit)
    }

    pub(super) fn new(running: Running) -> Self {
        Self { running, is_stopped: false }
    }

    #[cfg(test)]
    pub(super) fn wall(&self) -> chrono::DateTime<chrono::Utc> {
        self.running.clock.wall()
    }

    pub(super) fn running_mut(&mut self) -> &mut Running {
        &mut self.running
    }

    pub(super) fn stop(self, hint: &'static str) -> Result<(), StopError> {
        if let Some(run) = self.own_run() {
            return Err(self.stop_behind(&run, hint));
        }
        // A thread that executes a run belongs to a pool, and has only entered the runtime of its task.
        if Run::current().is_none() && Context::is_only_thread() {
            drop(self.stop_elsewhere(hint));
            return Err(StopError::inside_runtime());
        }
        self.drain(hint)
    }

    /// Stops on a thread of its own, which waits by the pool's clock.
    pub(super) async fn stop_async(self, hint: &'static str) -> Result<(), StopError> {
        if let Some(run) = self.own_run() {
            return Err(self.stop_behind(&run, hint));
        }
        self.stop_elsewhere(hint).await
    }

    /// The run of a task of this scheduler that the calling thread executes.
    fn own_run(&self) -> Option<Run> {
        Run::current().filter(|run| self.running.pools.execute(run))
    }

    /// Stops without the calling run, which cannot wait for itself.
    fn stop_behind(self, run: &Run, hint: &'static str) -> StopError {
        drop(self.stop_elsewhere(hint));
        StopError::inside_task(shown([run.task_name()]))
    }

    /// Stops on another thread, or here if none can be started.
    fn stop_elsewhere(self, hint: &'static str) -> SetOnce<Result<(), StopError>> {
        let (outcome, place) = (SetOnce::new(), Arc::new(Mutex::new(Some(self))));
        let (result, from) = (outcome.clone(), Arc::clone(&place));
        let take = |place: &Mutex<Option<Self>>| place.lock().take();
        let thread = thread::Builder::new().name("scheduler-stop".to_owned());
        let spawned = thread.spawn(move || {
            let Some(scheduler) = take(&from) else { return };
            let failed = scheduler.running.too_late(&[]);
            let stopped = catch(|| scheduler.drain(hint));
            result.set(stopped.unwrap_or(Err(failed)));
        });
        if spawned.is_err()
            && let Some(scheduler) = take(&place)
        {
            outcome.set(scheduler.drain(hint));
        }
        outcome
    }

    fn drain(mut self, hint: &str) -> Result<(), StopError> {
        self.is_stopped = true;
        self.running.stop(hint)
    }

    /// Ends what a failed start has begun.
    pub(super) fn give_up(mut self) {
        self.is_stopped = true;
        self.running.give_up();
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if !self.is_stopped {
            self.running.stop_dropped();
        }
        self.running.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Scheduler;
    use crate::define::schedule::Schedule;

    #[test]
    fn functions_are_called_with_the_tasks_at_the_start_and_a_panic_is_reported() {
        let (said, heard) = std::sync::mpsc::channel();
        let (listed, list) = std::sync::mpsc::channel();
        let builder = Scheduler::builder().environment([("PATH", "")]).settings("none.toml", "");
        let builder = builder.messages(move |text| drop(said.send(text.to_owned())));
        let builder = builder.task("purge", Schedule::fixed_rate("1h"), |_| {});
        let builder =
            builder.after_start(|_| -> () { panic!("too early") }).after_start(move |tasks| {
                let names =
                    tasks.list().iter().map(|task| task.name().to_owned()).collect::<Vec<_>>();
                listed.send(names).expect("the test listens");
            });
        let scheduler = builder.spawn().expect("it starts");
        assert_eq!(list.try_recv().expect("it was called before the start returned"), ["purge"]);
        scheduler.shutdown().expect("it stops");
        let said: Vec<String> = heard.try_iter().collect();
        assert!(
            said.iter().any(|text| text.contains("after_start") && text.contains("too early")),
            "{said:?}"
        );
    }

    #[test]
    fn a_sink_that_panics_does_not_keep_it_from_stopping() {
        let builder = Scheduler::builder().messages(|text| panic!("`{text}` cannot be printed"));
        let scheduler = builder.spawn().expect("it starts");
        scheduler.shutdown().expect("it stops");
    }
}
