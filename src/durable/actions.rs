//! Changes by hand: signed commands, what else people do, and the list.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use scheduler_store::{Action, ActionFilter, ActionId, Signature};

use crate::base::sync::Mutex;
use crate::durable::error::JobsError;
use crate::durable::job::new_id;
use crate::durable::jobs::Jobs;

/// Is called with each change by hand that this process has made.
pub(crate) type OnAction = Arc<dyn Fn(&Action) + Send + Sync>;

/// The most actions that wait for the store. The oldest are lost first; all are in the log.
const WAITING_MAX: usize = 1_000;

/// The time before a store that is away is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// The actions of this process.
#[derive(Default)]
pub(super) struct Actions {
    on_action: OnceLock<OnAction>,
    /// The name of this process.
    label: OnceLock<String>,
    waiting: Mutex<Waiting>,
}

/// Actions that no command has made, and whether each is added to one that is there already.
#[derive(Default)]
struct Waiting {
    actions: VecDeque<(Action, bool)>,
    /// True while a thread sends them, which keeps their order.
    is_sending: bool,
}

/// Changes by hand.
impl Jobs {
    /// A handle whose commands are those of a person. The store keeps an [action](Self::actions) of each, in the same transaction,
    /// and the log has a line.
    ///
    /// A command that changes many jobs is one action, with their number. A pause that [names a person](crate::Pause::by) is
    /// signed by that. Other commands of the program are no actions.
    ///
    /// ```
    /// use scheduler::Scheduler;
    /// use scheduler::store::{ActionFilter, JobFilter, JobState, Model, Signature};
    ///
    /// let scheduler = Scheduler::builder().store(Model::new()).spawn()?;
    /// let jobs = scheduler.jobs()?;
    /// let anna = jobs.signed(&Signature::by("anna").reason("the mail server is back"));
    /// anna.resume_queue("mail")?;
    /// let actions = jobs.actions(&ActionFilter::default(), 10)?;
    /// assert_eq!(actions[0].by, "anna");
    /// assert_eq!(actions[0].to_string(), "resume of queue `mail`");
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn signed(&self, signature: &Signature) -> Self {
        let mut signature = signature.clone();
        signature.node = self.inner.actions.label.get().cloned().unwrap_or_default();
        Self { inner: Arc::clone(&self.inner), signature: Some(Arc::new(signature)) }
    }

    /// The changes by hand in all processes and in SQL, the latest first, at most so many. The next page is that
    /// [after](ActionFilter::after) the last one. They are kept [for a time](crate::NodeOptions::keep_actions).
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn actions(&self, filter: &ActionFilter, limit: u32) -> Result<Vec<Action>, JobsError> {
        Ok(self.inner.client.call(|store| store.actions(filter, limit))?)
    }

    /// The signature of a command: of an action of its own, unless several are one.
    pub(super) fn signature(&self) -> Option<Signature> {
        let mut signature = Signature::clone(self.signature.as_deref()?);
        signature.action.get_or_insert_with(new_action);
        Some(signature)
    }

    /// The same for a command that names a person.
    pub(super) fn signature_or(&self, person: Option<&str>) -> Option<Signature> {
        self.signature().or_else(|| self.signed(&Signature::by(person?)).signature())
    }

    /// Says the name of this process.
    pub(crate) fn know_label(&self, label: String) {
        drop(self.inner.actions.label.set(label));
    }

    /// Has this called with each action. Only the first call counts.
    pub(crate) fn on_action(&self, call: OnAction) {
        drop(self.inner.actions.on_action.set(call));
    }

    /// Reports an action.
    pub(super) fn tell(&self, action: &Action) {
        if let Some(on_action) = self.inner.actions.on_action.get() {
            on_action(action);
        }
    }

    /// Has an action kept that no command has made, as soon as the store takes it. So much of its number is there already.
    pub(crate) fn note(&self, mut action: Action, kept: u64) {
        if action.count <= kept {
            return;
        }
        action.node = self.inner.actions.label.get().cloned().unwrap_or_default();
        action.count -= kept;
        let mut waiting = self.inner.actions.waiting.lock();
        waiting.actions.push_back((action, kept > 0));
        if waiting.actions.len() > WAITING_MAX {
            waiting.actions.pop_front();
        }
        if !std::mem::replace(&mut waiting.is_sending, true) {
            drop(waiting);
            self.send_later(Duration::ZERO);
        }
    }

    fn send_later(&self, wait: Duration) {
        let (client, jobs) = (&self.inner.client, self.clone());
        client.later(client.clock().now() + wait, move || jobs.send_waiting());
    }

    /// Sends what waits, until the store does not take it.
    fn send_waiting(&self) {
        loop {
            let mut waiting = self.inner.actions.waiting.lock();
            let Some((action, adds)) = waiting.actions.pop_front() else {
                waiting.is_sending = false;
                return;
            };
            drop(waiting);
            if self.inner.client.call(|store| store.note(&action, adds)).is_ok() {
                continue;
            }
            let mut waiting = self.inner.actions.waiting.lock();
            waiting.actions.push_front((action, adds));
            if self.inner.client.is_inline() {
                waiting.is_sending = false;
                return;
            }
            drop(waiting);
            return self.send_later(PAUSE);
        }
    }
}

/// The identity of a new action, for commands that are [one](Signature::in_action).
#[must_use]
pub fn new_action() -> ActionId {
    ActionId::from_uuid(new_id().as_uuid())
}
