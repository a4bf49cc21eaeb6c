//! Answers that all pages and scrapes share, and the places of searches.
//!
//! A page asks every few seconds, and a program that is scraped has many such clients. So one look at the store serves all of them:
//! at most one is out at a time, and the next one waits for as long as answers are kept, or for ten times as long as the last one
//! took. An answer that did not come leaves the one before it, with its age.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::http::StatusCode;
use scheduler::chrono::{DateTime, Utc};
use scheduler::{Jobs, JobsError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use crate::problem::Problem;
use crate::times::now;

/// The time that the store may take to answer.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);
/// The time that an answer waits for the part of it that comes from the store.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// A look takes at most this part of the time.
const SHARE: u32 = 10;

/// A question that is asked again and again, with its last answer.
pub(crate) struct Look<T> {
    state: Mutex<LookState<T>>,
    /// Sent when a look has ended, or was not answered in time.
    ended: watch::Sender<()>,
}

struct LookState<T> {
    answer: Option<(Arc<T>, DateTime<Utc>)>,
    failure: Option<Problem>,
    is_asked: bool,
    /// Before that the store is not asked again, and before this only after a change.
    rests_until: Option<Instant>,
    is_new_until: Option<Instant>,
    is_expired: bool,
}

/// The knowledge of the store.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    /// The last answer, and when it was asked for.
    pub(crate) answer: Option<(Arc<T>, DateTime<Utc>)>,
    /// Why the last look has none.
    pub(crate) failure: Option<Problem>,
}

impl<T: Send + Sync + 'static> Look<T> {
    pub(crate) fn new() -> Arc<Self> {
        let state = LookState {
            answer: None,
            failure: None,
            is_asked: false,
            rests_until: None,
            is_new_until: None,
            is_expired: false,
        };
        Arc::new(Self { state: Mutex::new(state), ended: watch::Sender::new(()) })
    }

    /// Asks unless the last answer is new or a look is out, waits for it for at most so long, and returns what is known then.
    pub(crate) async fn look(
        self: &Arc<Self>,
        (jobs, kept_for): (&Jobs, Duration),
        patience: Duration,
        question: impl FnOnce(&Jobs) -> Result<T, JobsError> + Send + 'static,
    ) -> Seen<T> {
        let mut ended = self.ended.subscribe();
        if self.begin() {
            // Of its own, because the one that waits for it may be dropped.
            tokio::spawn(Arc::clone(self).ask(jobs.clone(), kept_for, question));
        }
        if self.lock().is_asked {
            drop(timeout(patience, ended.changed()).await);
        }
        self.seen()
    }

    /// The last answer, without a question.
    pub(crate) fn seen(&self) -> Seen<T> {
        let state = self.lock();
        Seen { answer: state.answer.clone(), failure: state.failure.clone() }
    }

    /// The store was changed: the next look need not wait for the age of the answer.
    pub(crate) fn expire(&self) {
        self.lock().is_expired = true;
    }

    fn begin(&self) -> bool {
        let (mut state, now) = (self.lock(), Instant::now());
        let is_past = |at: Option<Instant>| at.is_none_or(|at| at <= now);
        let is_due = is_past(state.is_new_until) || state.is_expired && is_past(state.rests_until);
        let begins = is_due && !state.is_asked;
        if begins {
            (state.is_asked, state.is_expired) = (true, false);
        }
        begins
    }

    async fn ask(
        self: Arc<Self>,
        jobs: Jobs,
        kept_for: Duration,
        question: impl FnOnce(&Jobs) -> Result<T, JobsError> + Send + 'static,
    ) {
        let (asked_at, wall) = (Instant::now(), now());
        let mut asked = spawn_blocking(move || question(&jobs));
        let answer = match timeout(LIMIT, &mut asked).await {
            Ok(answer) => answer,
            Err(_) => {
                let late = "the store has not answered within 5 s";
                self.lock().failure = Some(Problem::new(StatusCode::SERVICE_UNAVAILABLE, late));
                self.ended.send_replace(());
                // It stays the only one, and an answer that comes late is one.
                asked.await
            }
        };
        let took = asked_at.elapsed().min(LIMIT);
        let ended_at = Instant::now();
        let mut state = self.lock();
        match answer {
            Ok(Ok(answer)) => {
                state.answer = Some((Arc::new(answer), wall));
                state.failure = None;
            }
            Ok(Err(error)) => state.failure = Some(error.into()),
            Err(_) => state.failure = Some(Problem::store_panicked()),
        }
        state.is_asked = false;
        state.rests_until = Some(ended_at + took * SHARE);
        state.is_new_until = Some(ended_at + kept_for.max(took * SHARE));
        drop(state);
        self.ended.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, LookState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Seen<T> {
    /// The answer, or the refusal of a request that needs one.
    pub(crate) fn or_unanswered(self) -> Result<(Arc<T>, DateTime<Utc>), Problem> {
        let unanswered = "the store has not answered yet";
        let unanswered = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, unanswered);
        self.answer.ok_or_else(|| self.failure.unwrap_or_else(unanswered))
    }
}

/// The greatest number of searches that are out.
const SEARCHES_MAX: usize = 3;
/// The time that a search waits for those before it.
const TURN: Duration = Duration::from_secs(4);

/// The places of searches: one for each visitor, some in all.
pub(crate) struct Searches {
    all: Arc<Semaphore>,
    by_visitor: Mutex<BTreeMap<String, Weak<Semaphore>>>,
}

/// The place of a visitor and one of all.
pub(crate) struct SearchPlace(
    #[expect(dead_code, reason = "held")] (OwnedSemaphorePermit, OwnedSemaphorePermit),
);

impl Searches {
    pub(crate) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(SEARCHES_MAX)), by_visitor: Mutex::default() }
    }

    /// Waits for the turn of a search.
    pub(crate) async fn enter(&self, visitor: &str) -> Result<SearchPlace, Problem> {
        let own = self.of(visitor);
        let turn = async {
            // The semaphores are never closed.
            let own = own.acquire_owned().await.ok()?;
            Some((own, Arc::clone(&self.all).acquire_owned().await.ok()?))
        };
        let taken = timeout(TURN, turn).await.ok().flatten();
        taken.map(SearchPlace).ok_or_else(|| {
            let detail =
                "your last search still runs, or those of others do: try again in a moment";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, detail)
        })
    }

    fn of(&self, visitor: &str) -> Arc<Semaphore> {
        let mut known = self.by_visitor.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, own| own.strong_count() > 0);
        let own = known.get(visitor).and_then(Weak::upgrade);
        own.unwrap_or_else(|| {
            let own = Arc::new(Semaphore::new(1));
            known.insert(visitor.to_owned(), Arc::downgrade(&own));
            own
        })
    }
}
