//! Bodies that run once. The result is the value, unless declared fallible.

use std::fmt::Display;
use std::future::Future;

use crate::error::Failure;

/// A body that runs once: a closure, or a closure in [`fallible`].
///
/// A closure delivers what it returns, whatever that is: a `Result` is a value, too, as with a thread of the standard
/// library, and the task has completed. In [`fallible`] an error is the failure of the task.
#[diagnostic::on_unimplemented(
    message = "a task cannot run `{Self}` once",
    label = "not a closure without arguments that returns `{T}`, nor `fallible` of one"
)]
pub trait OnceBody<T>: Send + 'static {
    /// Runs the body.
    ///
    /// # Errors
    ///
    /// The error that a fallible body returned, as text.
    fn run(self) -> Result<T, Failure>;
}

/// A body that is polled once to its end: a future, or a future in [`fallible`].
#[diagnostic::on_unimplemented(
    message = "a task cannot poll `{Self}`",
    label = "not a future that yields `{T}`, nor `fallible` of one"
)]
pub trait OnceFutureBody<T>: Send + 'static {
    /// The future to be polled.
    fn into_future(self) -> impl Future<Output = Result<T, Failure>> + Send + 'static;
}

/// A body whose error is the failure of its task; see [`fallible`].
#[derive(Clone, Debug)]
#[must_use = "a body does nothing until it is submitted to a pool"]
pub struct Fallible<B>(B);

/// Makes an error that the closure or the future returns the failure of its task.
///
/// An `Ok` is the value. Everything that takes a body that runs once takes a fallible one, too:
///
/// ```
/// use scheduler_core::{ScheduledThreadPool, TaskState, fallible};
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let parsed = pool.submit(fallible(|| "42".parse::<u32>()))?;
/// assert_eq!(parsed.wait()?, 42);
///
/// let failed = pool.submit(fallible(|| "none".parse::<u32>()))?;
/// assert_eq!(failed.wait().unwrap_err().to_string(), "the task failed: invalid digit found in string");
/// assert_eq!(failed.state(), TaskState::Failed);
///
/// // Without it, the `Result` is the value.
/// assert!(pool.submit(|| "none".parse::<u32>())?.wait()?.is_err());
/// let first = pool.invoke_any(["none", "7"].map(|text| fallible(|| text.parse::<u32>())))?;
/// assert_eq!(first, 7);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub fn fallible<B>(body: B) -> Fallible<B> {
    Fallible(body)
}

impl<T, F: FnOnce() -> T + Send + 'static> OnceBody<T> for F {
    #[inline]
    fn run(self) -> Result<T, Failure> {
        Ok(self())
    }
}

impl<T, E: Display, F: FnOnce() -> Result<T, E> + Send + 'static> OnceBody<T> for Fallible<F> {
    fn run(self) -> Result<T, Failure> {
        (self.0)().map_err(|error| Failure::from_error(&error.to_string()))
    }
}

impl<T: 'static, U: Future<Output = T> + Send + 'static> OnceFutureBody<T> for U {
    async fn into_future(self) -> Result<T, Failure> {
        Ok(self.await)
    }
}

impl<T: 'static, E: Display + 'static, U: Future<Output = Result<T, E>> + Send + 'static>
    OnceFutureBody<T> for Fallible<U>
{
    async fn into_future(self) -> Result<T, Failure> {
        self.0.await.map_err(|error| Failure::from_error(&error.to_string()))
    }
}
