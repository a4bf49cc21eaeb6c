//! The threads of workers, which a factory starts.

use std::sync::Arc;
use std::{fmt, io, thread};

use super::core::WorkerLoss;
use super::pool_state::PoolState;
use super::virtual_workers::VirtualWorkers;
use super::worker;
use super::workers::WorkerNumber;
use crate::sync::{AtomicBool, Ordering};
use crate::unwind::catch;

/// Starts the threads of a pool's workers.
///
/// A closure `Fn(WorkerThread) -> io::Result<()>` is a factory.
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, WorkerThread};
///
/// let pool = ScheduledThreadPool::builder()
///     .thread_factory(|worker: WorkerThread| {
///         let thread = std::thread::Builder::new().name(worker.name().to_owned());
///         thread.spawn(move || worker.run()).map(drop)
///     })
///     .build()?;
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[doc(alias = "java.util.concurrent.ThreadFactory")]
pub trait ThreadFactory: Send + Sync {
    /// Starts a thread that calls [`WorkerThread::run`].
    ///
    /// # Errors
    ///
    /// Whatever kept the thread from starting; the pool goes on with the workers it has, reports the refusal, and tries
    /// again at the next submission. Where it has none, the submission is refused
    /// ([`Error::is_no_thread`](crate::Error::is_no_thread)). Dropping the worker without running it counts as a
    /// refusal, too.
    fn start(&self, worker: WorkerThread) -> io::Result<()>;
}

impl<F: Fn(WorkerThread) -> io::Result<()> + Send + Sync> ThreadFactory for F {
    fn start(&self, worker: WorkerThread) -> io::Result<()> {
        self(worker)
    }
}

impl<F: ThreadFactory + ?Sized> ThreadFactory for Arc<F> {
    fn start(&self, worker: WorkerThread) -> io::Result<()> {
        (**self).start(worker)
    }
}

/// The work of one worker's thread, to be run on that thread.
#[must_use = "a worker does nothing until it is run"]
pub struct WorkerThread {
    name: String,
    pub(super) number: WorkerNumber,
    pub(super) state: Option<Arc<PoolState>>,
    /// Set by the start and by the dropping of the worker: the later of the two reports a refusal.
    is_over: Arc<AtomicBool>,
}

impl WorkerThread {
    pub(super) fn new(name: String, number: WorkerNumber, state: Arc<PoolState>) -> Self {
        Self { name, number, state: Some(state), is_over: Arc::new(AtomicBool::new(false)) }
    }

    /// The name the thread is meant to have: the pool's prefix and the worker's number.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The worker's number in its pool, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Starts this worker, or returns why not; a panic is a refusal, and so is a dropped worker.
    pub(super) fn start(self, start: impl FnOnce(Self) -> io::Result<()>) -> Result<(), String> {
        let is_over = Arc::clone(&self.is_over);
        let answer = catch(|| start(self));
        // ORDERING: relaxed, see the drop.
        let was_dropped = is_over.swap(true, Ordering::Relaxed);
        let why = match answer {
            Ok(Ok(())) if was_dropped => DROPPED.to_owned(),
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(failure) => failure.to_string(),
        };
        Err(format!("no thread could be started: {why}"))
    }

    /// Runs tasks until the worker leaves its pool.
    pub fn run(mut self) {
        if let Some(state) = self.state.take() {
            worker::work(&state, self.number);
        }
    }
}

/// A worker that is dropped without having been run does not count as one of its pool.
impl Drop for WorkerThread {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            let number = self.number;
            state.lose_worker(WorkerLoss { number, was_parked: false, is_replaced: false });
            // ORDERING: relaxed, the swap alone decides which is the later one.
            if self.is_over.swap(true, Ordering::Relaxed) {
                state.announce_worker_lost(self.number, DROPPED);
            }
        }
    }
}

/// Why a worker that was dropped without having been run does not work.
const DROPPED: &str = "the thread factory dropped the worker";

impl fmt::Debug for WorkerThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The least stack: what a worker needs itself, and some more.
const STACK_MIN: usize = 64 * 1024;

/// The default factory: named threads of the standard library, with a stack of the given size.
#[derive(Debug, Clone, Default)]
pub(super) struct StdThreads {
    pub(super) stack_size: Option<usize>,
}

impl ThreadFactory for StdThreads {
    fn start(&self, worker: WorkerThread) -> io::Result<()> {
        let mut thread = thread::Builder::new().name(worker.name().to_owned());
        if let Some(size) = self.stack_size {
            thread = thread.stack_size(size.max(STACK_MIN));
        }
        thread.spawn(move || worker.run()).map(drop)
    }
}

/// Starts the workers of a pool.
#[derive(Clone)]
pub(super) enum Starter {
    Threads(Arc<dyn ThreadFactory>),
    Virtual(VirtualWorkers),
}

impl Starter {
    /// Starts a worker, or returns why not.
    pub(super) fn start(
        &self,
        state: Arc<PoolState>,
        name: String,
        number: WorkerNumber,
    ) -> Result<(), String> {
        let worker = WorkerThread::new(name, number, state);
        match self {
            Self::Threads(factory) => worker.start(|worker| factory.start(worker)),
            Self::Virtual(workers) => worker.start(|worker| {
                workers.join(worker);
                Ok(())
            }),
        }
    }
}
