//! Actions of visitors on tasks and queues, and rules they write.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::store::{Action, JobPause, PauseScope, Signature, StoreTime, TargetKind};
use scheduler::{ControlError, Jobs, JobsError, Pause, Schedule, Schedules, TaskControl, Zone};
use scheduler_api::{Changed, PauseRequest, Preview, Queue, RuleRequest, Task};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::looks::PATIENCE;
use crate::problem::Problem;
use crate::store::may_have_effect;
use crate::times::now;
use crate::view;
use crate::web::api::{Accepted, Answer};
use crate::web::guard::Caller;
use crate::web::parse;
use crate::web::search::LIMIT;

/// The number of next fire times in a preview.
const PREVIEWED: usize = 5;

/// An action on a task.
#[derive(Clone)]
pub(super) enum Act {
    Run,
    Pause(Pause),
    /// With a reason.
    Resume(Option<String>),
    /// Asks the runs in progress here to stop, and leaves the task.
    Cancel,
    Enable,
    Reschedule(Schedule),
    /// Gives it the rule of the code again.
    Reset,
}

impl Act {
    fn name(&self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Pause(_) => "pause",
            Self::Resume(_) => "resume",
            Self::Cancel => "cancel",
            Self::Enable => "enable",
            Self::Reschedule(_) => "reschedule",
            Self::Reset => "reset",
        }
    }

    /// Returns true if the store does it for a durable task.
    fn is_for_store(&self) -> bool {
        !matches!(self, Self::Cancel | Self::Enable)
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::Pause(pause) => pause.reason.as_deref(),
            Self::Resume(reason) => reason.as_deref(),
            _ => None,
        }
    }

    /// By the control of the task, which sends the pause and the rule of a durable one to the store.
    fn on_task(self, task: &TaskControl) -> Result<(), ControlError> {
        match self {
            Self::Run => task.run_now().map(drop),
            Self::Pause(pause) => task.pause_with(&pause),
            Self::Resume(_) => task.resume(),
            Self::Cancel => task.cancel_run(),
            Self::Enable => task.enable(),
            Self::Reschedule(rule) => task.reschedule(rule),
            Self::Reset => Ok(()),
        }
    }

    /// In the store, as an action of the person who has signed. A pause is one of the schedule, or of the kind of job.
    fn in_store(
        self,
        schedules: &Schedules,
        task: &TaskControl,
        signature: &Signature,
    ) -> Result<(), StoreRefusal> {
        let (name, schedules) = (task.name(), schedules.signed(signature));
        match self {
            Self::Run => schedules.run_now(name).map(drop)?,
            Self::Reschedule(rule) => schedules.reschedule(name, rule)?,
            Self::Reset => schedules.reset(name)?,
            Self::Pause(_) | Self::Resume(_) => self.on_task(&task.signed(signature))?,
            Self::Cancel | Self::Enable => {}
        }
        Ok(())
    }

    /// The entry in the list of actions, of a task that was as in this row.
    fn entry(&self, signature: &Signature, task: &TaskControl, before: Option<&Task>) -> Action {
        let mut entry = Action::new(signature, self.name(), TargetKind::Task, task.name());
        let rule = || before.map(|row| row.rule.clone()).unwrap_or_default();
        match self {
            Self::Reschedule(rule_after) => {
                let after = task.preview(rule_after.clone(), 0);
                entry.before = rule();
                entry.after = after.map(|after| after.rule.to_string()).unwrap_or_default();
            }
            Self::Reset => entry.before = rule(),
            _ => {}
        }
        entry
    }
}

/// A refusal of the store, or of a task that the store keeps.
struct StoreRefusal {
    problem: Problem,
    /// True if the store did not answer, and may have done it.
    is_unavailable: bool,
    /// True if the store has answered with an error.
    is_failed: bool,
}

impl From<JobsError> for StoreRefusal {
    fn from(error: JobsError) -> Self {
        let (is_unavailable, is_failed) = (error.is_unavailable(), error.is_failed());
        Self { is_unavailable, is_failed, problem: error.into() }
    }
}

impl From<ControlError> for StoreRefusal {
    fn from(error: ControlError) -> Self {
        let (is_unavailable, is_failed) = (error.is_unavailable(), error.is_failed());
        Self { is_unavailable, is_failed, problem: error.into() }
    }
}

/// `POST /tasks/{name}/pause`
pub(super) async fn pause(
    app: State<Arc<App>>,
    name: Path<String>,
    by: Extension<Caller>,
    body: Bytes,
) -> Accepted<Task> {
    let pause = pause_of(&app, &read(&body)?, by.who().name())?;
    done(app, name, by, Act::Pause(pause)).await
}

/// `POST /tasks/{name}/resume`
pub(super) async fn resume(
    app: State<Arc<App>>,
    name: Path<String>,
    by: Extension<Caller>,
    body: Bytes,
) -> Accepted<Task> {
    done(app, name, by, Act::Resume(reason_of(&read(&body)?))).await
}

/// `GET /tasks/{name}/preview?cron=…&zone=…`
pub(super) async fn preview(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(rule): Query<RuleRequest>,
) -> Answer<Preview> {
    let control = app.tasks.get(&name)?;
    app.refresh_schedules().await;
    let (_, preview) = Written(rule).of_task(&app, &control, PREVIEWED)?;
    Ok(Json(preview))
}

/// `POST /tasks/{name}/reschedule`
pub(super) async fn reschedule(
    app: State<Arc<App>>,
    name: Path<String>,
    by: Extension<Caller>,
    body: Bytes,
) -> Accepted<Task> {
    let rule: RuleRequest = read(&body)?;
    let control = app.tasks.get(&name)?;
    if rule.reset == Some(true) {
        if !control.is_durable() {
            let detail = "the rule of the code is kept for durable tasks only; a restart brings it back, too";
            return Err(Problem::new(StatusCode::CONFLICT, detail));
        }
        return done(app, name, by, Act::Reset).await;
    }
    app.refresh_schedules().await;
    let (schedule, _) = Written(rule).of_task(&app, &control, 0)?;
    done(app, name, by, Act::Reschedule(schedule)).await
}

/// The body of a request that may be empty.
pub(super) fn read<T: Default + DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if body.is_empty() { Ok(T::default()) } else { parse(body) }
}

/// The reason that a visitor gives for a pause, or for its end.
pub(super) fn reason_of(request: &PauseRequest) -> Option<String> {
    let reason = request.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    reason.map(str::to_owned)
}

/// Reads what a visitor has written. A length counts by the clock of what is paused.
pub(super) fn pause_of(app: &App, request: &PauseRequest, who: &str) -> Result<Pause, Problem> {
    let pause = reason_of(request).iter().fold(Pause::new().by(who), Pause::reason);
    let over = || Problem::bad_request("the pause would be over: its end has passed");
    match (&request.until, request.for_ms) {
        (Some(_), Some(_)) => Err(Problem::bad_request("`until` and `forMs` exclude each other")),
        (Some(until), None) => {
            let wrong = "`until` is no instant such as 2026-03-30T14:00:00Z";
            let until: DateTime<Utc> = until.parse().map_err(|_| Problem::bad_request(wrong))?;
            let until = StoreTime::from(until).utc();
            // One of the two clocks may be ahead.
            if until > now().min(app.store_now()) { Ok(pause.until(until)) } else { Err(over()) }
        }
        (None, Some(0)) => Err(over()),
        (None, Some(length)) => {
            let length = Duration::from_millis(length);
            let end = TimeDelta::from_std(length).ok().and_then(|by| now().checked_add_signed(by));
            let end = end.ok_or_else(|| Problem::bad_request("`forMs` is too long"))?;
            let last = StoreTime::MAX.utc();
            Ok(if end < last { pause.lasting(length) } else { pause.until(last) })
        }
        (None, None) => Ok(pause),
    }
}

/// The tasks that are meant, and the words for them.
struct Meant {
    tasks: Vec<TaskControl>,
    words: String,
}

impl Meant {
    /// The task, if it is one.
    fn only(&self) -> Option<&str> {
        let [task] = &*self.tasks else { return None };
        Some(task.name())
    }
}

/// Those with the names, with the tag, or all.
fn tasks_of(request: &PauseRequest, app: &App) -> Result<Meant, Problem> {
    let (tasks, words) = match (&request.names, &request.tag, request.all) {
        (Some(names), None, None) => {
            let tasks = names.iter().map(|name| Ok(app.tasks.get(name)?));
            (tasks.collect::<Result<_, Problem>>()?, names.join(", "))
        }
        (None, Some(tag), None) => (app.tasks.tagged(tag).tasks().to_vec(), format!("tag {tag}")),
        (None, None, Some(true)) => {
            let tasks = app.list();
            let tasks = tasks.iter().filter_map(|task| app.tasks.get(task.name()).ok());
            (tasks.collect(), "all".to_owned())
        }
        _ => return Err(Problem::bad_request("say which tasks: `names`, `tag` or `all`")),
    };
    Ok(Meant { tasks, words })
}

/// `POST /tasks:pause`
pub(super) async fn pause_many(
    State(app): State<Arc<App>>,
    Extension(by): Extension<Caller>,
    body: Bytes,
) -> Answer<Changed> {
    let request = read(&body)?;
    let pause = pause_of(&app, &request, by.who().name())?;
    many(&app, by, &request, Act::Pause(pause)).await
}

/// `POST /tasks:resume`
pub(super) async fn resume_many(
    State(app): State<Arc<App>>,
    Extension(by): Extension<Caller>,
    body: Bytes,
) -> Answer<Changed> {
    let request = read(&body)?;
    many(&app, by, &request, Act::Resume(reason_of(&request))).await
}

/// `POST /tasks/{name}/run` and the like: does something to a task, and answers with its row.
pub(super) async fn done(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Extension(by): Extension<Caller>,
    act: Act,
) -> Accepted<Task> {
    let control = app.tasks.get(&name)?;
    let before = view::row(&app, &app.snapshot(&control));
    let signature = signature(&app, &by, &act);
    let entry = act.entry(&signature, &control, Some(&before));
    if control.is_durable() && act.is_for_store() {
        let done = in_store(&app, signature, vec![control.clone()], &act, Some(entry)).await;
        done.map_err(|(_, problem)| problem)?;
    } else {
        act.on_task(&control)?;
        app.note(entry, 0);
    }
    Ok((StatusCode::ACCEPTED, Json(view::row(&app, &app.snapshot(&control)))))
}

/// The signature of a visitor, with the reason that he gives.
fn signature(app: &App, by: &Caller, act: &Act) -> Signature {
    app.signature((&by.who(), by.from)).reason(act.reason().unwrap_or_default())
}

/// Does something to tasks, as one action; answers with the number of those that it changed, and where to go on if there was no time
/// for all: tasks in memory take none, and durable ones are changed by name.
async fn many(app: &Arc<App>, by: Caller, request: &PauseRequest, act: Act) -> Answer<Changed> {
    let meant = tasks_of(request, app)?;
    let action = app.going_on(request.action.as_deref(), by.who().name(), act.name());
    let signature = signature(app, &by, &act).in_action(action, &meant.words, meant.only());
    let (mut durable, mut others): (Vec<_>, Vec<_>) =
        meant.tasks.into_iter().partition(TaskControl::is_durable);
    durable.sort_by(|one, other| one.name().cmp(other.name()));
    if let Some(after) = &request.after {
        others.clear();
        durable.retain(|task| task.name() > &**after);
    }
    let here = others.iter().filter(|task| act.clone().on_task(task).is_ok()).count() as u64;
    let mut entry = Action::new(&signature, act.name(), TargetKind::Tasks, "");
    let done = match durable.is_empty() {
        true => Ok((0, None)),
        false => in_store(app, signature, durable, &act, None).await,
    };
    let (Ok((kept, _)) | Err((kept, _))) = done;
    entry.count = here + kept;
    if entry.count > 0 {
        app.note(entry, kept);
    }
    let (_, after) = done.map_err(|(_, problem)| problem)?;
    let action = after.as_ref().map(|_| action.to_string());
    Ok(Json(Changed { changed: here + kept, after, action }))
}

/// Does something to durable tasks in the store, and returns how many it changed, also with a problem; and the last one, if there was
/// no time for all. One by itself, which has an entry, may be refused; of several, those that are refused do not count.
async fn in_store(
    app: &Arc<App>,
    signature: Signature,
    tasks: Vec<TaskControl>,
    act: &Act,
    entry: Option<Action>,
) -> Result<(u64, Option<String>), (u64, Problem)> {
    let (told, act) = (Arc::clone(app), act.clone());
    let store = app.store().map_err(|problem| (0, problem))?;
    let schedules = store.schedules().clone();
    let changed = store.call(move |jobs| {
        let (mut changed, until) = (0, jobs.store_now().after(LIMIT));
        for (index, task) in tasks.iter().enumerate() {
            if index > 0 && jobs.store_now() >= until {
                return Ok((changed, Some(tasks[index - 1].name().to_owned())));
            }
            let done = act.clone().in_store(&schedules, task, &signature);
            // It is reported here, because the visitor may be gone before the answer.
            if let Some(entry) = &entry
                && done.as_ref().err().is_none_or(|refused| refused.is_unavailable)
            {
                told.report(entry);
            }
            match done {
                Ok(()) => changed += 1,
                Err(refused) if entry.is_some() || refused.is_unavailable || refused.is_failed => {
                    return Err((changed, refused.problem));
                }
                Err(_) => {}
            }
        }
        Ok((changed, None))
    });
    let changed = changed.await.map_err(|problem| (0, problem))??;
    drop(store.look_now().await);
    Ok(changed)
}

/// The greatest length of a text of a rule.
const TEXT_BYTES_MAX: usize = 500;

/// The shortest period of a rule by hand. A shorter one is a slip, and takes a whole thread.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// A rule that a visitor has written.
#[derive(Clone, Debug)]
struct Written(pub(super) RuleRequest);

impl Written {
    /// The schedule for a task, and what it would be with its next fire times. Without a zone it has the present one of the
    /// task.
    ///
    /// # Errors
    ///
    /// The fault of the rule, also for a durable task.
    pub(super) fn of_task(
        self,
        app: &App,
        task: &TaskControl,
        count: usize,
    ) -> Result<(Schedule, Preview), Problem> {
        let (zone, schedule) = self.schedule(app, task)?;
        let preview =
            task.preview(schedule.clone(), count).map_err(|error| Problem::of_rule(&error))?;
        Ok((schedule, view::preview(task.name(), &preview, zone)))
    }

    fn schedule(self, app: &App, task: &TaskControl) -> Result<(Zone, Schedule), Problem> {
        let Self(rule) = self;
        let texts = [
            &rule.cron,
            &rule.zone,
            &rule.fixed_rate,
            &rule.fixed_delay,
            &rule.initial_delay,
            &rule.at,
        ];
        for text in texts.into_iter().flatten() {
            // A placeholder would show a visitor the settings of the program.
            if text.contains("${") {
                return Err(Problem::bad_request("placeholders such as `${key}` are for the code"));
            }
            if text.len() > TEXT_BYTES_MAX {
                return Err(Problem::bad_request("the text is too long for a rule"));
            }
        }
        for length in [&rule.fixed_rate, &rule.fixed_delay].into_iter().flatten() {
            // One that is no length is refused with its place, where the rule is read.
            if scheduler_expr::parse_period(length, None).is_ok_and(|length| length < PERIOD_MIN) {
                return Err(Problem::bad_request(
                    "a rule by hand runs at most once in a millisecond",
                ));
            }
        }
        let present = view::row(app, &app.snapshot(task)).zone;
        let zone = present.parse().unwrap_or(Zone::UTC);
        let mut schedule = match (rule.cron, rule.fixed_rate, rule.fixed_delay, rule.at) {
            (Some(cron), None, None, None) => {
                let zone = rule.zone.filter(|zone| !zone.is_empty());
                Schedule::cron(cron).zone(zone.unwrap_or(present))
            }
            (None, Some(period), None, None) => Schedule::fixed_rate(period),
            (None, None, Some(delay), None) => Schedule::fixed_delay(delay),
            (None, None, None, Some(at)) => Schedule::at(at),
            _ => {
                let detail = "say one rule: `cron`, `fixedRate`, `fixedDelay` or `at`";
                return Err(Problem::bad_request(detail));
            }
        };
        if let Some(delay) = rule.initial_delay {
            schedule = schedule.initial_delay(delay);
        }
        Ok((zone, schedule))
    }
}

/// `POST /queues/{name}/pause`
pub(super) async fn pause_queue(
    State(app): State<Arc<App>>,
    Path(queue): Path<String>,
    Extension(by): Extension<Caller>,
    body: Bytes,
) -> Accepted<Queue> {
    let request = read(&body)?;
    let pause = pause_of(&app, &request, by.who().name())?;
    change_queue(&app, queue, by, (Some(pause), reason_of(&request))).await
}

/// `POST /queues/{name}/resume`
pub(super) async fn resume_queue(
    State(app): State<Arc<App>>,
    Path(queue): Path<String>,
    Extension(by): Extension<Caller>,
    body: Bytes,
) -> Accepted<Queue> {
    change_queue(&app, queue, by, (None, reason_of(&read(&body)?))).await
}

/// Pauses a queue, or resumes it; answers with its row.
async fn change_queue(
    app: &Arc<App>,
    queue: String,
    by: Caller,
    (pause, reason): (Option<Pause>, Option<String>),
) -> Accepted<Queue> {
    let store = app.store()?;
    store.look_if_old().await;
    let known = store.depths(PATIENCE).await.answer;
    let known = store.queues(known.as_ref().map_or(&[][..], |(depths, _)| depths));
    if let Some(misspelt) = Problem::misspelt("queue", &queue, known.iter().map(String::as_str)) {
        return Err(misspelt);
    }
    let (told, name) = (Arc::clone(app), queue.clone());
    let signature =
        app.signature((&by.who(), by.from)).reason(reason.as_deref().unwrap_or_default());
    let ask = move |jobs: &Jobs| -> Result<_, JobsError> {
        let was_paused = is_paused(&jobs.pauses()?, &name);
        if pause.is_none() && !was_paused {
            return Ok(None);
        }
        let jobs = jobs.signed(&signature);
        let done = match &pause {
            Some(pause) => jobs.pause_queue(&name, pause),
            None => jobs.resume_queue(&name),
        };
        // It is reported here, because the visitor may be gone before the answer.
        if may_have_effect(&done) {
            let action = if pause.is_some() { "pause" } else { "resume" };
            told.report(&Action::new(&signature, action, TargetKind::Queue, &name));
        }
        done?;
        Ok(Some(jobs.pauses()?))
    };
    let Some(pauses) = store.ask(ask).await? else {
        let detail = format!("queue `{queue}` is not paused");
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    };
    store.expire();
    let depths = store.depths(PATIENCE).await.answer;
    let depths = depths.as_ref().map_or(&[][..], |(depths, _)| depths);
    let rows = view::queues(app, &BTreeSet::new(), depths, &pauses)?;
    let row = rows.into_iter().find(|row| row.queue == queue);
    let row = row.unwrap_or_else(|| Queue { queue, ..Queue::default() });
    Ok((StatusCode::ACCEPTED, Json(row)))
}

fn is_paused(pauses: &[JobPause], queue: &str) -> bool {
    pauses.iter().any(|paused| match &paused.scope {
        PauseScope::Queue(name) => name == queue,
        PauseScope::Task(_) | PauseScope::Partition(..) => false,
    })
}
