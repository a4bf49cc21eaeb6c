//! Configures the store of durable jobs, and the hook for parked ones.

#[cfg(feature = "durable")]
use std::sync::Arc;

#[cfg(all(feature = "durable", feature = "testing"))]
use scheduler_store::Model;
#[cfg(feature = "durable")]
use scheduler_store::Store;

#[cfg(feature = "durable")]
use crate::durable::{NodeOptions, StoreCell};
#[cfg(feature = "durable")]
use crate::observe::{Event, EventKind, ParkedJob, StoreEvent};
use crate::start::builder::Builder;

/// The store, and the part of this process in its work.
#[cfg(feature = "durable")]
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
impl Builder {
    /// Where durable schedules and jobs are kept.
    ///
    /// Processes with the same store run each tick of a [`durable`](macro@crate::scheduled#durable) schedule once
    /// together, and share the jobs that any of them [enqueues](crate::Jobs).
    pub fn store(self, store: impl Store) -> Self {
        self.store_shared(Arc::new(store))
    }

    /// As [`store`](Self::store), with a store that other parts of the program use too.
    pub fn store_shared(self, store: Arc<dyn Store>) -> Self {
        self.store_cell(StoreCell::open(store))
    }

    /// As [`store`](Self::store), with a store that is opened after the start, so that the program also starts while its
    /// database is away.
    ///
    /// `open` is called until it succeeds, each half second to two seconds, one call at a time. Until then tasks in memory run,
    /// [`Jobs`](crate::Jobs) return [errors](crate::EnqueueError::NotAccepted) at once, and the reason is an event and a message;
    /// then durable tasks and jobs begin. Not only a database that is away is waited for, but also one that refuses the
    /// password: watch [`Jobs::is_up`](crate::Jobs::is_up).
    ///
    /// ```
    /// use scheduler::Scheduler;
    /// use scheduler::store::{Model, StoreError};
    ///
    /// // With the feature `postgres`: .store_later(|| Postgres::connect("postgres://shop@db/shop"))
    /// let builder = Scheduler::builder().store_later(|| Ok::<_, StoreError>(Model::new()));
    /// ```
    pub fn store_later<S: Store, E: std::fmt::Display>(
        self,
        mut open: impl FnMut() -> Result<S, E> + Send + 'static,
    ) -> Self {
        let opener = move || match open() {
            Ok(store) => Ok(Arc::new(store) as Arc<dyn Store>),
            Err(error) => Err(error.to_string()),
        };
        self.store_cell(StoreCell::later(Box::new(opener)))
    }

    /// The options of this process for its part in the work that the [store](Self::store) keeps.
    pub fn node(mut self, options: NodeOptions) -> Self {
        self.node = options;
        self
    }

    /// Makes this a process that enqueues durable jobs, looks at them and controls them, and runs none, such as a web server
    /// beside its workers. Tasks in memory run as always.
    ///
    /// It opens no session in the [store](Self::store), fires no durable schedule, and registers none: workers do. Of durable
    /// tasks it needs no managed values; annotation and settings count for what it enqueues.
    ///
    /// ```standalone_crate
    /// use scheduler::store::Model;
    /// use scheduler::{Scheduler, job};
    ///
    /// struct MailServer;
    ///
    /// #[job(name = "send-invoice", retry(max = 5, base = "5s", cap = "1h"))]
    /// fn send_invoice(#[payload] order: u32, server: &MailServer) {
    ///     println!("the invoice of order {order}");
    /// }
    ///
    /// // No `MailServer` here: workers have one.
    /// let web = Scheduler::builder().store(Model::new()).enqueue_only().spawn()?;
    /// web.jobs()?.enqueue(send_invoice::job(17))?;
    /// web.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enqueue_only(mut self) -> Self {
        self.enqueue_only = true;
        self
    }

    /// Calls a function for each durable job that this process parks: its last attempt failed, it gave up, its payload could
    /// not be decoded too often, or its process died too often.
    ///
    /// It is called once the store has the outcome, on the thread of [`listener`](Self::listener)s: no lock is held, no run
    /// is delayed, and a panic is contained and reported. Of processes that share a store, the one that stores the end of the
    /// job calls it. A process that dies in between calls it never, so it is for telling people, not for work that must be
    /// done; [`Jobs::list`](crate::Jobs::list) has all parked jobs.
    ///
    /// ```no_run,standalone_crate
    /// use scheduler::store::Sqlite;
    /// use scheduler::{ParkedJob, Scheduler, job};
    ///
    /// #[job(name = "send-invoice", retry(max = 5))]
    /// fn send_invoice(#[payload] number: u32) -> Result<(), std::io::Error> {
    ///     std::fs::write(format!("invoice-{number}.txt"), "to be paid")
    /// }
    ///
    /// fn tell_the_chat(text: &str) {
    ///     println!("{text}"); // a request to the chat
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     Scheduler::builder()
    ///         .store(Sqlite::open("jobs.db")?)
    ///         .on_parked(|job: &ParkedJob| {
    ///             let which = match job.payload::<u32>() {
    ///                 Some(number) if &*job.task == "send-invoice" => format!("invoice {number}"),
    ///                 _ => format!("{} {}", job.task, job.id),
    ///             };
    ///             tell_the_chat(&format!("{which} failed {} times: {}", job.attempts, job.error));
    ///         })
    ///         .start()?;
    ///     Ok(())
    /// }
    /// ```
    #[doc(alias = "sidekiq_retries_exhausted")]
    #[doc(alias = "dead_letter")]
    pub fn on_parked(self, hook: impl Fn(&ParkedJob) + Send + Sync + 'static) -> Self {
        self.listener(move |event: &Event| {
            if let EventKind::Store { what: StoreEvent::JobParked { job } } = &event.kind {
                hook(job);
            }
        })
    }
}

impl Builder {
    #[cfg(feature = "durable")]
    fn store_cell(self, store: StoreCell) -> Self {
        Self { store: Some(store), simulated_store: None, ..self }
    }

    /// Keeps jobs in the store of a simulation, whose idle time is skipped.
    #[cfg(all(feature = "durable", feature = "testing"))]
    pub(crate) fn simulated_store(self, store: Model) -> Self {
        Self { simulated_store: Some(store.clone()), ..self.store(store) }
    }

    /// Returns true if the process runs no durable jobs.
    pub(super) fn is_enqueue_only(&self) -> bool {
        #[cfg(feature = "durable")]
        let is_enqueue_only = self.enqueue_only;
        #[cfg(not(feature = "durable"))]
        let is_enqueue_only = false;
        is_enqueue_only
    }

    /// Returns true if there is a store.
    pub(super) fn has_store(&self) -> bool {
        #[cfg(feature = "durable")]
        let has_store = self.store.is_some();
        #[cfg(not(feature = "durable"))]
        let has_store = false;
        has_store
    }
}
