//! The state that all handlers share: settings, and the audit log.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::store::{
    Action, ActionFilter, ActionId, CLOCK_OFF, QueueDepth, RunEnd, Signature, StoreTime, new_action,
};
use scheduler::{TaskControl, TaskSnapshot, Tasks};

use crate::access::{Auth, Authenticator, Hosts, Role, Visitor};
use crate::live::Hub;
use crate::log::Recorder;
use crate::looks::PATIENCE;
use crate::lost::LostNodes;
use crate::problem::Problem;
use crate::store::{KnownSchedule, Store};
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
        let store =
            store.map(|(jobs, schedules)| Arc::new(Store::new(jobs, schedules, options.kept_for)));
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
        let mut tasks = self.tasks.list();
        self.recorder.forget_others(&tasks);
        tasks.iter_mut().for_each(|task| self.add_cluster(task));
        tasks
    }

    /// A task.
    pub(crate) fn snapshot(&self, control: &TaskControl) -> TaskSnapshot {
        let mut task = control.snapshot();
        self.add_cluster(&mut task);
        task
    }

    /// The end of a durable task's last run, if another process ran it: this one only knows its own runs. Of a kind of job the store
    /// keeps the last failure.
    pub(crate) fn end_elsewhere(&self, task: &TaskSnapshot) -> Option<RunEnd> {
        let store = self.store.as_ref()?;
        let end = match store.known(task.name()) {
            KnownSchedule::Stored(schedule) => {
                let attempt = store.retrying(task.name()).map(|retrying| retrying.last);
                let ends = schedule.last_end.clone().into_iter().chain(attempt);
                ends.max_by_key(|end| end.at)
            }
            _ => store.failing(task.name()).map(|failing| failing.last),
        };
        let own = last_end(task).map(|at| at - self.clock_offset());
        end.filter(|end| own.is_none_or(|own| own < end.at.utc()))
    }

    /// Adds to a durable task what the store knows of its runs in other processes.
    fn add_cluster(&self, task: &mut TaskSnapshot) {
        let is_durable = self.tasks.get(task.name()).is_ok_and(|control| control.is_durable());
        let Some(store) = self.store.as_ref().filter(|_| is_durable) else { return };
        if let KnownSchedule::Stored(schedule) = store.known(task.name()) {
            // By the clock of this process, as all instants of its task.
            let here = |at: StoreTime| at.utc() + self.clock_offset();
            task.last_success = task.last_success.max(schedule.last_success.map(here));
            if let Some(end) = self.end_elsewhere(task) {
                task.streak = schedule.failures;
                task.failing_since = task.failing_since.or(Some(here(end.at)));
                end_streak_if(task, schedule.failures == 0);
            }
            if let Some(retrying) = store.retrying(task.name()) {
                let since = Some(here(retrying.since));
                task.failing_since = task.failing_since.filter(|_| schedule.failures > 0).or(since);
                task.streak = schedule.failures + retrying.failures;
                return;
            }
        } else {
            self.add_failures(task, store);
        }
        self.end_mended_streak(task, store);
    }

    /// Failures in a row of a kind of job are those of all processes. A run here that is not stored yet, or was not when the store was
    /// asked, makes the kind fail, or ends that.
    fn add_failures(&self, task: &mut TaskSnapshot, store: &Store) {
        let Some((depths, asked_at)) = store.known_depths().answer else { return };
        let is_new = !is_stored(&depths, task.name(), asked_at, last_end(task));
        let failing = store.failing(task.name()).filter(|_| !is_new || task.streak > 0);
        let Some(failing) = failing else { return end_streak_if(task, !is_new) };
        task.streak = failing.failures;
        task.failing_since = Some(failing.since.utc() + self.clock_offset());
    }

    /// A durable task fails no more once the store has no job of it that has failed: another process ran it again, or a person has
    /// deleted it.
    fn end_mended_streak(&self, task: &mut TaskSnapshot, store: &Store) {
        let Some((depths, asked_at)) = store.known_depths().answer else { return };
        end_streak_if(task, is_mended(&depths, task.name(), asked_at, last_end(task)));
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

    /// The present time by the clock of the store, with which its instants are compared.
    pub(crate) fn store_now(&self) -> DateTime<Utc> {
        now() - self.clock_offset()
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
            tokio::join!(store.look_if_old(), store.depths(PATIENCE));
        }
    }

    /// The signature of a visitor.
    pub(crate) fn signature(&self, (who, from): (&Visitor, Option<IpAddr>)) -> Signature {
        let address = from.map(|from| from.to_string()).unwrap_or_default();
        Signature::by(who.name()).address(&address)
    }

    /// Reports an action to the program, and keeps it for when no store answers.
    pub(crate) fn report(&self, action: &Action) {
        let action = Action { at: self.store_now().into(), ..action.clone() };
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

/// The end of the last run here.
fn last_end(task: &TaskSnapshot) -> Option<DateTime<Utc>> {
    task.last_runs.first().map(|run| run.started_at + run.took)
}

/// Returns true if the store had this end of a run of the task at an instant. An end is stored a moment after the run: until then its
/// job is among the running ones.
fn is_stored(
    depths: &[QueueDepth],
    task: &str,
    asked_at: DateTime<Utc>,
    ended_at: Option<DateTime<Utc>>,
) -> bool {
    let own = depths.iter().filter(|depth| depth.task == task);
    let oldest_running = own.filter_map(|depth| depth.oldest_running).max();
    ended_at.is_none_or(|ended_at| asked_at - oldest_running.unwrap_or_default() > ended_at)
}

/// Returns true if the store had no failed job of the task at an instant, and each end before it.
fn is_mended(
    depths: &[QueueDepth],
    task: &str,
    asked_at: DateTime<Utc>,
    ended_at: Option<DateTime<Utc>>,
) -> bool {
    let mut own = depths.iter().filter(|depth| depth.task == task);
    own.all(|depth| depth.parked + depth.retrying == 0)
        && is_stored(depths, task, asked_at, ended_at)
}

fn end_streak_if(task: &mut TaskSnapshot, is_over: bool) {
    if is_over {
        (task.streak, task.failing_since, task.first_failure) = (0, None, None);
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
        let is_same = |kept: &&mut Action| kept.id == action.id && !action.id.as_uuid().is_nil();
        if let Some(kept) = actions.iter_mut().find(is_same) {
            // Another request has gone on with it.
            kept.count += action.count;
            return;
        }
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
    /// The time for which answers of the store are kept.
    pub(crate) kept_for: Duration,
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
            kept_for: Duration::from_secs(5),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_mended_once_the_end_of_its_last_run_is_stored_and_no_job_has_failed() {
        let depth = |task: &str| QueueDepth::empty("default".to_owned(), task.to_owned());
        let at = |second| DateTime::from_timestamp(second, 0).unwrap_or_default();
        let (asked_at, ended_at) = (at(100), at(90));
        let is = |mail: QueueDepth| {
            let other = QueueDepth { parked: 3, ..depth("other") };
            is_mended(&[other, mail], "mail", asked_at, Some(ended_at))
        };
        assert!(is(depth("mail")), "no job is left");
        assert!(!is(QueueDepth { parked: 1, ..depth("mail") }));
        assert!(!is(QueueDepth { retrying: 1, due: 1, ..depth("mail") }), "due or not");
        let running = |seconds| {
            let oldest_running = Some(Duration::from_secs(seconds));
            QueueDepth { running: 1, oldest_running, ..depth("mail") }
        };
        assert!(is(running(9)), "it was claimed after that end");
        assert!(!is(running(11)), "it may be the one that has just ended");
        assert!(!is_mended(&[], "mail", ended_at, Some(asked_at)), "the store is not asked yet");
    }
}
