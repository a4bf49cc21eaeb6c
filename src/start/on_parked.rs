//! The hook for durable jobs that were given up.

use super::builder::Builder;
use crate::observe::{Event, EventKind, Listener, ParkedJob, StoreEvent};

impl Builder {
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
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn on_parked(self, hook: impl Fn(&ParkedJob) + Send + Sync + 'static) -> Self {
        self.listener(OnParked(hook))
    }
}

struct OnParked<F>(F);

impl<F: Fn(&ParkedJob) + Send + Sync> Listener for OnParked<F> {
    fn on_event(&self, event: &Event) {
        if let EventKind::Store { what: StoreEvent::JobParked { job } } = &event.kind {
            (self.0)(job);
        }
    }
}
