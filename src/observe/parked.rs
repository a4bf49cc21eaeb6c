//! A durable job that was given up.

use std::fmt;
use std::sync::Arc;

/// A durable job that was given up, and is kept with its last error for a retry by hand: the value that
/// [`Builder::on_parked`](crate::Builder::on_parked) and the event
/// [`StoreEvent::JobParked`](crate::StoreEvent::JobParked) give.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ParkedJob {
    /// Its identity, as the store, the command line and the dashboard show it.
    #[cfg_attr(feature = "serde", serde(rename = "job"))]
    pub id: Arc<str>,
    /// The name of its task.
    pub task: Arc<str>,
    /// Its key, if it has one.
    pub key: Option<Arc<str>>,
    /// The queue in which it waited.
    pub queue: Arc<str>,
    /// The number of its attempts.
    pub attempts: u32,
    /// The error of its last attempt, with its causes, or why it was given up.
    pub error: Arc<str>,
    #[cfg_attr(feature = "serde", serde(skip))]
    payload: Bytes,
}

/// The bytes of a payload. They may be secret: no text of an event shows them.
#[derive(Clone, Default, PartialEq, Eq)]
struct Bytes(Arc<[u8]>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl ParkedJob {
    /// Its payload as it was enqueued, JSON; empty if it has none. No `Debug`, log or serialized event shows it.
    #[must_use]
    pub fn payload_bytes(&self) -> &[u8] {
        &self.payload.0
    }
}

#[cfg(feature = "durable")]
impl ParkedJob {
    /// Its payload; `None` if it has none, or if that is no `T`. One of an older version is decoded as it is, without `upgrade`.
    #[must_use]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn payload<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.payload.0).ok()
    }

    pub(crate) fn of(job: &scheduler_store::StoredJob) -> Self {
        Self {
            id: job.id.to_string().into(),
            task: job.task.as_str().into(),
            key: job.key.as_deref().map(Arc::from),
            queue: job.queue.as_str().into(),
            attempts: job.attempt,
            error: job.error.as_deref().unwrap_or_default().into(),
            payload: Bytes(job.payload.bytes.as_slice().into()),
        }
    }
}

/// ``job 0198c5… (key `invoice-17`) is parked after 3 attempts: no connection``.
impl fmt::Display for ParkedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, key, attempts, error, .. } = self;
        let key = key.as_ref().map_or_else(String::new, |key| format!(" (key `{key}`)"));
        let attempts = super::plural(u64::from(*attempts), "attempt");
        write!(f, "job {id}{key} is parked after {attempts}: {error}")
    }
}
