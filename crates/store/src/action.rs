//! Actions: changes by hand, who made them, and of what.

use std::borrow::Cow;
use std::fmt;

use uuid::Uuid;

use crate::check::storable;
use crate::column::{Column, ColumnField, ColumnKind, ColumnValue, column};
use crate::command::{Command, CommandAll, PauseScope};
use crate::id::{ActionId, JobId, SessionId, StoreTime};
use crate::job::StoredJob;
use crate::limit::{StoredLimit, StoredLimits};
use crate::request::JobFilter;
use crate::schedule::StoredSchedule;

/// The person who gives a command. A store keeps an [`Action`] of each command that is signed, in the same transaction.
///
/// ```
/// use scheduler_store::Signature;
///
/// let signature = Signature::by("anna").reason("the mail server is back");
/// assert_eq!(signature.by, "anna");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// The person.
    pub by: String,
    /// The address from which the person asked.
    pub address: String,
    /// The name of the process that sends the command.
    pub node: String,
    /// Why. A pause without a reason here has its own.
    pub reason: String,
    /// The action. Signed commands with the same one are one entry.
    pub action: Option<ActionId>,
    /// The scope of several commands that are one action; none if each is an action by itself.
    pub scope: Option<ActionScope>,
}

/// The scope of several commands that are one action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionScope {
    /// In words, such as `state parked, queue mail`.
    pub words: String,
    /// The task, if all are of one.
    pub task: Option<String>,
}

impl Signature {
    /// The signature of a person.
    #[must_use]
    pub fn by(person: &str) -> Self {
        Self { by: storable(person), ..Self::default() }
    }

    /// Says why.
    #[must_use]
    pub fn reason(mut self, reason: &str) -> Self {
        self.reason = storable(reason);
        self
    }

    /// Says from which address the person asks.
    #[must_use]
    pub fn address(mut self, address: &str) -> Self {
        self.address = storable(address);
        self
    }

    /// Makes all commands with this signature one action, about what these words say.
    #[must_use]
    pub fn in_action(mut self, action: ActionId, words: &str, task: Option<&str>) -> Self {
        self.action = Some(action);
        self.scope = Some(ActionScope { words: storable(words), task: task.map(storable) });
        self
    }

    /// The entry of a command: without what it was about.
    fn entry(&self, verb: &str, kind: TargetKind, name: &str, now: StoreTime) -> Action {
        let (kind, name, task) = match &self.scope {
            Some(scope) => (kind.several(), &*scope.words, scope.task.clone()),
            None => (kind, name, None),
        };
        Action {
            id: self.action.unwrap_or(ActionId::from_uuid(Uuid::nil())),
            at: now,
            by: self.by.clone(),
            role: String::new(),
            address: self.address.clone(),
            node: self.node.clone(),
            verb: verb.to_owned(),
            kind,
            name: storable(name),
            task,
            count: 1,
            reason: self.reason.clone(),
            before: String::new(),
            after: String::new(),
        }
    }

    /// The entry of a command about a job, or about the jobs of a task or in a queue, that a store has executed. The job is as it
    /// was before.
    #[must_use]
    pub fn entry_of(&self, command: &Command, job: Option<&StoredJob>, now: StoreTime) -> Action {
        let name = command.target();
        let mut entry = self.entry(command.verb(), command.kind(), &name, now);
        if let Command::PauseJobs { scope, .. } | Command::ResumeJobs { scope } = command
            && let PauseScope::Task(task) | PauseScope::Partition(task, _) = scope
            && self.scope.is_none()
        {
            entry.task = Some(task.clone());
        }
        if let (Command::PauseJobs { reason, .. } | Command::PauseNode { reason, .. }, "") =
            (command, &*self.reason)
        {
            entry.reason = storable(reason);
        }
        if let Some(job) = job.filter(|_| self.scope.is_none()) {
            entry.task = Some(job.task.clone());
            if let Command::Edit { payload, .. } = command {
                entry.before = bytes(job.payload.bytes.len());
                entry.after = bytes(payload.bytes.len());
            }
        }
        entry
    }

    /// The entry of a command about a process of this name.
    #[must_use]
    pub fn entry_of_node(&self, command: &Command, label: &str, now: StoreTime) -> Action {
        let entry = self.entry_of(command, None, now);
        if self.scope.is_some() { entry } else { Action { name: storable(label), ..entry } }
    }

    /// The entry of a command about a limit, with the limits as they were before and are after.
    #[must_use]
    pub fn entry_of_limit(
        &self,
        command: &Command,
        (before, after): (&StoredLimits, &StoredLimits),
        now: StoreTime,
    ) -> Action {
        let mut entry = self.entry_of(command, None, now);
        if let (Command::SetLimit { task, scope, limit }, None) = (command, &self.scope) {
            let text = |limits: &StoredLimits| {
                let row = limits.0.get(&(task.clone(), *scope));
                format!("{}: {}", scope.word(), row.map(StoredLimit::limit).unwrap_or_default())
            };
            (entry.before, entry.after) = (text(before), text(after));
            entry.task = Some(task.clone());
            if let (Some(hand), "") = (limit, &*self.reason) {
                entry.reason = storable(&hand.reason);
            }
        }
        entry
    }

    /// The entry of a command about a schedule, as it was before and is after.
    #[must_use]
    pub fn entry_of_schedule(
        &self,
        command: &Command,
        before: Option<&StoredSchedule>,
        after: Option<&StoredSchedule>,
        now: StoreTime,
    ) -> Action {
        let mut entry = self.entry(command.verb(), command.kind(), &command.target(), now);
        if let (Command::Pause { reason, .. }, "") = (command, &*self.reason) {
            entry.reason = storable(reason);
        }
        if self.scope.is_none() {
            entry.task = before.or(after).map(|schedule| schedule.definition.task.clone());
            let rule = |schedule: &StoredSchedule| schedule.rule().text.clone();
            if let Command::Reschedule { .. } | Command::Put { .. } | Command::Remove { .. } =
                command
            {
                entry.before = before.map(rule).unwrap_or_default();
                entry.after = after.map(rule).unwrap_or_default();
            }
        }
        entry
    }
}

impl CommandAll {
    /// The entry of the request, if it is signed and has changed any job.
    #[must_use]
    pub fn entry(&self, done: u64, now: StoreTime) -> Option<Action> {
        let signature = self.signature.as_ref().filter(|_| done > 0)?;
        let verb = self.action.verb();
        let mut entry = signature.entry(verb, TargetKind::Jobs, &self.filter.to_string(), now);
        if signature.scope.is_none() {
            entry.task.clone_from(&self.filter.task);
        }
        entry.count = done;
        Some(entry)
    }
}

fn bytes(length: usize) -> String {
    format!("{length} bytes")
}

/// A change by hand, as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its identity.
    pub id: ActionId,
    /// When; of several commands the first.
    pub at: StoreTime,
    /// The person, as the command was signed.
    pub by: String,
    /// The role of the database that the command came from, if that is another one than this program's; else empty.
    pub role: String,
    /// The address from which the person asked, if it is known.
    pub address: String,
    /// The name of the process that sent the command; empty of one in SQL.
    pub node: String,
    /// The change: `pause`, `resume`, `run`, `reschedule`, `reset`, `put`, `remove`, `retry`, `cancel`, `delete`, `edit`,
    /// `limit`, or one of a
    /// task in memory.
    pub verb: String,
    /// The kind of its target.
    pub kind: TargetKind,
    /// The target: the name or the identity; of several the words that select them.
    pub name: String,
    /// The task, if it is about one.
    pub task: Option<String>,
    /// The number of jobs, tasks or queues that were changed.
    pub count: u64,
    /// Why.
    pub reason: String,
    /// The old rule, or the length of the old payload.
    pub before: String,
    /// The new rule, or the length of the new payload.
    pub after: String,
}

impl Action {
    /// An action without contents, for a store that reads one.
    #[must_use]
    pub fn empty() -> Self {
        Self::new(&Signature::default(), "", TargetKind::Jobs, "")
    }

    /// A change that no command of the store has made, such as the pause of a task in memory. The store gives it its time.
    #[must_use]
    pub fn new(signature: &Signature, verb: &str, kind: TargetKind, name: &str) -> Self {
        signature.entry(verb, kind, name, StoreTime::MIN)
    }

    /// Its signature, without a scope.
    #[must_use]
    pub fn signature(&self) -> Signature {
        Signature {
            by: self.by.clone(),
            address: self.address.clone(),
            node: self.node.clone(),
            reason: self.reason.clone(),
            action: Some(self.id),
            scope: None,
        }
    }

    /// Returns true if a filter selects it, whatever comes before it.
    #[must_use]
    pub fn is_selected(&self, filter: &ActionFilter) -> bool {
        let is = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == text)
        };
        let is_of = |name: &String| self.task.as_ref() == Some(name) || self.name == *name;
        filter.since.is_none_or(|since| since <= self.at)
            && is(&filter.by, &self.by)
            && filter.task.as_ref().is_none_or(is_of)
    }
}

impl ColumnField for ActionId {
    const KIND: ColumnKind = ColumnKind::Uuid;

    fn value(&self) -> ColumnValue<'_> {
        ColumnValue::Uuid(self.as_uuid())
    }

    fn put(&mut self, value: ColumnValue<'_>) {
        *self = Self::from_uuid(if let ColumnValue::Uuid(id) = value { id } else { Uuid::nil() });
    }
}

impl ColumnField for TargetKind {
    const KIND: ColumnKind = ColumnKind::Words(&[
        "jobs",
        "job",
        "task",
        "tasks",
        "queue",
        "queues",
        "partition",
        "schedule",
        "node",
    ]);

    fn value(&self) -> ColumnValue<'_> {
        ColumnValue::Text(Cow::Borrowed(self.word()))
    }

    fn put(&mut self, value: ColumnValue<'_>) {
        *self = Self::of(value.text());
    }
}

type Row = Action;

/// All columns of an action. A new one is a line here, one in the table of each store, and a field of [`Action`].
pub const ACTION_COLUMNS: [Column<Row>; 14] = [
    column!("id", ActionId, row.id),
    column!("at", StoreTime, row.at),
    column!("done_by", String, row.by),
    column!("session_role", String, row.role),
    column!("address", String, row.address),
    column!("node", String, row.node),
    column!("verb", String, row.verb),
    column!("kind", TargetKind, row.kind),
    column!("target", String, row.name),
    column!("task", Option<String>, row.task),
    column!("count", u64, row.count),
    column!("reason", String, row.reason),
    column!("old_value", String, row.before),
    column!("new_value", String, row.after),
];

/// In words: `retry of 3 jobs: state parked, queue mail`.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, kind, name, count, .. } = self;
        match kind.is_named() {
            true => write!(f, "{verb} of {} `{name}`", kind.word()),
            false => write!(f, "{verb} of {count} {}: {name}", kind.word()),
        }
    }
}

/// Selects actions: all conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionFilter {
    /// At this instant or later.
    pub since: Option<StoreTime>,
    /// Of this person, as the commands were signed.
    pub by: Option<String>,
    /// About this task, schedule, queue or process, or the jobs of this task.
    pub task: Option<String>,
    /// Before this one in the list: the next page.
    pub after: Option<ActionId>,
}

/// The kind of the target of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetKind {
    /// A task, or a kind of job.
    Task,
    /// A queue.
    Queue,
    /// A partition of a kind of job.
    Partition,
    /// A schedule.
    Schedule,
    /// A job.
    Job,
    /// A process.
    Node,
    /// Several tasks and schedules.
    Tasks,
    /// Several queues.
    Queues,
    /// Several jobs.
    Jobs,
}

impl TargetKind {
    const ALL: [Self; 9] = [
        Self::Task,
        Self::Queue,
        Self::Partition,
        Self::Schedule,
        Self::Job,
        Self::Node,
        Self::Tasks,
        Self::Queues,
        Self::Jobs,
    ];

    /// The kind with this word. Several jobs, if there is none: their name says what they are.
    #[must_use]
    pub fn of(word: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.word() == word).unwrap_or(Self::Jobs)
    }

    /// The word that stores keep.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Queue => "queue",
            Self::Partition => "partition",
            Self::Schedule => "schedule",
            Self::Job => "job",
            Self::Node => "node",
            Self::Tasks => "tasks",
            Self::Queues => "queues",
            Self::Jobs => "jobs",
        }
    }

    /// Returns true if it is one thing with a name.
    #[must_use]
    pub const fn is_named(self) -> bool {
        matches!(self, Self::Task | Self::Queue | Self::Partition | Self::Schedule | Self::Job)
    }

    const fn several(self) -> Self {
        match self {
            Self::Task | Self::Schedule | Self::Tasks => Self::Tasks,
            Self::Queue | Self::Queues => Self::Queues,
            Self::Job | Self::Jobs => Self::Jobs,
            Self::Node | Self::Partition => self,
        }
    }
}

impl Command {
    /// The word for it in the list of actions.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        match self {
            Self::Pause { .. } | Self::PauseJobs { .. } | Self::PauseNode { .. } => "pause",
            Self::Resume { .. } | Self::ResumeJobs { .. } | Self::ResumeNode { .. } => "resume",
            Self::RunNow { .. } => "run",
            Self::Reschedule { rule: Some(_), .. } => "reschedule",
            Self::Reschedule { rule: None, .. } => "reset",
            Self::SetLimit { limit: Some(_), .. } => "limit",
            Self::SetLimit { limit: None, .. } => "reset",
            Self::Put { .. } => "put",
            Self::Remove { .. } => "remove",
            Self::Cancel { .. } => "cancel",
            Self::Retry { .. } => "retry",
            Self::Delete { .. } => "delete",
            Self::Edit { .. } => "edit",
        }
    }

    const fn kind(&self) -> TargetKind {
        match self {
            Self::PauseJobs { scope, .. } | Self::ResumeJobs { scope } => match scope {
                PauseScope::Task(_) => TargetKind::Task,
                PauseScope::Queue(_) => TargetKind::Queue,
                PauseScope::Partition(..) => TargetKind::Partition,
            },
            Self::Cancel { .. } | Self::Retry { .. } | Self::Delete { .. } | Self::Edit { .. } => {
                TargetKind::Job
            }
            Self::PauseNode { .. } | Self::ResumeNode { .. } => TargetKind::Node,
            Self::SetLimit { .. } => TargetKind::Task,
            _ => TargetKind::Schedule,
        }
    }

    /// The schedule that it is about.
    #[must_use]
    pub fn schedule(&self) -> Option<&str> {
        match self {
            Self::Pause { schedule, .. }
            | Self::Resume { schedule }
            | Self::RunNow { schedule, .. }
            | Self::Reschedule { schedule, .. }
            | Self::Remove { schedule } => Some(schedule),
            Self::Put { definition } => Some(&definition.name),
            _ => None,
        }
    }

    /// The job that it is about.
    #[must_use]
    pub const fn job(&self) -> Option<JobId> {
        match self {
            Self::Cancel { job }
            | Self::Retry { job }
            | Self::Delete { job }
            | Self::Edit { job, .. } => Some(*job),
            _ => None,
        }
    }

    /// The session of the process that it is about.
    #[must_use]
    pub const fn node(&self) -> Option<SessionId> {
        match self {
            Self::PauseNode { session, .. } | Self::ResumeNode { session } => Some(*session),
            _ => None,
        }
    }

    /// The name of the target, or its identity.
    fn target(&self) -> String {
        match (self, self.job()) {
            (Self::PauseJobs { scope, .. } | Self::ResumeJobs { scope }, _) => match scope {
                PauseScope::Partition(_, partition) => partition.clone(),
                _ => scope.name().into_owned(),
            },
            (Self::SetLimit { task, .. }, _) => task.clone(),
            (_, Some(job)) => job.to_string(),
            _ => match self.node() {
                Some(session) => session.to_string(),
                None => self.schedule().unwrap_or_default().to_owned(),
            },
        }
    }
}

/// In words: `state parked, queue mail`.
impl fmt::Display for JobFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.map(|state| state.word().to_owned());
        let parts = [
            ("state", &state),
            ("task", &self.task),
            ("queue", &self.queue),
            ("partition", &self.partition),
            ("key", &self.key),
            ("schedule", &self.schedule),
        ];
        let parts =
            parts.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        let with_error = self.has_error.then(|| "with an error".to_owned());
        let parts: Vec<String> = parts.chain(with_error).collect();
        f.write_str(if parts.is_empty() { "all" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}
