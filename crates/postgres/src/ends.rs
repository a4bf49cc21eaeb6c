//! Ends of claims: to the arrays of a batch.

use std::collections::HashSet;

use scheduler_store::{End, Fence, Finish, Finished, Uuid, micros, storable};
use tokio_postgres::Error;
use tokio_postgres::types::Type;

use crate::job;
use crate::session::Run;
use crate::value::{Params, long};

/// Ends of claims, column by column.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    sessions: Vec<Uuid>,
    jobs: Vec<Uuid>,
    fences: Vec<i64>,
    words: Vec<&'static str>,
    waits: Vec<i64>,
    errors: Vec<Option<String>>,
    limits: Vec<i64>,
}

impl Ends {
    /// Batches in which no job stands twice: what the second means follows from the first.
    pub(crate) fn split(requests: &[Finish]) -> Vec<Self> {
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
            End::Failed { after, error } => ("failed", Some(*after), Some(error), 0),
            End::Park { error } => ("park", None, Some(error), 0),
            End::Cancelled => ("cancelled", None, None, 0),
            End::Snooze { after } => ("snooze", Some(*after), None, 0),
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
    }

    pub(crate) fn send(
        &self,
        client: &mut impl Run,
        sql: &str,
        is_relaxed: bool,
    ) -> Result<Vec<Finished>, Error> {
        let params: Params<'_> = &[
            (&self.sessions, Type::UUID_ARRAY),
            (&self.jobs, Type::UUID_ARRAY),
            (&self.fences, Type::INT8_ARRAY),
            (&self.words, Type::TEXT_ARRAY),
            (&self.waits, Type::INT8_ARRAY),
            (&self.errors, Type::TEXT_ARRAY),
            (&self.limits, Type::INT8_ARRAY),
            (&is_relaxed, Type::BOOL),
        ];
        let rows = client.rows(sql, params)?;
        let answers = rows.iter().map(|row| {
            let state: Option<&str> = row.try_get(1)?;
            Ok(match (row.try_get(0)?, state) {
                (true, Some(word)) => Finished::Stored(job::state(word)),
                (_, Some(word)) => Finished::AlreadyMine(job::state(word)),
                (_, None) => Finished::Lost,
            })
        });
        answers.collect()
    }
}
