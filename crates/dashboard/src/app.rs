//! The state that all handlers share: settings, and the audit log.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::store::{
    Action, ActionFilter, ActionId, CLOCK_OFF, Signature, StoreTime, new_action,
};
use scheduler::{TaskSnapshot, Tasks};

use crate::access::{Auth, Authenticator, Hosts, Role, Visitor};
use crate::live::Hub;
use crate::log::Recorder;
use crate::problem::Problem;
use crate::store::{LostNodes, Store};
use crate::times::now;

pub(crate) struct App {
    pub(crate) tasks: Tasks,
    pub(crate) options: Options,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) hub: Hub,
    pub(crate) audit: Audit,
    /// Actions that a later request may go on with, each with its word and the name of the visitor.
    begun: Mutex<VecDeque<(ActionId, String)>>,
    pub(crate) authenticator: Authenticator,
    /// The processes that were seen lost.
    pub(crate) lost: LostNodes,
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
            begun: Mutex::default(),
            authenticator,
            lost: LostNodes::default(),
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

    /// By how much the clock of this process is ahead of the store's; zero unless it is off.
    pub(crate) fn clock_offset(&self) -> TimeDelta {
        let offset = self.tasks.jobs().map(|jobs| jobs.clock_offset()).unwrap_or_default();
        let is_off = offset.abs().to_std().is_ok_and(|offset| offset > CLOCK_OFF);
        if is_off { offset } else { TimeDelta::zero() }
    }

    /// Lets the rows of durable tasks be as new as can be had soon.
    pub(crate) async fn refresh_schedules(&self) {
        if let Some(store) = &self.store {
            store.look_if_old().await;
        }
    }

    /// The signature of a visitor.
    pub(crate) fn signature(&self, (who, from): (&Visitor, Option<IpAddr>)) -> Signature {
        let address = from.map(|from| from.to_string()).unwrap_or_default();
        Signature::by(who.name()).address(&address)
    }

    /// Reports an action to the program, and keeps it for when no store answers.
    pub(crate) fn report(&self, action: &Action) {
        let action = Action { at: StoreTime::from(now()), ..action.clone() };
        if let Some(on_action) = &self.options.on_action {
            on_action(&action);
        }
        self.audit.add(action);
    }

    /// Notes an action that no signed command has made, but for so much of its number.
    pub(crate) fn note(&self, mut action: Action, kept: u64) {
        if action.id.as_uuid().is_nil() {
            action.id = new_action();
        }
        self.report(&action);
        self.tasks.note_action(action, kept);
    }

    /// The action that a request goes on with, of the same visitor; else a new one.
    pub(crate) fn going_on(&self, action: Option<&str>, who: &str, verb: &str) -> ActionId {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |begun: &&(ActionId, String)| {
            action == Some(&*begun.0.to_string()) && begun.1 == format!("{verb} {who}")
        };
        if let Some((action, _)) = begun.iter().find(is_same) {
            return *action;
        }
        let action = new_action();
        begun.push_back((action, format!("{verb} {who}")));
        if begun.len() > ACTIONS_MAX {
            begun.pop_front();
        }
        action
    }
}

/// The number of actions of this process that are kept.
const ACTIONS_MAX: usize = 200;

pub(crate) type OnAction = dyn Fn(&Action) + Send + Sync;

/// The last actions of this process.
#[derive(Debug, Default)]
pub(crate) struct Audit(Mutex<VecDeque<Action>>);

impl Audit {
    fn add(&self, action: Action) {
        let mut actions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if actions.len() >= ACTIONS_MAX {
            actions.pop_front();
        }
        actions.push_back(action);
    }

    /// Those that are wanted, the latest first, at most so many.
    pub(crate) fn list(&self, filter: &ActionFilter, limit: usize) -> Vec<Action> {
        let actions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let older = actions.iter().rev();
        let mut older: Vec<&Action> = older.collect();
        if let Some(after) = filter.after {
            let place = older.iter().position(|action| action.id == after);
            older.drain(..place.map_or(older.len(), |place| place + 1));
        }
        let wanted = older.into_iter().filter(|action| action.is_selected(filter));
        wanted.take(limit).cloned().collect()
    }
}

type ShowsPayload = dyn Fn(&Visitor, &str) -> bool + Send + Sync;
type IsProxy = dyn Fn(IpAddr) -> bool + Send + Sync;
type Redact = dyn Fn(&str) -> String + Send + Sync;

/// See the setters of [`Dashboard`](crate::Dashboard).
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) title: String,
    pub(crate) auth: Auth,
    pub(crate) is_read_only: bool,
    pub(crate) hosts: Vec<String>,
    pub(crate) allows_any_host: bool,
    /// Decides which addresses are proxies that name their clients.
    pub(crate) is_proxy: Option<Arc<IsProxy>>,
    pub(crate) has_public_metrics: bool,
    pub(crate) grace: Option<Duration>,
    pub(crate) redact: Option<Arc<Redact>>,
    pub(crate) on_action: Option<Arc<OnAction>>,
    /// Decides who sees the payloads of a task's jobs.
    pub(crate) shows_payload: Arc<ShowsPayload>,
    /// Fields of payloads that are hidden from all visitors.
    pub(crate) hidden_fields: Vec<String>,
}

impl Options {
    pub(crate) fn new() -> Self {
        Self {
            title: program_name().unwrap_or_else(|| "scheduler".to_owned()),
            auth: Auth::Tokens(Vec::new()),
            is_read_only: false,
            hosts: Vec::new(),
            allows_any_host: false,
            is_proxy: None,
            has_public_metrics: false,
            grace: None,
            redact: None,
            on_action: None,
            shows_payload: Arc::new(|visitor, _| visitor.role() >= Role::Operator),
            hidden_fields: Vec::new(),
        }
    }

    /// A text of a failure, a note or a payload, as the dashboard may show it.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.redact.as_ref().map_or_else(|| text.to_owned(), |redact| redact(text))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("Options");
        options.field("title", &self.title).field("is_read_only", &self.is_read_only);
        match &self.auth {
            Auth::Tokens(tokens) => options.field("tokens", tokens),
            Auth::Program(_) => options.field("authorize", &true),
        };
        options.field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

fn program_name() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    Some(path.file_stem()?.to_str()?.to_owned())
}
