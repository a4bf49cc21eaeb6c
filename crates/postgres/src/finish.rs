//! Finishes claims.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use scheduler_store::{End, Fence, Finish, Finished, JobProgress, Uuid, micros, storable};
use tokio_postgres::Error;
use tokio_postgres::types::Type;

use crate::blocking_connection::{BlockingConnection, RunStatement};
use crate::columns::{Params, long};
use crate::error::{is_about_data, is_locked};
use crate::job::state;

/// The statement of a batch of ends.
pub(crate) const FINISH: &str =
    "select f from (select case when $8 then pg_catalog.set_config('synchronous_commit', 'off', true) end) c,
       {s}.finish($1, $2, $3, $4, $5, $6, $7, $9, $10, $11, $12) f";

/// After a lock was met, so many requests leave locked rows alone at once.
const CAREFUL: u32 = 100;

/// Finishes claims, and remembers whether another transaction has locked one of them.
#[derive(Debug)]
pub(crate) struct Finisher {
    pub(crate) sql: String,
    pub(crate) is_relaxed: bool,
    pub(crate) careful: AtomicU32,
}

impl Finisher {
    /// Finishes claims in one transaction. If the server refuses a value, each claim is finished in one of its own, so that
    /// none keeps the others back; an error text that cannot be stored is stored as ASCII.
    pub(crate) fn finish(
        &self,
        connection: &mut BlockingConnection,
        requests: &[Finish],
    ) -> Result<Vec<Finished>, Error> {
        // ORDERING: relaxed; it is a hint.
        let careful = self.careful.load(Ordering::Relaxed);
        let result = match self.send(connection, requests, careful > 0) {
            Err(error) if is_locked(&error) => {
                self.careful.store(CAREFUL, Ordering::Relaxed);
                self.send(connection, requests, true)
            }
            result => {
                self.careful.store(careful.saturating_sub(1), Ordering::Relaxed);
                result
            }
        };
        match (result, requests) {
            (Err(error), [one]) if is_about_data(&error) => self.finish_in_ascii(connection, one),
            (Err(error), _) if is_about_data(&error) => {
                let each = requests.chunks(1).map(|one| self.finish(connection, one));
                Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
            }
            (result, _) => result,
        }
    }

    /// A text that can never be stored must not keep others back.
    fn finish_in_ascii(
        &self,
        connection: &mut BlockingConnection,
        request: &Finish,
    ) -> Result<Vec<Finished>, Error> {
        let mut request = request.clone();
        if let End::Failed { error, .. } | End::Park { error } | End::Undecodable { error, .. } =
            &mut request.end
        {
            *error = ascii(error);
        }
        request.progress.iter_mut().for_each(to_ascii);
        match self.send(connection, &[request], true) {
            Err(error) if is_about_data(&error) => Ok(vec![Finished::Locked]),
            result => result,
        }
    }

    fn send(
        &self,
        connection: &mut BlockingConnection,
        requests: &[Finish],
        skip_locked: bool,
    ) -> Result<Vec<Finished>, Error> {
        match &*Ends::split(requests) {
            [] => Ok(Vec::new()),
            [one] => one.send(connection, &self.sql, self.is_relaxed, skip_locked),
            several => connection.transact(|tx| {
                let mut answers = Vec::new();
                for batch in several {
                    answers.extend(batch.send(tx, &self.sql, self.is_relaxed, skip_locked)?);
                }
                Ok(answers)
            }),
        }
    }
}

/// The same progress in the characters that every encoding has.
pub(crate) fn to_ascii(progress: &mut JobProgress) {
    if let Some(same) = JobProgress::new(progress.fraction(), &ascii(progress.text())) {
        *progress = same;
    }
}

/// A text in the characters that every encoding has.
fn ascii(text: &str) -> String {
    let escape = |letter: char| match letter.is_ascii() {
        true => letter.to_string(),
        false => letter.escape_unicode().to_string(),
    };
    text.chars().map(escape).collect()
}

/// Ends of claims, column by column.
#[derive(Debug, Default)]
struct Ends {
    sessions: Vec<Uuid>,
    jobs: Vec<Uuid>,
    fences: Vec<i64>,
    words: Vec<&'static str>,
    waits: Vec<i64>,
    errors: Vec<Option<String>>,
    limits: Vec<i64>,
    progress: Vec<Option<String>>,
}

impl Ends {
    /// Batches in which no job stands twice: what the second means follows from the first.
    fn split(requests: &[Finish]) -> Vec<Self> {
        let mut batches: Vec<Self> = Vec::new();
        let mut seen = HashSet::new();
        for request in requests {
            if batches.is_empty() || !seen.insert(request.held.job) {
                batches.push(Self::default());
                seen = [request.held.job].into();
            }
            if let Some(batch) = batches.last_mut() {
                batch.push(request);
            }
        }
        batches
    }

    fn push(&mut self, request: &Finish) {
        let Fence(fence) = request.held.fence;
        let (word, after, error, limit) = match &request.end {
            End::Done => ("done", None, None, 0),
            End::Gone => ("gone", None, None, 0),
            End::Failed { after, error } => ("failed", Some(*after), Some(error), 0),
            End::Park { error } => ("park", None, Some(error), 0),
            End::Cancelled => ("cancelled", None, None, 0),
            End::Snooze { after } => ("snooze", Some(*after), None, 0),
            End::Lost { after, max_lost } => ("lost", Some(*after), None, *max_lost),
            End::GiveBack => ("give_back", None, None, 0),
            End::Undecodable { after, error, limit } => {
                ("undecodable", Some(*after), Some(error), *limit)
            }
        };
        self.sessions.push(request.session.as_uuid());
        self.jobs.push(request.held.job.as_uuid());
        self.fences.push(long(fence));
        self.words.push(word);
        self.waits.push(after.map_or(0, micros));
        self.errors.push(error.map(|error| storable(error)));
        self.limits.push(i64::from(limit));
        self.progress.push(request.progress.as_ref().map(JobProgress::to_column));
    }

    fn send(
        &self,
        client: &mut impl RunStatement,
        sql: &str,
        is_relaxed: bool,
        skip_locked: bool,
    ) -> Result<Vec<Finished>, Error> {
        let (least, greatest) = (self.jobs.iter().min(), self.jobs.iter().max());
        let progress = Some(&self.progress).filter(|all| all.iter().any(Option::is_some));
        let params: Params<'_> = &[
            (&self.sessions, Type::UUID_ARRAY),
            (&self.jobs, Type::UUID_ARRAY),
            (&self.fences, Type::INT8_ARRAY),
            (&self.words, Type::TEXT_ARRAY),
            (&self.waits, Type::INT8_ARRAY),
            (&self.errors, Type::TEXT_ARRAY),
            (&self.limits, Type::INT8_ARRAY),
            (&is_relaxed, Type::BOOL),
            (&least, Type::UUID),
            (&greatest, Type::UUID),
            (&skip_locked, Type::BOOL),
            (&progress, Type::TEXT_ARRAY),
        ];
        let rows = client.rows(sql, params)?;
        let words: Vec<Option<&str>> = match rows.first() {
            Some(row) => row.try_get(0)?,
            None => Vec::new(),
        };
        let answer = |word: Option<&str>| match word {
            None => Finished::Lost,
            Some("locked") => Finished::Locked,
            Some(word) => match word.strip_prefix('=') {
                Some(before) => Finished::AlreadyMine(state(before)),
                None => Finished::Stored(state(word)),
            },
        };
        Ok(words.into_iter().map(answer).collect())
    }
}
