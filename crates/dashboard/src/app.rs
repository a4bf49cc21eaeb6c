//! The state that all handlers share, and the audit log of actions.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use scheduler::chrono::{DateTime, Utc};
use scheduler::store::JobId;
use scheduler::{TaskSnapshot, Tasks};

use crate::access::Hosts;
use crate::access::{Authenticator, Visitor};
use crate::dashboard::Options;
use crate::live::Hub;
use crate::log::Recorder;
use crate::problem::Problem;
use crate::store::SeenProcesses;
use crate::store::Store;
use crate::times::now;

pub(crate) struct App {
    pub(crate) tasks: Tasks,
    pub(crate) options: Options,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) hub: Hub,
    pub(crate) audit: Audit,
    pub(crate) authenticator: Authenticator,
    /// Processes that were seen in the store.
    pub(crate) seen: SeenProcesses,
    store: Option<Arc<Store>>,
    pub(crate) hosts: Hosts,
    /// True if only this machine can connect, which makes metrics and health public.
    pub(crate) is_local: bool,
    pub(crate) started_at: DateTime<Utc>,
}

impl App {
    pub(crate) fn new(
        (tasks, recorder): (Tasks, Arc<Recorder>),
        options: Options,
        hosts: Hosts,
        is_local: bool,
    ) -> Arc<Self> {
        let authenticator = Authenticator::new(options.auth.clone());
        let store = tasks.jobs().ok().zip(tasks.schedules().ok());
        let store = store.map(|(jobs, schedules)| Arc::new(Store::new(jobs, schedules)));
        let (audit, started_at) = (Audit::default(), now());
        let hub = Hub::new(started_at.timestamp_micros());
        Arc::new(Self {
            tasks,
            options,
            recorder,
            hub,
            audit,
            authenticator,
            seen: SeenProcesses::default(),
            store,
            hosts,
            is_local,
            started_at,
        })
    }

    /// All tasks.
    pub(crate) fn list(&self) -> Vec<TaskSnapshot> {
        let tasks = self.tasks.list();
        self.recorder.forget_others(&tasks);
        tasks
    }

    /// The store.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn store(&self) -> Result<&Arc<Store>, Problem> {
        let none = "this program has no store, and so no durable jobs\n\
                    help: give it one: Scheduler::builder().store(Sqlite::open(\"jobs.db\")?)";
        self.store.as_ref().ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, none))
    }

    /// Lets the rows of durable tasks be as new as can be had soon.
    pub(crate) async fn refresh_schedules(&self) {
        if let Some(store) = &self.store {
            store.look_if_old().await;
        }
    }

    /// Logs an action, and reports it to the program.
    pub(crate) fn note(&self, (who, from): (&Visitor, Option<IpAddr>), what: What<'_>) {
        let action = Action {
            at: now(),
            who: who.name().into(),
            from,
            action: what.action,
            task: what.task.into(),
            queue: what.queue.map(Arc::from),
            job: what.job,
            note: what.note.map(Arc::from),
        };
        if let Some(on_action) = &self.options.on_action {
            on_action(&action);
        }
        self.audit.add(action);
    }
}

/// An action of a visitor.
#[derive(Clone, Copy)]
pub(crate) struct What<'a> {
    pub(crate) action: &'static str,
    pub(crate) task: &'a str,
    pub(crate) queue: Option<&'a str>,
    pub(crate) job: Option<JobId>,
    pub(crate) note: Option<&'a str>,
}

/// The number of actions that are kept.
const ACTIONS_MAX: usize = 200;

/// Something that a visitor did, for the list of actions and for [`on_action`](crate::Dashboard::on_action).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Action {
    /// When.
    pub at: DateTime<Utc>,
    /// The name of the visitor.
    pub who: Arc<str>,
    /// The address of the connection, or the one that a [trusted proxy](crate::Dashboard::trust_proxy) names.
    pub from: Option<IpAddr>,
    /// The action: `run`, `pause`, `resume`, `cancel`, `enable`, `reschedule` or `reset`; of a job `retry`, `cancel`, `delete` or `edit`.
    /// `wrong_tokens` if an unknown client has sent ten wrong tokens within a minute.
    pub action: &'static str,
    /// The name of the task; `*` for jobs of any task, and for a queue.
    pub task: Arc<str>,
    /// The queue, if it was paused or resumed.
    pub queue: Option<Arc<str>>,
    /// The job, if it was done to one.
    pub job: Option<JobId>,
    /// The note of a pause; the rule that a task had, and the one that it got.
    pub note: Option<Arc<str>>,
}

pub(crate) type OnAction = dyn Fn(&Action) + Send + Sync;

/// The last actions.
#[derive(Debug, Default)]
pub(crate) struct Audit(Mutex<VecDeque<Action>>);

impl Audit {
    pub(crate) fn add(&self, action: Action) {
        let mut actions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if actions.len() >= ACTIONS_MAX {
            actions.pop_front();
        }
        actions.push_back(action);
    }

    /// The latest first; those of one task, or all.
    pub(crate) fn list(&self, task: Option<&str>) -> Vec<Action> {
        let actions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted =
            actions.iter().rev().filter(|action| task.is_none_or(|name| name == &*action.task));
        wanted.cloned().collect()
    }
}
