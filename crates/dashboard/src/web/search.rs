//! Searches of jobs, by state, names, and patterns of errors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::{Extension, Json};
use scheduler::store::{self, JobId, JobState, JobWait, StoreTime, StoredJob};
use scheduler::{Jobs, JobsError};
use scheduler_api::{JobError, JobErrors, JobFilter};
use tokio::time::Instant;

use crate::app::App;
use crate::problem::Problem;
use crate::times::instant;
use crate::view;
use crate::web::api::Answer;
use crate::web::guard::Caller;

/// The number of jobs that the store is asked for at once.
const BATCH: u32 = 500;
/// The time for which jobs are looked through or changed: an answer has to come within [`looks::LIMIT`](crate::looks::LIMIT).
pub(super) const LIMIT: Duration = Duration::from_millis(2_500);
/// The number of errors that are shown.
const ERRORS_MAX: usize = 50;

/// The jobs that are wanted. The store has no filter for a part of an error.
pub(crate) struct Search {
    pub(super) filter: store::JobFilter,
    pub(super) error: Option<String>,
}

pub(super) fn id(text: &str) -> Result<JobId, Problem> {
    let wrong = || Problem::bad_request(format!("{text:?} is no identity of a job"));
    text.parse().map_err(|_| wrong())
}

impl Search {
    /// Reads what a visitor has written.
    pub(super) fn of(filter: JobFilter) -> Result<Self, Problem> {
        let unknown = |word: &str| {
            let words: Vec<&str> = JobState::ALL.iter().map(|state| state.word()).collect();
            Problem::bad_request(format!("{word:?} is no state; there are {}", words.join(", ")))
        };
        let text = |text: Option<String>| text.filter(|text| !text.is_empty());
        let state = text(filter.state);
        let error = text(filter.error);
        let filter = store::JobFilter {
            task: text(filter.task),
            queue: text(filter.queue),
            partition: text(filter.partition),
            state: state
                .map(|word| view::state_of(&word).ok_or_else(|| unknown(&word)))
                .transpose()?,
            key: text(filter.key),
            schedule: text(filter.schedule),
            has_error: false,
            after: text(filter.after).as_deref().map(id).transpose()?,
        };
        Ok(Self { filter, error })
    }

    /// Returns at most so many jobs that match.
    pub(super) fn page(
        &self,
        jobs: &Jobs,
        app: &App,
        limit: usize,
    ) -> Result<FoundJobs, JobsError> {
        if self.error.is_none() {
            let ask = u32::try_from(limit + 1).unwrap_or(u32::MAX);
            let mut found = jobs.list(&self.filter, ask)?;
            let has_more = found.len() > limit;
            found.truncate(limit);
            let after = found.last().map(|job| job.id).filter(|_| has_more);
            return FoundJobs::with_waits(jobs, found, after, None);
        }
        let mut found = Vec::new();
        let mut looked_through = 0;
        let after = self.walk(jobs, |job| {
            looked_through += 1;
            if self.has_error(app, job) {
                found.push(job.clone());
            }
            Ok(found.len() < limit)
        })?;
        FoundJobs::with_waits(jobs, found, after, Some(looked_through))
    }

    /// Calls a function with each job that matches, until it fails. Returns after which job to go on, if there was no time for
    /// all.
    pub(super) fn each(
        &self,
        jobs: &Jobs,
        app: &App,
        mut each: impl FnMut(&StoredJob) -> Result<(), JobsError>,
    ) -> Result<Option<JobId>, JobsError> {
        self.walk(
            jobs,
            |job| {
                if self.has_error(app, job) { each(job).map(|()| true) } else { Ok(true) }
            },
        )
    }

    /// Calls a function with each job that the store finds, until it fails or returns false, or the time is over.
    fn walk(
        &self,
        jobs: &Jobs,
        mut goes_on: impl FnMut(&StoredJob) -> Result<bool, JobsError>,
    ) -> Result<Option<JobId>, JobsError> {
        let (start, mut filter) = (Instant::now(), self.filter.clone());
        filter.has_error |= self.error.is_some() && self.is_ready();
        loop {
            let batch = jobs.list(&filter, BATCH)?;
            for job in &batch {
                if !goes_on(job)? || start.elapsed() >= LIMIT {
                    return Ok(Some(job.id));
                }
            }
            match batch.last() {
                Some(last) if batch.len() >= BATCH as usize => filter.after = Some(last.id),
                _ => return Ok(None),
            }
        }
    }

    /// The store finds ready jobs with an error without a look at the others, which may be many.
    fn is_ready(&self) -> bool {
        self.filter.state == Some(JobState::Ready)
    }

    /// Only what visitors see of an error is compared.
    fn has_error(&self, app: &App, job: &StoredJob) -> bool {
        let Some(pattern) = &self.error else { return true };
        job.error.as_deref().is_some_and(|error| matches(pattern, &app.options.redacted(error)))
    }

    /// The conditions, for the list of actions.
    pub(super) fn in_words(&self) -> String {
        let filter = &self.filter;
        let conditions = [
            ("task", filter.task.as_deref()),
            ("queue", filter.queue.as_deref()),
            ("partition", filter.partition.as_deref()),
            ("key", filter.key.as_deref()),
            ("schedule", filter.schedule.as_deref()),
            ("error", self.error.as_deref()),
        ];
        let conditions = conditions.iter().filter_map(|(name, text)| Some((name, (*text)?)));
        let state = filter.state.map_or("in any state", |state| state.word());
        conditions.fold(state.to_owned(), |words, (name, text)| format!("{words}, {name} {text}"))
    }
}

/// A page of the jobs that match.
pub(super) struct FoundJobs {
    pub(super) jobs: Vec<StoredJob>,
    /// After which job to go on, if there may be more.
    pub(super) after: Option<JobId>,
    /// The number of jobs that were compared one by one.
    pub(super) looked_through: Option<u64>,
    /// Why those that are ready do not run.
    pub(super) waits: Vec<JobWait>,
}

impl FoundJobs {
    fn with_waits(
        asked: &Jobs,
        jobs: Vec<StoredJob>,
        after: Option<JobId>,
        looked_through: Option<u64>,
    ) -> Result<Self, JobsError> {
        let waits = waits(asked, &jobs)?;
        Ok(Self { jobs, after, looked_through, waits })
    }
}

/// Asks why those of these jobs do not run that are ready: one question for all, and none if none is.
pub(super) fn waits(asked: &Jobs, jobs: &[StoredJob]) -> Result<Vec<JobWait>, JobsError> {
    let ready = jobs.iter().filter(|job| job.state == JobState::Ready);
    let ready: Vec<JobId> = ready.map(|job| job.id).collect();
    if ready.is_empty() { Ok(Vec::new()) } else { asked.waits(&ready) }
}

/// `GET /jobs:errors?state=parked&…`: how many jobs have which error, the most frequent first.
pub(super) async fn errors(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Query(filter): Query<JobFilter>,
) -> Answer<JobErrors> {
    let mut search = Search::of(filter)?;
    let (store, asking, only) = (app.store()?, Arc::clone(&app), search.only_state());
    search.filter.has_error = search.is_ready();
    let ask = move |jobs: &Jobs| search.errors(jobs, &asking);
    let found = match only {
        // Each page asks for these, again and again.
        Some(state) => (*store.errors(state, ask).await.or_unanswered()?.0).clone(),
        None => store.search(caller.who().name(), ask).await?,
    };
    Ok(Json(JobErrors { now: instant(app.store_now()), ..found }))
}

impl Search {
    /// The state, if nothing else is asked for.
    fn only_state(&self) -> Option<JobState> {
        let all = store::JobFilter { state: self.filter.state, ..store::JobFilter::default() };
        self.filter.state.filter(|_| self.error.is_none() && self.filter == all)
    }

    fn errors(&self, jobs: &Jobs, app: &App) -> Result<JobErrors, JobsError> {
        let mut groups = BTreeMap::<(String, String), Group>::new();
        let after = self.each(jobs, app, |job| {
            let Some(error) = &job.error else { return Ok(()) };
            let pattern = |error: &str| pattern_of(&app.options.redacted(error));
            let of_job = pattern(error);
            // It has failed so since the first of its last attempts that did.
            let attempts = job.attempts.iter().rev();
            let first = attempts.take_while(|attempt| pattern(&attempt.error) == of_job).last();
            let at = job.finished_at.or(job.attempts.last().map(|attempt| attempt.ended_at));
            let first = first.map(|attempt| attempt.ended_at).or(at);
            let group = groups.entry((job.task.clone(), of_job)).or_default();
            group.count += 1;
            group.first = group.first.into_iter().chain(first).min();
            group.last = group.last.max(at);
            Ok(())
        })?;
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
        groups.truncate(ERRORS_MAX);
        let errors = groups.into_iter().map(|(names, group)| group.row(names)).collect();
        Ok(JobErrors { errors, is_partial: after.is_some(), ..JobErrors::default() })
    }
}

/// Jobs of one task whose errors have one pattern.
#[derive(Default)]
struct Group {
    count: u64,
    first: Option<StoreTime>,
    last: Option<StoreTime>,
}

impl Group {
    fn row(self, (task, error): (String, String)) -> JobError {
        let (first_at, last_at) = (self.first.map(instant), self.last.map(instant));
        JobError { task, error, count: self.count, first_at, last_at }
    }
}

/// The most characters of a pattern.
const CHARS_MAX: usize = 160;
/// A word so long that has a digit is an identity.
const IDENTITY_CHARS_MIN: usize = 16;
const PART_CHARS_MIN: usize = 8;

/// Returns the first line of an error, with `*` in place of numbers and identities.
fn pattern_of(error: &str) -> String {
    // The remedy is with the job itself.
    let line = error.lines().next().unwrap_or_default().split("; help:").next().unwrap_or_default();
    let cut: String = line.chars().take(CHARS_MAX).collect();
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    let identity = |word: &str| is_numbered(word) && word.len() >= IDENTITY_CHARS_MIN;
    let text = replaced(&cut, is_of_word, identity);
    let starts_with_digit = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    let number =
        |word: &str| starts_with_digit(word) || is_numbered(word) && word.len() >= PART_CHARS_MIN;
    replaced(&text, char::is_alphanumeric, number)
}

/// Returns true if a text has the parts of a pattern in their order; `*` stands for any text. Case does not matter.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut rest = &*text;
    pattern.split('*').all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

fn is_numbered(word: &str) -> bool {
    word.contains(|letter: char| letter.is_ascii_digit())
}

/// Replaces the words for which this is true by `*`.
fn replaced(
    text: &str,
    is_of_word: fn(char) -> bool,
    is_replaced: impl Fn(&str) -> bool,
) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_of_word) {
        let (before, after) = rest.split_at(start);
        let end = after.find(|letter| !is_of_word(letter)).unwrap_or(after.len());
        let (word, left) = after.split_at(end);
        out.push_str(before);
        out.push_str(if is_replaced(word) { "*" } else { word });
        rest = left;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_differ_in_numbers_have_one_pattern_which_matches_them() {
        for (error, pattern) in [
            ("cannot decode image 17.png", "cannot decode image *.png"),
            ("order 550e8400-e29b-41d4-a716-446655440000 is unknown", "order * is unknown"),
            ("utf8 of web-1:\nline 2", "utf8 of web-*:"),
            ("no number", "no number"),
            ("no field `x`; help: a type that has changed needs", "no field `x`"),
            ("", ""),
        ] {
            assert_eq!(pattern_of(error), pattern);
            assert!(matches(pattern, error), "{pattern} {error}");
        }
    }

    #[test]
    fn the_parts_of_a_pattern_come_in_their_order() {
        assert!(matches("DECODE", "cannot decode image"));
        assert!(matches("cannot*image", "it cannot decode image 4"));
        assert!(!matches("image*cannot", "it cannot decode image 4"));
        assert!(matches("", "anything"));
    }
}
