//! The store of durable jobs, as the dashboard asks it.
//!
//! A store blocks the thread that asks it, and may not answer for a long time. So it is asked on threads that the runtime
//! keeps for that, never on those that answer requests; at most four questions are out at once, those that never come back
//! included; and a question that takes too long is answered by 503.
//!
//! The schedules of tasks are remembered, because each row of the list has some of them.
//!
//! It must never delay an answer that needs no store by more than half a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use scheduler::store::{JobPause, Known, PauseScope, SessionId, SessionInfo, StoredSchedule};
use scheduler::{Jobs, JobsError, Schedules};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use crate::problem::Problem;
use crate::times::now;

/// The time that the store may take to answer.
const LIMIT: Duration = Duration::from_secs(5);
/// The greatest number of questions that may be out.
const QUESTIONS_MAX: usize = 4;
/// The time that an answer waits for the part of it that comes from the store.
const PATIENCE: Duration = Duration::from_millis(500);
/// The greatest age of schedules in an answer.
const AGE_MAX: Duration = Duration::from_secs(1);

/// The store.
pub(crate) struct Store {
    jobs: Jobs,
    schedules: Schedules,
    places: Arc<Semaphore>,
    known: Mutex<Known<Answered>>,
}

/// The schedules and pauses of the last answer; the rows that have changed since they were sent; the failure of the last request.
#[derive(Default)]
struct Answered {
    by_name: BTreeMap<String, Arc<StoredSchedule>>,
    /// The kinds of jobs and the queues that are paused.
    pauses: Vec<JobPause>,
    /// The schedules that were paused: a pause ends without a change in the store.
    paused: BTreeSet<String>,
    /// The schedules whose rows have to be sent again.
    changed: BTreeSet<String>,
    answered_at: Option<Instant>,
    /// The error, if the store did not answer.
    failure: Option<String>,
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

/// The kind of job that is paused; none of a queue.
fn task_of(paused: &JobPause) -> Option<&str> {
    match &paused.scope {
        PauseScope::Task(name) => Some(name),
        PauseScope::Queue(_) => None,
    }
}

/// True if the schedule is paused now.
pub(crate) fn is_paused(schedule: &StoredSchedule) -> bool {
    schedule.pause.as_ref().is_some_and(|pause| pause.holds(now().into()))
}

impl Store {
    pub(crate) fn new(jobs: Jobs, schedules: Schedules) -> Self {
        let places = Arc::new(Semaphore::new(QUESTIONS_MAX));
        Self { jobs, schedules, places, known: Mutex::default() }
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

    /// As [`ask`](Self::ask), for what may be refused in another way.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        question: impl FnOnce(&Jobs) -> R + Send + 'static,
    ) -> Result<R, Problem> {
        let (jobs, places) = (self.jobs.clone(), Arc::clone(&self.places));
        let asked = async move {
            let place = places.acquire_owned().await;
            spawn_blocking(move || {
                let _place = place;
                question(&jobs)
            })
            .await
        };
        match timeout(LIMIT, asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => {
                Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the store has panicked"))
            }
            Err(_) => {
                let detail =
                    "the store has not answered within 5 s; the request may still take effect";
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
            }
        }
    }

    /// Asks the store for what an answer can be without.
    pub(crate) async fn ask_briefly<R: Send + 'static>(
        &self,
        question: impl FnOnce(&Jobs) -> Result<R, JobsError> + Send + 'static,
    ) -> Option<R> {
        timeout(PATIENCE, self.ask(question)).await.ok()?.ok()
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

    /// The tasks whose rows have to be sent again.
    pub(crate) fn take_changed(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.lock().get_mut().changed)
    }

    /// Asks for the schedules. Of two answers the one counts that was asked for later.
    async fn look(self: Arc<Self>) {
        let question = self.lock().ask();
        let asked = self.schedules.clone();
        let answer = self.ask(move |jobs| Ok((asked.list()?, jobs.pauses()?))).await;
        let mut known = self.lock();
        let Some(schedules) = known.answer(question) else { return };
        schedules.answered_at = Some(Instant::now());
        match answer {
            Ok((list, pauses)) => {
                schedules.take(list);
                schedules.take_pauses(pauses);
            }
            Err(problem) => schedules.fail(problem.detail()),
        }
    }

    /// Asks for the schedules, if what is known of them is old, and waits a little.
    pub(crate) async fn look_if_old(self: &Arc<Self>) {
        let is_new = self.lock().get().answered_at.is_some_and(|at| at.elapsed() < AGE_MAX);
        if !is_new && let Some(look) = self.spawn_look() {
            // It goes on when this has waited for long enough.
            drop(timeout(PATIENCE, look).await);
        }
    }

    /// Lets another task ask for the schedules, unless one does already.
    pub(crate) fn spawn_look(self: &Arc<Self>) -> Option<JoinHandle<()>> {
        let is_asked = self.lock().is_asked();
        (!is_asked).then(|| self.look_now())
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
    fn take(&mut self, list: Vec<StoredSchedule>) {
        let was_away = self.failure.take().is_some();
        let former = std::mem::take(&mut self.by_name);
        let paused = list.iter().filter(|schedule| is_paused(schedule));
        let paused = paused.map(|schedule| schedule.definition.name.clone()).collect();
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

    fn fail(&mut self, why: &str) {
        if self.failure.replace(why.to_owned()).is_none() {
            self.changed.extend(self.by_name.keys().cloned());
        }
    }
}

/// The processes that were seen lost since the start of the program, for a counter.
#[derive(Debug, Default)]
pub(crate) struct LostNodes(Mutex<LostCount>);

#[derive(Debug, Default)]
struct LostCount {
    /// Those that the store listed last.
    listed: Option<BTreeSet<SessionId>>,
    count: u64,
}

impl LostNodes {
    /// Returns the number of processes that were lost since the first look.
    pub(crate) fn count(&self, sessions: &[SessionInfo]) -> u64 {
        let is_lost =
            |session: &&SessionInfo| session.ended.as_ref().is_some_and(|end| end.is_lost);
        let lost: BTreeSet<_> = sessions.iter().filter(is_lost).map(|session| session.id).collect();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listed) = &seen.listed {
            seen.count += lost.difference(listed).count() as u64;
        }
        // The store lists each for an hour, and never again.
        seen.listed = Some(lost);
        seen.count
    }
}
