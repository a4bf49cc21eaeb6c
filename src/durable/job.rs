//! A job as code makes it: options and identity.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_expr::Attribute;
use scheduler_store::{
    Expiry, JobId, Key, KeyUntil, NewJob, OnConflict, OnLost, Payload as Stored, Priority, Uuid,
    When,
};

use crate::define::entry::Entry;
use crate::durable::limits::{is_guarded, is_limited};
use crate::durable::partition::Partition;
use crate::durable::payload::{Payload, encoded};
use crate::observe::TraceContext;

/// A job to enqueue: which task runs it, with what, and when.
///
/// The function that runs it makes it: see [`job`](macro@crate::job). It has its [identity](Self::id) from the start, and the
/// same job sent twice is accepted once. Options that are not set here, such as the queue, are those of the annotation and
/// the settings of the function.
///
/// ```no_run,standalone_crate
/// use scheduler::{Jobs, Priority, job};
/// use std::time::Duration;
///
/// #[job(name = "remind")]
/// fn remind(#[payload] number: u32) {
///     println!("invoice {number} is not paid");
/// }
///
/// fn order(jobs: &Jobs) -> Result<(), scheduler::EnqueueError> {
///     jobs.enqueue(remind::job(17))?;
///     jobs.enqueue(remind::job(18).after(Duration::from_secs(3_600)).key("remind-18"))?;
///     jobs.enqueue(remind::job(19).priority(Priority::High).max_attempts(3))?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a job does nothing until it is enqueued"]
pub struct Job {
    new: NewJob,
    key: Option<(String, KeyUntil)>,
    on_conflict: OnConflict,
    set: SetOptions,
    /// Why it cannot be enqueued.
    fault: Option<Arc<str>>,
    sent: Sent,
}

/// True once the job or a clone of it was sent: a store that gets it again looks for it among finished jobs, too.
#[derive(Clone, Debug, Default)]
struct Sent(Arc<AtomicBool>);

/// Two jobs are the same whether they were sent or not.
impl PartialEq for Sent {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Sent {}

/// The options that the code has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SetOptions {
    queue: bool,
    priority: bool,
    max_attempts: bool,
    partition: bool,
    expires: bool,
}

impl Job {
    /// A job without a payload.
    pub(crate) fn of(entry: &'static Entry) -> Self {
        let new = NewJob::new(new_id(), entry.name);
        let (set, key, fault, sent) = <_>::default();
        let mut job = Self { new, key, on_conflict: OnConflict::Keep, set, fault, sent };
        job.take_options(&JobOptions::of_entry(entry));
        job
    }

    /// A job with a payload. An enqueue reports one that cannot be encoded.
    pub(crate) fn with<T: Payload>(entry: &'static Entry, payload: &T) -> Self {
        let mut job = Self::of(entry);
        let version = entry.job.map_or(1, |facts| facts.version);
        match encoded(payload) {
            Ok(bytes) => job.new.payload = Stored { version, bytes },
            Err(fault) => job.fault = Some(fault.into()),
        }
        job
    }

    /// Its identity.
    #[must_use]
    pub fn id(&self) -> JobId {
        self.new.id
    }

    /// Gives it an identity of yours, in place of the new one that it has from the start: such as the key of the request that
    /// makes it. A store accepts one job of an identity, also after that has ended, for as long as it
    /// [keeps](crate::NodeOptions::keep_done) it.
    ///
    /// A UUID of version 7 is found fastest, since it says when it was made.
    #[doc(alias = "idempotency_key")]
    #[doc(alias = "unique_for")]
    pub fn with_id(mut self, id: impl Into<JobId>) -> Self {
        self.new.id = id.into();
        self.sent = Sent(Arc::new(AtomicBool::new(true)));
        self
    }

    /// The name of the task that runs it.
    #[must_use]
    pub fn task_name(&self) -> &str {
        &self.new.task
    }

    /// Runs at this instant of the store's clock, or at once if it has passed.
    #[doc(alias = "run_at")]
    #[doc(alias = "eta")]
    pub fn at(mut self, instant: impl Into<DateTime<Utc>>) -> Self {
        self.new.when = When::At(instant.into().into());
        self
    }

    /// Runs this long after the store has accepted it.
    #[doc(alias = "delay")]
    #[doc(alias = "schedule_in")]
    pub fn after(mut self, wait: Duration) -> Self {
        self.new.when = When::After(wait);
        self
    }

    /// While a job of the same task with this key is unfinished, no other one is accepted.
    #[doc(alias = "unique")]
    #[doc(alias = "dedupe")]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some((key.into(), KeyUntil::End));
        self
    }

    /// Until a job of the same task with this key has started, no other one is accepted. So what changes during a run is
    /// seen by the next one.
    pub fn key_until_start(mut self, key: impl Into<String>) -> Self {
        self.key = Some((key.into(), KeyUntil::Start));
        self
    }

    /// As [`key`](Self::key), and also for this time after the job was accepted, whatever becomes of it: a request that is sent
    /// again makes no second job. [`Jobs::delete`](crate::Jobs::delete) frees the key.
    ///
    /// ```no_run,standalone_crate
    /// # use scheduler::{Jobs, job};
    /// # use std::time::Duration;
    /// # #[job(name = "charge")]
    /// # fn charge(#[payload] order: u32) {}
    /// # fn order(jobs: &Jobs) -> Result<(), scheduler::EnqueueError> {
    /// let day = Duration::from_secs(24 * 60 * 60);
    /// jobs.enqueue(charge::job(17).key_for("order-17", day))?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "unique_for")]
    #[doc(alias = "period")]
    pub fn key_for(mut self, key: impl Into<String>, time: Duration) -> Self {
        self.key = Some((key.into(), KeyUntil::For(time)));
        self
    }

    /// A job that waits with the same key gets the payload, the priority, the due time and the attempts of this one.
    pub fn replace(mut self) -> Self {
        self.on_conflict = OnConflict::Replace;
        self
    }

    /// Waits until no job of this key was enqueued for this time, and runs with the payload of the latest; at most so long after the
    /// first. One that comes while it runs is the first of the next.
    ///
    /// The same as [`after`](Self::after) this time, [`key_until_start`](Self::key_until_start) and [`replace`](Self::replace), with
    /// an end.
    ///
    /// ```no_run,standalone_crate
    /// # use scheduler::{Jobs, job};
    /// # use std::time::Duration;
    /// # #[job(name = "index")]
    /// # fn index(#[payload] page: u32) {}
    /// # fn saved(jobs: &Jobs) -> Result<(), scheduler::EnqueueError> {
    /// let (wait, at_most) = (Duration::from_secs(5), Duration::from_secs(60));
    /// jobs.enqueue(index::job(17).debounce("page-17", wait, at_most))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn debounce(mut self, key: impl Into<String>, wait: Duration, at_most: Duration) -> Self {
        self.key = Some((key.into(), KeyUntil::Start));
        self.new.when = When::After(wait.min(at_most));
        self.on_conflict = OnConflict::Debounce(at_most);
        self
    }

    /// Is cancelled if no process has taken it this long after it was due: late, it is of no use.
    #[doc(alias = "ttl")]
    #[doc(alias = "expires_in")]
    #[doc(alias = "start_timeout")]
    pub fn expires(mut self, time: Duration) -> Self {
        (self.new.expires, self.set.expires) = (Some(Expiry::After(time)), true);
        self
    }

    /// Is cancelled if no process has taken it by this instant of the store's clock.
    pub fn expires_at(mut self, instant: impl Into<DateTime<Utc>>) -> Self {
        (self.new.expires, self.set.expires) = (Some(Expiry::At(instant.into().into())), true);
        self
    }

    /// Runs before jobs of a lower priority that are due.
    pub fn priority(mut self, priority: Priority) -> Self {
        (self.new.priority, self.set.priority) = (priority, true);
        self
    }

    /// The W3C trace context of what it is enqueued for, such as the header `traceparent` of a request: each run of it has it
    /// as [`Run::traceparent`](crate::Run::traceparent).
    ///
    /// With the feature `opentelemetry` the current span of `tracing` gives it, unless this says otherwise, and the span of each
    /// attempt is a child of it. A text that is no trace context is ignored, as W3C wants: clients write that header.
    pub fn traceparent(mut self, traceparent: impl Into<String>) -> Self {
        self.new.traceparent =
            Some(traceparent.into()).filter(|text| TraceContext::read(text).is_some());
        self
    }

    /// The part of its task's jobs that it belongs to, such as a tenant, in place of the one that the annotation computes from
    /// the payload: limits count in each partition, and partitions [take turns](crate::guide::limits). At most 250 bytes.
    #[doc(alias = "tenant")]
    #[doc(alias = "group")]
    #[doc(alias = "fairness_key")]
    pub fn partition(mut self, partition: impl Partition) -> Self {
        (self.new.partition, self.set.partition) = (Some(partition.to_text().into_owned()), true);
        self
    }

    /// The queue in which it waits.
    pub fn queue(mut self, name: impl Into<String>) -> Self {
        (self.new.queue, self.set.queue) = (name.into(), true);
        self
    }

    /// After how many attempts it is set up, the first included; at least 1. The waits between them are those of `retry` in the
    /// annotation.
    #[doc(alias = "retry")]
    #[doc(alias = "backoff")]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        (self.new.max_attempts, self.set.max_attempts) = (attempts.max(1), true);
        self
    }

    /// Takes the options of the task that the code has not set.
    pub(super) fn take_options(&mut self, options: &JobOptions) {
        let JobOptions { queue, priority, max_attempts, on_lost, is_limited, is_guarded, expires } =
            options;
        if !self.set.queue {
            self.new.queue.clone_from(queue);
        }
        if !self.set.priority {
            self.new.priority = *priority;
        }
        if !self.set.max_attempts {
            self.new.max_attempts = *max_attempts;
        }
        if !self.set.partition {
            self.new.partition = is_limited.then(String::new);
        }
        if !self.set.expires {
            self.new.expires = expires.map(Expiry::After);
        }
        (self.new.on_lost, self.new.is_guarded) = (*on_lost, *is_guarded);
    }

    /// The job as it is sent, or why it cannot be.
    pub(super) fn to_new(&self) -> Result<NewJob, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.to_string());
        }
        let on_conflict = self.on_conflict;
        let key = self.key.clone().map(|(text, until)| Key { text, until, on_conflict });
        if key.is_none() && on_conflict != OnConflict::Keep {
            return Err("it replaces none, because it has no key: add `.key(…)`".to_owned());
        }
        let mut new = NewJob { key, ..self.new.clone() };
        #[cfg(feature = "opentelemetry")]
        {
            new.traceparent = new.traceparent.or_else(crate::observe::traceparent);
        }
        new.check().map_err(|refusal| refusal.to_string())?;
        // ORDERING: relaxed; nothing else is read.
        new.is_resent = self.sent.0.swap(true, Ordering::Relaxed);
        Ok(new)
    }

    /// Returns true if it has what a schedule decides for each of its jobs.
    pub(super) fn is_timed(&self) -> bool {
        let replaces = self.on_conflict != OnConflict::Keep;
        self.new.when != When::Now || self.key.is_some() || replaces
    }
}

/// The options of a task's jobs, from its annotation and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobOptions {
    pub(crate) queue: String,
    pub(crate) priority: Priority,
    pub(crate) max_attempts: u32,
    pub(crate) on_lost: OnLost,
    /// True if there is a limit: then a job without a partition is in the one without a name.
    pub(crate) is_limited: bool,
    /// True if there is a limit of waiting jobs, which an enqueue counts.
    pub(crate) is_guarded: bool,
    /// The time after which they expire.
    pub(crate) expires: Option<Duration>,
}

impl JobOptions {
    /// The options as the annotation has them. A text with a placeholder has to wait for the settings.
    pub(super) fn of_entry(entry: &Entry) -> Self {
        let text = |attribute: Attribute| {
            entry.attribute(attribute).filter(|text| attribute.check(text, None).is_ok())
        };
        let retries = text(Attribute::RetryMax).and_then(|text| text.parse::<u32>().ok());
        let queue = text(Attribute::Queue).unwrap_or(scheduler_store::DEFAULT_QUEUE);
        let priority = text(Attribute::Priority).and_then(|text| text.parse().ok());
        let on_lost = text(Attribute::OnLost).and_then(|text| text.parse().ok());
        Self {
            queue: queue.to_owned(),
            priority: priority.unwrap_or_default(),
            max_attempts: retries.unwrap_or_default().saturating_add(1),
            on_lost: on_lost.unwrap_or_default(),
            is_limited: is_limited(&text),
            is_guarded: is_guarded(&text),
            expires: text(Attribute::Expires)
                .and_then(|text| Attribute::Expires.parse_duration(text, None).ok()),
        }
    }
}

#[cfg(feature = "testing")]
use std::cell::RefCell;
#[cfg(feature = "testing")]
use std::rc::Rc;

/// Draws the identities of a simulation, later ones greater; `None` once the simulation is gone.
#[cfg(feature = "testing")]
type Draw = Rc<dyn Fn() -> Option<Uuid>>;

#[cfg(feature = "testing")]
thread_local! {
    /// The simulation that this thread has used last.
    static SIMULATED: RefCell<Option<Draw>> = const { RefCell::new(None) };
}

/// Has the identities of jobs that this thread makes come from a simulation, as long as that is there.
#[cfg(feature = "testing")]
pub(crate) fn identities_from(draw: impl Fn() -> Option<Uuid> + 'static) {
    drop(SIMULATED.replace(Some(Rc::new(draw))));
}

/// A new identity, later ones greater.
pub(super) fn new_id() -> JobId {
    #[cfg(feature = "testing")]
    {
        // The draw may drop the last share of its simulation, and with it what belongs to the user: not inside the borrow.
        let draw = SIMULATED.with_borrow(Clone::clone);
        if let Some(drawn) = draw.and_then(|draw| draw()) {
            return JobId::from_uuid(drawn);
        }
    }
    JobId::from_uuid(Uuid::now_v7())
}
