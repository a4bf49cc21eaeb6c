//! The outcome of a task, and its value.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::{Error, Failure};

/// The value of a completed task, which all its handles share.
///
/// It dereferences to the value.
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
///
/// let pool = ScheduledThreadPool::new(1);
/// let text = pool.submit(|| "shared".to_owned())?.wait_ref()?;
/// assert_eq!(text.len(), 6);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub struct TaskValue<T: 'static>(Kept<T>);

/// A value is shared, except `()`, which is static.
enum Kept<T: 'static> {
    Shared(Arc<T>),
    Unit(&'static T),
}

/// Returns true if a value of this type is not kept.
#[inline]
pub(super) fn is_unit<T: 'static>() -> bool {
    unit::<T>().is_some()
}

#[inline]
fn unit<T: 'static>() -> Option<&'static T> {
    const UNIT: &dyn Any = &();
    UNIT.downcast_ref()
}

impl<T: 'static> TaskValue<T> {
    /// The value that was kept; none where there is none and the type is not `()`.
    pub(super) fn new(value: Option<Arc<T>>) -> Option<Self> {
        let value = value.map(Kept::Shared).or_else(|| unit().map(Kept::Unit));
        value.map(Self)
    }
}

impl<T: 'static> Deref for TaskValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Kept::Shared(value) => value,
            Kept::Unit(value) => value,
        }
    }
}

impl<T: fmt::Debug + 'static> fmt::Debug for TaskValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The outcome of a task, as its handles report it.
pub(crate) enum Outcome<T: 'static> {
    Value(TaskValue<T>),
    Cancelled,
    Failed(Failure),
}

impl<T: 'static> Outcome<T> {
    /// The value, where there is one. It is cloned outside every lock: that is user code.
    pub(super) fn into_result(self) -> Result<TaskValue<T>, Error> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Cancelled => Err(Error::cancelled()),
            Self::Failed(failure) => Err(Error::failed(failure)),
        }
    }
}
