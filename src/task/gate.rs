//! Gates: hooks that may refuse a run before it starts.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::{Failure, Outcome, TaskFacts, catch};
use crate::run::{Run, RunInfo, TaskError};

/// The time limit of the async gates of a run.
pub(super) const GATE_LIMIT: Duration = Duration::from_secs(5);

/// Why a gate could not decide; see [`Gate::admit`].
pub type GateError = Box<dyn Error + Send + Sync>;

/// The future of an [`AsyncGate`].
pub type GateFuture = Pin<Box<dyn Future<Output = Result<Admission, GateError>> + Send>>;

/// A run that is about to start, as a gate sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GateContext {
    /// The task.
    pub task: Arc<TaskFacts>,
    /// The run, with its number if it starts.
    pub run: RunInfo,
}

impl GateContext {
    pub(super) fn of(run: &Run) -> Self {
        Self { task: Arc::clone(run.facts()), run: run.info() }
    }
}

/// Decides whether a run may start: a lock, a feature flag, a rate limit.
///
/// It is called once a run, on the thread that is to execute it, after the next fire time has been scheduled. A slow gate
/// delays no schedule, but holds a thread. Closures implement it.
///
/// ```rust
/// use scheduler::{Admission, GateContext, Schedule, Scheduler};
///
/// let scheduler = Scheduler::builder()
///     .gate(|context: &GateContext| {
///         let is_leader = std::env::var_os("LEADER").is_some();
///         Ok(if is_leader { Admission::run() } else { Admission::refuse("another host leads") })
///     })
///     .task("report", Schedule::cron("@daily"), |_| {})
///     .spawn()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "LockProvider")]
pub trait Gate: Send + Sync + 'static {
    /// Admits or refuses a run.
    ///
    /// # Errors
    ///
    /// If it cannot decide. That is a failed attempt of the run: with `retry` the gate is asked again.
    fn admit(&self, context: &GateContext) -> Result<Admission, GateError>;
}

impl<F> Gate for F
where
    F: Fn(&GateContext) -> Result<Admission, GateError> + Send + Sync + 'static,
{
    fn admit(&self, context: &GateContext) -> Result<Admission, GateError> {
        self(context)
    }
}

/// A [`Gate`] that holds no thread while it waits. It has five seconds, which are no part of the task's `timeout`.
pub trait AsyncGate: Send + Sync + 'static {
    /// Admits or refuses a run.
    fn admit(&self, context: GateContext) -> GateFuture;
}

/// The decision of a gate.
#[derive(Debug)]
pub struct Admission(Decision);

enum Decision {
    Run(Option<Box<dyn Permit>>),
    Refuse(Arc<str>),
}

impl Admission {
    /// The run starts.
    #[must_use]
    pub fn run() -> Self {
        Self(Decision::Run(None))
    }

    /// The run starts, and the permit is released when it is over.
    #[must_use]
    pub fn with(permit: impl Permit) -> Self {
        Self(Decision::Run(Some(Box::new(permit))))
    }

    /// The run does not start: its fire time is skipped (`refused`), which is no success.
    #[must_use]
    pub fn refuse(reason: impl Into<Arc<str>>) -> Self {
        Self(Decision::Refuse(reason.into()))
    }
}

/// Something that a gate holds for a run that it has admitted, such as a lock.
pub trait Permit: Send + 'static {
    /// The run is over. A permit is dropped without this call only if the scheduler is dropped meanwhile.
    fn release(self: Box<Self>, outcome: &Outcome);
}

/// All gates of a scheduler, in the order in which they are asked.
#[derive(Default)]
pub(crate) struct Gates {
    gates: Vec<AnyGate>,
    has_async: bool,
}

enum AnyGate {
    Sync(Arc<dyn Gate>),
    Async(Arc<dyn AsyncGate>),
}

/// The decision of all gates of a run.
pub(super) enum Verdict {
    Admitted(Permits),
    Refused { reason: Arc<str>, permits: Permits },
    Failed { failure: Failure, permits: Permits },
}

/// The permits of one run.
#[derive(Default)]
pub(super) struct Permits(Vec<Box<dyn Permit>>);

impl Gates {
    pub(crate) fn push(&mut self, gate: impl Gate) {
        self.gates.push(AnyGate::Sync(Arc::new(gate)));
    }

    pub(crate) fn push_async(&mut self, gate: impl AsyncGate) {
        self.has_async = true;
        self.gates.push(AnyGate::Async(Arc::new(gate)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    pub(super) fn has_async(&self) -> bool {
        self.has_async
    }

    /// Asks sync gates.
    pub(super) fn admit(&self, context: &GateContext) -> Verdict {
        let mut permits = Permits::default();
        for gate in &self.gates {
            let AnyGate::Sync(gate) = gate else { continue };
            let answer = catch(|| gate.admit(context));
            if let Some(verdict) = permits.take_in(answer) {
                return verdict;
            }
        }
        Verdict::Admitted(permits)
    }

    /// Asks all gates. If the future is dropped meanwhile, permits are released, and panics of theirs reported.
    pub(super) async fn admit_async(
        self: Arc<Self>,
        context: GateContext,
        report: impl Fn(Failure) + Send,
    ) -> Verdict {
        let mut unused = UnusedPermits { permits: Permits::default(), report };
        for gate in &self.gates {
            let answer = match gate {
                AnyGate::Sync(gate) => catch(|| gate.admit(&context)),
                AnyGate::Async(gate) => match catch(|| gate.admit(context.clone())) {
                    Ok(future) => Contained(Some(future)).await,
                    Err(failure) => Err(failure),
                },
            };
            if let Some(verdict) = unused.permits.take_in(answer) {
                return verdict;
            }
        }
        Verdict::Admitted(std::mem::take(&mut unused.permits))
    }
}

/// The permits of a run that not all gates have admitted yet.
struct UnusedPermits<F: Fn(Failure)> {
    permits: Permits,
    report: F,
}

impl<F: Fn(Failure)> Drop for UnusedPermits<F> {
    fn drop(&mut self) {
        let permits = std::mem::take(&mut self.permits);
        permits.release(&Outcome::Cancelled).for_each(&self.report);
    }
}

/// A future of the user's whose panics become failures.
struct Contained(Option<GateFuture>);

impl Future for Contained {
    type Output = Result<Result<Admission, GateError>, Failure>;

    fn poll(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        use std::task::Poll;
        let Some(future) = &mut self.0 else { return Poll::Pending };
        match catch(|| future.as_mut().poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(Ok(answer)),
            Err(failure) => Poll::Ready(Err(failure)),
        }
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        let future = self.0.take();
        drop(catch(|| drop(future)));
    }
}

impl Permits {
    /// Takes in the answer of one gate. Returns the verdict unless the gate has admitted the run.
    fn take_in(
        &mut self,
        answer: Result<Result<Admission, GateError>, Failure>,
    ) -> Option<Verdict> {
        let failure = match answer {
            Ok(Ok(Admission(Decision::Run(permit)))) => {
                self.0.extend(permit);
                return None;
            }
            Ok(Ok(Admission(Decision::Refuse(reason)))) => {
                return Some(Verdict::Refused { reason, permits: std::mem::take(self) });
            }
            Ok(Err(error)) => Failure::from_error(&TaskError::from_error(&*error)),
            Err(failure) => failure,
        };
        Some(Verdict::Failed { failure, permits: std::mem::take(self) })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Releases the permits, the last first; returns the panics.
    pub(super) fn release(self, outcome: &Outcome) -> impl Iterator<Item = Failure> {
        let permits = self.0.into_iter().rev();
        permits.filter_map(|permit| catch(|| permit.release(outcome)).err())
    }
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(permit) => f.debug_tuple("Run").field(&permit.is_some()).finish(),
            Self::Refuse(reason) => f.debug_tuple("Refuse").field(reason).finish(),
        }
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gates").field("count", &self.gates.len()).finish()
    }
}
