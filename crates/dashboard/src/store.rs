//! The store of durable jobs, as the dashboard asks it.
//!
//! A store blocks the thread that asks it, and may not answer for a long time. So it is asked on threads that the runtime
//! keeps for that, never on those that answer requests; at most four questions of visitors are out at once, those that never come
//! back included; and a question that takes too long is answered by 503. Searches have other places, and what pages and programs
//! ask again and again is one [`Look`] for all.
//!
//! The schedules of tasks are remembered, because each row of the list has some of them.
//!
//! It must never delay an answer that needs no store by more than half a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::store::{
    Failing, JobFilter, JobPause, JobState, Known, LimitDepth, PauseScope, QueueDepth, SessionInfo,
    StoredJob, StoredSchedule, UnknownTask,
};
use scheduler::{Jobs, JobsError, Schedules};
use scheduler_api::JobErrors;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use crate::looks::{LIMIT, Look, PATIENCE, Searches, Seen};
use crate::problem::Problem;
use crate::retrying::{Retrying, retrying};
use crate::times::now;

/// The greatest number of questions of visitors that may be out.
const QUESTIONS_MAX: usize = 4;
/// The same of looks at schedules, pauses and sessions.
const LOOKS_MAX: usize = 2;
/// The number of running jobs that are looked at for the processes that have them.
const RUNNING_MAX: u32 = 1_000;
/// A run is long that takes so many times as long as any of the last ones, and so long at least; longer where few are known.
const LONG_TIMES: u32 = 10;
const LONG_MIN: Duration = Duration::from_secs(60);
const LONG_UNKNOWN: Duration = Duration::from_secs(600);
/// The number of the last runs that are looked at, and of few.
const LAST_RUNS: u32 = 20;
const FEW_RUNS: usize = 5;
/// The time for which their lengths are kept.
const LENGTHS_KEPT: Duration = Duration::from_secs(60);

/// A store takes so long to be up as a rule.
const OPENING: TimeDelta = TimeDelta::seconds(10);

/// A due job that waits for so long waits for a process, unless a limit holds it back.
const WAITS_LONG: Duration = Duration::from_secs(60);
/// The time for which none of a task with a limit has to start: between an end and the next start, one of those that wait may start.
const OPEN_FOR: TimeDelta = TimeDelta::seconds(30);

/// By queue and task: the jobs that wait for long, and that no limit holds back.
#[derive(Default)]
struct OpenWaits(BTreeMap<(String, String), OpenWait>);

struct OpenWait {
    /// Since then none of the task was seen to start.
    since: DateTime<Utc>,
    /// When the oldest of them became due.
    due_at: DateTime<Utc>,
    /// All due jobs of the task at the last look.
    jobs: u64,
}

impl OpenWaits {
    /// Takes an answer, with the last start of a running job of a queue and task as far as it is known; returns for each row how long
    /// the oldest of such jobs has waited.
    fn take(
        &mut self,
        (depths, asked_at): (&[LimitDepth], DateTime<Utc>),
        last_start: impl Fn(&LimitDepth) -> Option<DateTime<Utc>>,
    ) -> Vec<Option<Duration>> {
        let mut former = std::mem::take(&mut self.0);
        let wait = |depth: &LimitDepth| {
            let oldest = depth.oldest_open.filter(|oldest| *oldest > WAITS_LONG)?;
            let place = (depth.queue.clone(), depth.task.clone());
            let (due_at, jobs) = (asked_at - oldest, depth.open + depth.held);
            let is_same = |wait: &OpenWait| {
                // Both instants are those of this clock, a little later than the store's.
                let is_oldest = due_at - wait.due_at < TimeDelta::seconds(1);
                is_oldest && jobs >= wait.jobs && last_start(depth).is_none_or(|at| at < wait.since)
            };
            let new = || OpenWait { since: asked_at, due_at, jobs };
            let wait = former
                .remove(&place)
                .filter(is_same)
                .map_or_else(new, |wait| OpenWait { jobs, ..wait });
            let is_long = asked_at - wait.since >= OPEN_FOR;
            self.0.insert(place, wait);
            is_long.then_some(oldest)
        };
        depths.iter().map(wait).collect()
    }
}

/// The store.
pub(crate) struct Store {
    jobs: Jobs,
    schedules: Schedules,
    places: Arc<Semaphore>,
    look_places: Arc<Semaphore>,
    probe_places: Arc<Semaphore>,
    searches: Searches,
    /// The time for which answers are kept.
    kept_for: Duration,
    depths: Arc<Look<Vec<QueueDepth>>>,
    running: Arc<Look<Vec<StoredJob>>>,
    limits: Arc<Look<Vec<LimitDepth>>>,
    open_waits: Mutex<OpenWaits>,
    /// By state: the errors of all its jobs.
    errors: [Arc<Look<JobErrors>>; JobState::ALL.len()],
    /// By task: the time from which a run is long.
    long: Arc<Look<BTreeMap<String, Duration>>>,
    known: Mutex<Known<Answered>>,
}

/// The schedules, pauses and sessions of the last answer; the rows that have changed since they were sent; the failure of the last
/// request.
#[derive(Default)]
struct Answered {
    by_name: BTreeMap<String, Arc<StoredSchedule>>,
    sessions: Arc<[SessionInfo]>,
    /// The kinds of jobs and the queues that are paused.
    pauses: Vec<JobPause>,
    /// The schedules that were paused: a pause ends without a change in the store.
    paused: BTreeSet<String>,
    /// The tasks that have failed, and how often in a row.
    failing: BTreeMap<String, u64>,
    /// Those of the schedules whose jobs fail, and are tried again.
    retrying: BTreeMap<String, Retrying>,
    /// The schedules whose rows have to be sent again.
    changed: BTreeSet<String>,
    answered_at: Option<Instant>,
    down_since: Option<DateTime<Utc>>,
    was_up: bool,
    /// The error, if the store did not answer.
    failure: Option<String>,
    /// Why this process, whose session was up before, fires no ticks though the store answers.
    outage: Option<String>,
}

/// The schedule of a task, as of the last answer of the store.
pub(crate) enum KnownSchedule {
    Stored(Arc<StoredSchedule>),
    /// The store has none of its name, as of a kind of job.
    Absent,
    /// The store did not answer.
    Unanswered(String),
}

/// True unless the store has refused: it may have done what it did not answer.
pub(crate) fn may_have_effect<R>(done: &Result<R, JobsError>) -> bool {
    done.as_ref().err().is_none_or(JobsError::is_unavailable)
}

/// The running jobs of all processes.
pub(crate) fn running_jobs(jobs: &Jobs) -> Result<Vec<StoredJob>, JobsError> {
    let filter = JobFilter { state: Some(JobState::Running), ..JobFilter::default() };
    jobs.list(&filter, RUNNING_MAX)
}

/// The time from which a run of a task is long, by its last jobs that succeeded.
fn long_from(jobs: &Jobs, task: String) -> Result<Duration, JobsError> {
    let state = Some(JobState::Done);
    let filter = JobFilter { task: Some(task), state, ..JobFilter::default() };
    let done = jobs.list(&filter, LAST_RUNS)?;
    let took = done.iter().filter_map(|job| Some(job.finished_at?.since(job.started_at?)));
    let longest = took.max().unwrap_or_default();
    let least = if done.len() < FEW_RUNS { LONG_UNKNOWN } else { LONG_MIN };
    Ok(least.max(longest.saturating_mul(LONG_TIMES)))
}

/// The kind of job that is paused; none of a queue.
fn task_of(paused: &JobPause) -> Option<&str> {
    match &paused.scope {
        PauseScope::Task(name) => Some(name),
        PauseScope::Queue(_) | PauseScope::Partition(..) => None,
    }
}

impl Store {
    pub(crate) fn new(jobs: Jobs, schedules: Schedules, kept_for: Duration) -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self {
            jobs,
            schedules,
            places: places(QUESTIONS_MAX),
            look_places: places(LOOKS_MAX),
            probe_places: places(1),
            searches: Searches::new(),
            kept_for,
            depths: Look::new(),
            running: Look::new(),
            limits: Look::new(),
            open_waits: Mutex::default(),
            errors: JobState::ALL.map(|_| Look::new()),
            long: Look::new(),
            known: Mutex::default(),
        }
    }

    /// True if the schedule is paused now, by the clock of the store.
    pub(crate) fn is_paused(&self, schedule: &StoredSchedule) -> bool {
        schedule.pause.as_ref().is_some_and(|pause| pause.holds(self.jobs.store_now()))
    }

    /// For what needs no answer of the store, and for questions.
    pub(crate) fn schedules(&self) -> &Schedules {
        &self.schedules
    }

    /// Asks the store. It may still do what it was asked after this has given up.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&Jobs) -> Result<R, JobsError> + Send + 'static,
    ) -> Result<R, Problem> {
        Ok(self.call(question).await??)
    }

    /// Asks the store for what an answer can be without.
    pub(crate) async fn ask_briefly<R: Send + 'static>(
        &self,
        question: impl FnOnce(&Jobs) -> Result<R, JobsError> + Send + 'static,
    ) -> Option<R> {
        timeout(PATIENCE, self.ask(question)).await.ok()?.ok()
    }

    /// As [`ask`](Self::ask), for what may be refused in another way.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        question: impl FnOnce(&Jobs) -> R + Send + 'static,
    ) -> Result<R, Problem> {
        self.call_at(Arc::clone(&self.places).acquire_owned(), question).await
    }

    /// Asks the store to look through jobs, when it is the turn of this visitor.
    pub(crate) async fn search<R: Send + 'static>(
        &self,
        visitor: &str,
        question: impl FnOnce(&Jobs) -> Result<R, JobsError> + Send + 'static,
    ) -> Result<R, Problem> {
        let place = self.searches.enter(visitor).await?;
        Ok(self.call_at(std::future::ready(place), question).await??)
    }

    /// Asks when there is a place, which is held until the store has answered.
    async fn call_at<R: Send + 'static>(
        &self,
        place: impl Future<Output: Send + 'static>,
        question: impl FnOnce(&Jobs) -> R + Send + 'static,
    ) -> Result<R, Problem> {
        let jobs = self.jobs.clone();
        let asked = async move {
            let place = place.await;
            spawn_blocking(move || {
                let _place = place;
                question(&jobs)
            })
            .await
        };
        match timeout(LIMIT, asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(Problem::store_panicked()),
            Err(_) => {
                let detail =
                    "the store has not answered within 5 s; the request may still take effect";
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
            }
        }
    }

    /// Why the store is not up for this process, and since when that was seen; none while it is. No search and no other question
    /// takes its place.
    pub(crate) async fn outage(&self) -> Option<(String, DateTime<Utc>)> {
        let place = Arc::clone(&self.probe_places).acquire_owned();
        let outage = match timeout(PATIENCE, self.call_at(place, Jobs::outage)).await {
            Ok(Ok(outage)) => outage,
            Ok(Err(problem)) => Some(problem.detail().to_owned()),
            Err(_) => Some("the store has not answered within half a second".to_owned()),
        };
        let mut known = self.lock();
        known.get_mut().was_up |= outage.is_none();
        let down_since = &mut known.get_mut().down_since;
        *down_since = outage.as_ref().map(|_| down_since.unwrap_or_else(now));
        outage.zip(*down_since)
    }

    /// True if the process started only just now, and its store was not up yet.
    pub(crate) fn is_opening(&self, started_at: DateTime<Utc>) -> bool {
        !self.lock().get().was_up && now() - started_at < OPENING
    }

    /// The numbers of jobs, as all pages and scrapes share them.
    pub(crate) async fn depths(&self, patience: Duration) -> Seen<Vec<QueueDepth>> {
        self.depths.look((&self.jobs, self.kept_for), patience, Jobs::depths).await
    }

    /// The numbers of jobs that are known, without a question.
    pub(crate) fn known_depths(&self) -> Seen<Vec<QueueDepth>> {
        self.depths.seen()
    }

    /// The tasks with a job that may have run for long: each with the time from which it has, by the last runs that succeeded in any
    /// process. The store is asked only for these.
    pub(crate) async fn long_from(&self, depths: &[QueueDepth]) -> BTreeMap<String, Duration> {
        let is_old = |depth: &&QueueDepth| depth.oldest_running > Some(LONG_MIN);
        let tasks: BTreeSet<String> =
            depths.iter().filter(is_old).map(|depth| depth.task.clone()).collect();
        if tasks.is_empty() {
            return BTreeMap::new();
        }
        let known = self.long.seen().answer;
        let is_known =
            |task: &String| known.as_ref().is_some_and(|(known, _)| known.contains_key(task));
        if !tasks.iter().all(is_known) {
            self.long.expire();
        }
        let asked = tasks.clone();
        let ask = move |jobs: &Jobs| -> Result<_, JobsError> {
            asked.into_iter().map(|task| Ok((task.clone(), long_from(jobs, task)?))).collect()
        };
        let found = self.long.look((&self.jobs, LENGTHS_KEPT), PATIENCE, ask).await.answer;
        let of_jobs = |task: &String| Some(*found.as_ref()?.0.get(task)?);
        let from = |task: String| {
            let least = of_jobs(&task).unwrap_or(LONG_UNKNOWN);
            let from = least.max(self.last_length(&task).saturating_mul(LONG_TIMES));
            (task, from)
        };
        tasks.into_iter().map(from).collect()
    }

    /// The length of the last run of a schedule, if that succeeded: the job itself may be gone.
    fn last_length(&self, task: &str) -> Duration {
        let KnownSchedule::Stored(schedule) = self.known(task) else { return Duration::ZERO };
        let end = schedule.last_end.as_ref().filter(|end| end.state == JobState::Done);
        end.and_then(|end| Some(end.at.since(end.started_at?))).unwrap_or_default()
    }

    /// Running jobs, as all pages share them.
    pub(crate) async fn running(&self) -> Seen<Vec<StoredJob>> {
        self.running.look((&self.jobs, self.kept_for), LIMIT, running_jobs).await
    }

    /// The due jobs of tasks that have a limit, each with the wait of its oldest job that no limit holds back, if none has started for
    /// a while. While none has a limit the store counts no job. The first answer may
    /// take longer.
    pub(crate) async fn limited(&self, first: Duration) -> Vec<(LimitDepth, Option<Duration>)> {
        let patience = if self.limits.seen().answer.is_some() { PATIENCE } else { first };
        let seen = self.limits.look((&self.jobs, self.kept_for), patience, Jobs::limit_depths);
        let Some((depths, asked_at)) = seen.await.answer else { return Vec::new() };
        let running = self.known_depths().answer;
        let last_start = |limited: &LimitDepth| {
            let (depths, asked_at) = running.as_ref()?;
            let is_same = |depth: &&QueueDepth| {
                (&depth.queue, &depth.task) == (&limited.queue, &limited.task)
            };
            Some(*asked_at - depths.iter().find(is_same)?.oldest_running?)
        };
        let mut open_waits = self.open_waits.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = open_waits.take((&depths, asked_at), last_start);
        depths.iter().cloned().zip(waits).collect()
    }

    /// A visitor has changed limits here.
    pub(crate) fn expire_limits(&self) {
        self.limits.expire();
    }

    /// The errors of the jobs in a state, with their numbers, as all pages share them.
    pub(crate) async fn errors(
        &self,
        state: JobState,
        question: impl FnOnce(&Jobs) -> Result<JobErrors, JobsError> + Send + 'static,
    ) -> Seen<JobErrors> {
        let of_state = JobState::ALL.iter().zip(&self.errors).find(|(each, _)| **each == state);
        let look = of_state.map_or_else(Look::new, |(_, look)| Arc::clone(look));
        look.look((&self.jobs, self.kept_for), LIMIT, question).await
    }

    /// A visitor has changed jobs or pauses here.
    pub(crate) fn expire(&self) {
        self.depths.expire();
        self.running.expire();
        self.errors.iter().for_each(|look| look.expire());
        self.lock().get_mut().answered_at = None;
    }

    /// The sessions of the last answer.
    pub(crate) fn sessions(&self) -> Arc<[SessionInfo]> {
        Arc::clone(&self.lock().get().sessions)
    }

    /// The pauses of jobs of the last answer.
    pub(crate) fn pauses(&self) -> Vec<JobPause> {
        self.lock().get().pauses.clone()
    }

    /// Why the last look at schedules, pauses and sessions has no answer.
    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().get().failure.clone()
    }

    /// The queues that have jobs, are paused, or are named by tasks here or by schedules of any process.
    pub(crate) fn queues(&self, depths: &[QueueDepth]) -> BTreeSet<String> {
        let mut queues = self.jobs.queues();
        queues.extend(depths.iter().map(|depth| depth.queue.clone()));
        let known = self.lock();
        let stored = known.get().by_name.values();
        queues.extend(stored.map(|schedule| schedule.definition.queue.clone()));
        queues.extend(known.get().pauses.iter().filter_map(|paused| match &paused.scope {
            PauseScope::Queue(queue) => Some(queue.clone()),
            PauseScope::Task(_) | PauseScope::Partition(..) => None,
        }));
        queues
    }

    /// The tasks that have jobs, or that a process has.
    pub(crate) fn tasks(&self, depths: &[QueueDepth]) -> BTreeSet<String> {
        let sessions = self.sessions();
        let of_sessions = sessions.iter().flat_map(|session| &session.tasks);
        let of_jobs = depths.iter().map(|depth| depth.task.clone());
        of_sessions.map(|task| task.name.clone()).chain(of_jobs).collect()
    }

    /// The tasks that no living process can run, as of the last answers.
    pub(crate) fn unknown_tasks(&self, depths: &[QueueDepth]) -> Vec<UnknownTask> {
        let known = self.lock();
        let stored: Vec<_> = known.get().by_name.values().cloned().collect();
        let sessions = Arc::clone(&known.get().sessions);
        drop(known);
        self.jobs.unknown_tasks(depths, &sessions, stored.iter().map(|schedule| &**schedule))
    }

    /// Returns the known schedule of a durable task.
    pub(crate) fn known(&self, task: &str) -> KnownSchedule {
        let known = self.lock();
        let schedules = known.get();
        match (&schedules.failure, schedules.by_name.get(task)) {
            (Some(failure), _) => KnownSchedule::Unanswered(failure.clone()),
            (None, Some(schedule)) => KnownSchedule::Stored(Arc::clone(schedule)),
            (None, None) => KnownSchedule::Absent,
        }
    }

    /// Why this process fires no ticks though the store answers, as when its disk is full; none also until its session was up.
    pub(crate) fn tick_failure(&self) -> Option<String> {
        self.lock().get().outage.clone()
    }

    /// The failures in a row of a kind of job, as of the last count.
    pub(crate) fn failing(&self, task: &str) -> Option<Failing> {
        let (depths, _) = self.known_depths().answer?;
        depths.iter().find(|depth| depth.task == task)?.failing.clone()
    }

    /// The failed attempts of the job of a schedule that is tried again, as of the last answer.
    pub(crate) fn retrying(&self, task: &str) -> Option<Retrying> {
        self.lock().get().retrying.get(task).cloned()
    }

    /// The tasks whose jobs may fail and be tried again: those that the last count has, and those that did at the last look.
    fn may_retry(&self) -> BTreeSet<String> {
        let depths = self.known_depths().answer.map(|(depths, _)| depths);
        let depths = depths.iter().flat_map(|depths| depths.iter());
        let retrying = depths.filter(|depth| depth.retrying > 0).map(|depth| depth.task.clone());
        retrying.chain(self.lock().get().retrying.keys().cloned()).collect()
    }

    /// The schedules and kinds of jobs whose last jobs have failed, as of the last answers.
    pub(crate) fn all_failing(&self) -> BTreeSet<String> {
        let depths = self.known_depths().answer.map(|(depths, _)| depths);
        let kinds = depths.iter().flat_map(|depths| depths.iter());
        let kinds = kinds.filter(|depth| depth.failing.is_some()).map(|depth| depth.task.clone());
        let known = self.lock();
        let schedules = known.get().by_name.iter().filter(|(_, schedule)| schedule.failures > 0);
        let retrying = known.get().retrying.keys().cloned();
        schedules.map(|(name, _)| name.clone()).chain(retrying).chain(kinds).collect()
    }

    /// Takes note of the failures in a row of tasks; returns those that had another number. One that is not among them is mended.
    pub(crate) fn take_failing(&self, failing: BTreeMap<String, u64>) -> BTreeSet<String> {
        let mut known = self.lock();
        let former = std::mem::replace(&mut known.get_mut().failing, failing);
        let present = &known.get().failing;
        let names = present.keys().chain(former.keys());
        let is_new = |name: &&String| former.get(*name) != present.get(*name);
        names.filter(is_new).cloned().collect()
    }

    /// The tasks whose rows have to be sent again.
    pub(crate) fn take_changed(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.lock().get_mut().changed)
    }

    /// Asks for the schedules. Of two answers the one counts that was asked for later.
    async fn look(self: Arc<Self>) {
        let question = self.lock().ask();
        let (asked, may_retry) = (self.schedules.clone(), self.may_retry());
        let ask = move |jobs: &Jobs| -> Result<_, JobsError> {
            let list = asked.list()?;
            let names = list.iter().map(|schedule| schedule.definition.name.clone());
            let retrying =
                retrying(jobs, &names.filter(|name| may_retry.contains(name)).collect())?;
            Ok((list, retrying, jobs.pauses()?, jobs.sessions()?, jobs.outage()))
        };
        let answer = self.call_at(Arc::clone(&self.look_places).acquire_owned(), ask).await;
        let answer = answer.and_then(|answer| answer.map_err(Problem::from));
        let mut known = self.lock();
        let Some(schedules) = known.answer(question) else { return };
        schedules.answered_at = Some(Instant::now());
        match answer {
            Ok((list, retrying, pauses, sessions, outage)) => {
                schedules.retrying = retrying;
                schedules.sessions = sessions.into();
                let paused = list.iter().filter(|schedule| self.is_paused(schedule));
                let paused = paused.map(|schedule| schedule.definition.name.clone()).collect();
                schedules.take(list, paused);
                schedules.take_pauses(pauses);
                schedules.take_outage(outage);
            }
            Err(problem) => schedules.fail(problem.detail()),
        }
    }

    /// Asks for the schedules, if what is known of them is old, and waits a little.
    pub(crate) async fn look_if_old(self: &Arc<Self>) {
        if let Some(look) = self.spawn_look() {
            // It goes on when this has waited for long enough.
            drop(timeout(PATIENCE, look).await);
        }
    }

    /// Lets another task ask for the schedules, unless one does already or the last answer is new.
    pub(crate) fn spawn_look(self: &Arc<Self>) -> Option<JoinHandle<()>> {
        let known = self.lock();
        let is_new = known.get().answered_at.is_some_and(|at| at.elapsed() < self.kept_for);
        let is_due = !is_new && !known.is_asked();
        drop(known);
        is_due.then(|| self.look_now())
    }

    /// Lets another task ask for the schedules: what was asked before may not have a change that was made just now.
    pub(crate) fn look_now(self: &Arc<Self>) -> JoinHandle<()> {
        // Of its own, because the one that waits for it may be dropped, and its answer is counted on.
        tokio::spawn(Arc::clone(self).look())
    }

    fn lock(&self) -> MutexGuard<'_, Known<Answered>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answered {
    fn take(&mut self, list: Vec<StoredSchedule>, paused: BTreeSet<String>) {
        let was_away = self.failure.take().is_some();
        let former = std::mem::take(&mut self.by_name);
        let formerly = std::mem::replace(&mut self.paused, paused);
        self.changed.extend(formerly.symmetric_difference(&self.paused).cloned());
        for schedule in list {
            let name = schedule.definition.name.clone();
            let same = former.get(&name).filter(|former| ***former == schedule);
            if same.is_none() || was_away {
                self.changed.insert(name.clone());
            }
            self.by_name.insert(name, same.map_or_else(|| Arc::new(schedule), Arc::clone));
        }
        let gone = former.into_keys().filter(|name| !self.by_name.contains_key(name));
        self.changed.extend(gone.collect::<Vec<_>>());
    }

    fn take_pauses(&mut self, pauses: Vec<JobPause>) {
        let former = std::mem::replace(&mut self.pauses, pauses);
        let is_new = |paused: &&JobPause| !former.contains(paused);
        let is_over = |paused: &&JobPause| !self.pauses.contains(paused);
        let changed = self.pauses.iter().filter(is_new).chain(former.iter().filter(is_over));
        let changed: Vec<String> = changed.filter_map(task_of).map(str::to_owned).collect();
        self.changed.extend(changed);
    }

    fn take_outage(&mut self, outage: Option<String>) {
        self.was_up |= outage.is_none();
        let outage = outage.filter(|_| self.was_up);
        if outage.is_some() != self.outage.is_some() {
            self.changed.extend(self.by_name.keys().cloned());
        }
        self.outage = outage;
    }

    fn fail(&mut self, why: &str) {
        if self.failure.replace(why.to_owned()).is_none() {
            self.changed.extend(self.by_name.keys().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_no_limit_holds_back_wait_once_they_are_seen_at_each_look_for_a_while() {
        let mut waits = OpenWaits::default();
        let mut is =
            |oldest, second| waits.take((&open(oldest, 9), at(second)), |_| None)[0].is_some();
        assert!(!is(Some(300), 100), "one may just have ended");
        assert!(!is(Some(329), 129));
        assert!(is(Some(330), 130));
        assert!(!is(Some(60), 135), "that one waits for a moment only");
        assert!(!is(Some(400), 140));
        assert!(!is(None, 160), "none may start");
        assert!(!is(Some(430), 175));
        assert!(is(Some(460), 205));
    }

    /// A partition at its limit has a free place between an end and the next start.
    #[test]
    fn jobs_wait_for_their_limit_while_others_of_their_task_start() {
        let mut waits = OpenWaits::default();
        let mut is = |oldest, jobs, second| {
            waits.take((&open(Some(oldest), jobs), at(second)), |_| None)[0].is_some()
        };
        for look in 0..20_u64 {
            assert!(
                !is(300 + look, 9_000 + look, 1_000 + 5 * look.cast_signed()),
                "the oldest has started"
            );
        }
        for look in 0..20_u64 {
            let second = 2_000 + 5 * look.cast_signed();
            assert!(!is(300 + 5 * look, 9_000 - look, second), "one of those that are as old");
        }
        let mut waits = OpenWaits::default();
        for look in 0..20_u64 {
            let (jobs, now) =
                (open(Some(300 + 5 * look), 9_000 + look), at(1_000 + 5 * look.cast_signed()));
            assert_eq!(waits.take((&jobs, now), |_| Some(now)), [None], "one has started just now");
        }
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap_or_default()
    }

    fn open(oldest: Option<u64>, jobs: u64) -> [LimitDepth; 1] {
        let mut depth = LimitDepth::empty("default".to_owned(), "send".to_owned());
        (depth.oldest_open, depth.open, depth.held) =
            (oldest.map(Duration::from_secs), 1, jobs - 1);
        [depth]
    }
}
