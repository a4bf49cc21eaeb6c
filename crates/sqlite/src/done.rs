//! Finished jobs: one row for those that one transaction has ended.

use rusqlite::{Row, params};
use scheduler_store::{
    Fence, JobFilter, JobId, JobState, KeyUntil, OnLost, Origin, Payload, Priority, Prune,
    SessionId, StoreTime, StoredJob, Uuid, attempts_of_text, attempts_to_text,
};

use crate::job_row::JobRow;
use crate::newest::Newest;
use crate::tx::Tx;

impl Tx<'_> {
    /// The job has left the table of unfinished and parked jobs.
    pub(crate) fn leave(&self, row: JobRow) -> rusqlite::Result<()> {
        self.execute("DELETE FROM scheduler_job WHERE seq = ?1", params![row.seq])?;
        self.ended.borrow_mut().push(row);
        Ok(())
    }

    /// Writes the jobs that ended in this transaction. To be called before its commit.
    pub(crate) fn write_done(&self) -> rusqlite::Result<()> {
        let ended = self.ended.take();
        if ended.is_empty() { Ok(()) } else { self.insert_done(self.now, &ended) }
    }

    fn insert_done(&self, ended_at: StoreTime, rows: &[JobRow]) -> rusqlite::Result<()> {
        let ids = || rows.iter().map(|row| *row.job.id.as_uuid().as_bytes());
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        self.execute(
            "INSERT INTO scheduler_done (ended_at, least_id, greatest_id, count, jobs) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![ended_at.as_micros(), ids().min(), ids().max(), count, encode(rows)],
        )?;
        Ok(())
    }

    /// A job that is done or cancelled, and that people can see.
    pub(crate) fn find_done(&self, id: JobId) -> rusqlite::Result<Option<JobRow>> {
        Ok(self.find_ended(id)?.filter(|row| !row.is_gone))
    }

    /// A job that is done or cancelled, also one that is gone.
    pub(crate) fn find_ended(&self, id: JobId) -> rusqlite::Result<Option<JobRow>> {
        let ended = self.ended.borrow().iter().find(|row| row.job.id == id).cloned();
        match ended {
            Some(row) => Ok(Some(row)),
            None => Ok(self
                .batch_of(id)?
                .and_then(|batch| batch.rows.into_iter().find(|row| row.job.id == id))),
        }
    }

    /// Takes a job that people can see out of the finished ones.
    pub(crate) fn take_done(&self, id: JobId) -> rusqlite::Result<Option<JobRow>> {
        if self.find_done(id)?.is_none() {
            return Ok(None);
        }
        let at = self.ended.borrow().iter().position(|row| row.job.id == id);
        if let Some(at) = at {
            return Ok(Some(self.ended.borrow_mut().remove(at)));
        }
        let Some(batch) = self.batch_of(id)? else { return Ok(None) };
        self.execute("DELETE FROM scheduler_done WHERE seq = ?1", params![batch.seq])?;
        let (mut taken, rest): (Vec<_>, Vec<_>) =
            batch.rows.into_iter().partition(|row| row.job.id == id);
        if !rest.is_empty() {
            self.insert_done(batch.ended_at, &rest)?;
        }
        Ok(taken.pop())
    }

    /// The row of the table that has the job. The bounds of its identities exclude most of the others.
    fn batch_of(&self, id: JobId) -> rusqlite::Result<Option<Batch>> {
        let sql = "SELECT seq, ended_at, jobs FROM scheduler_done INDEXED BY scheduler_done_greatest \
                   WHERE greatest_id >= ?1 AND least_id <= ?1 ORDER BY greatest_id";
        let mut statement = self.statement(sql)?;
        let mut rows = statement.query(params![id.as_uuid().into_bytes()])?;
        while let Some(row) = rows.next()? {
            let batch = Batch::read(row)?;
            if batch.rows.iter().any(|row| row.job.id == id) {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Finished jobs that a filter selects, the newest first. Rows are read from the greatest identity on, until no later one can
    /// have a job of the page.
    pub(crate) fn done_jobs(
        &self,
        filter: &JobFilter,
        limit: usize,
    ) -> rusqlite::Result<Vec<StoredJob>> {
        let is_finished = |state: JobState| matches!(state, JobState::Done | JobState::Cancelled);
        if limit == 0 || !filter.state.is_none_or(is_finished) {
            return Ok(Vec::new());
        }
        let mut newest = Newest::new(limit);
        let sql = "SELECT seq, ended_at, jobs, greatest_id FROM scheduler_done \
                   INDEXED BY scheduler_done_greatest WHERE least_id < ?1 ORDER BY greatest_id DESC";
        let mut statement = self.statement(sql)?;
        let mut rows = statement.query(params![page_end(filter)])?;
        while let Some(row) = rows.next()? {
            let greatest: Vec<u8> = row.get(3)?;
            let greatest = Uuid::from_slice(&greatest).map(JobId::from_uuid);
            if greatest.is_ok_and(|greatest| newest.is_full_above(greatest)) {
                break;
            }
            let rows = Batch::read(row)?.rows.into_iter().filter(|row| !row.is_gone);
            for job in rows.map(|row| row.job).filter(|job| filter.selects(job)) {
                newest.add(job.id, job);
            }
        }
        Ok(newest.into_values())
    }

    /// Deletes whole rows of jobs that ended before an instant, the oldest first. Returns the number of jobs.
    pub(crate) fn prune_done(&self, request: &Prune, before: StoreTime) -> rusqlite::Result<u64> {
        let sql = "SELECT ended_at, count FROM scheduler_done INDEXED BY scheduler_done_ended \
                   WHERE ended_at <= ?1 ORDER BY ended_at";
        let mut statement = self.statement(sql)?;
        let rows = statement.query_map(params![before.as_micros()], |row| {
            Ok((StoreTime::from_micros(row.get(0)?), row.get::<_, i64>(1)?.unsigned_abs()))
        })?;
        let mut fault = None;
        let ended = rows.map_while(|row| row.map_err(|error| fault = Some(error)).ok());
        let until = request.done_until(ended);
        if let Some(fault) = fault {
            return Err(fault);
        }
        let Some(until) = until.map(StoreTime::as_micros) else { return Ok(0) };
        let sql = "SELECT sum(count) FROM scheduler_done WHERE ended_at <= ?1";
        let count = self.first(sql, params![until], |row| row.get::<_, i64>(0))?;
        self.execute("DELETE FROM scheduler_done WHERE ended_at <= ?1", params![until])?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }
}

/// All identities of a page are less.
pub(crate) fn page_end(filter: &JobFilter) -> Vec<u8> {
    filter.after.map_or(vec![u8::MAX; 17], |after| after.as_uuid().as_bytes().to_vec())
}

/// A row of the table.
struct Batch {
    seq: i64,
    ended_at: StoreTime,
    rows: Vec<JobRow>,
}

impl Batch {
    /// A row that another program has damaged has the jobs before the damage.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let ended_at = StoreTime::from_micros(row.get(1)?);
        let bytes = row.get_ref(2)?.as_blob().unwrap_or_default();
        Ok(Self { seq: row.get(0)?, ended_at, rows: decode(bytes, ended_at) })
    }
}

/// Writes jobs one after the other: numbers in as few bytes as they need, and a text that the job before has, too, in one.
fn encode(rows: &[JobRow]) -> Vec<u8> {
    let mut out = Writer::default();
    for row in rows {
        let blank = row.is_gone.then(|| without_contents(&row.job));
        let job = blank.as_ref().unwrap_or(&row.job);
        let origin = job.origin.as_ref();
        out.bytes.extend_from_slice(job.id.as_uuid().as_bytes());
        out.text(0, Some(&job.task));
        out.text(1, Some(&job.queue));
        out.text(2, job.key.as_deref());
        out.text(3, origin.map(|origin| &*origin.schedule));
        out.text(4, job.error.as_deref());
        let flags = i64::from(job.state == JobState::Cancelled)
            | i64::from(job.on_lost == OnLost::Abandon) << 1
            | i64::from(row.is_exclusive) << 2
            | i64::from(row.key_until == KeyUntil::Start) << 3
            | i64::from(job.priority.rank()) << 4
            | i64::from(row.is_gone) << 6;
        out.number(flags);
        for number in [job.attempt, job.lost, job.undecoded, job.max_attempts, job.payload.version]
        {
            out.number(number.into());
        }
        out.number(job.fence.0.cast_signed());
        out.number(origin.map_or(0, |origin| origin.missed.cast_signed()));
        for at in [
            Some(job.run_at),
            Some(job.created_at),
            job.started_at,
            origin.and_then(|origin| origin.tick),
        ] {
            out.time(at);
        }
        let session = job.session.map(|session| session.as_uuid().into_bytes());
        out.blob(5, session.as_ref().map(<[u8; 16]>::as_slice));
        out.blob(6, Some(&job.payload.bytes));
        out.text(7, job.traceparent.as_deref());
        out.text(8, attempts_to_text(&job.attempts).as_deref());
    }
    out.bytes
}

/// A job with its identity and who has ended it, and nothing else.
fn without_contents(job: &StoredJob) -> StoredJob {
    let mut bare = StoredJob::empty(job.id);
    (bare.state, bare.on_lost) = (job.state, job.on_lost);
    (bare.fence, bare.session) = (job.fence, job.session);
    bare
}

/// Reads what [`encode`] has written, up to the first job that is damaged.
fn decode(bytes: &[u8], ended_at: StoreTime) -> Vec<JobRow> {
    let mut from = Reader { bytes, last: Default::default(), last_time: 0 };
    let mut rows = Vec::new();
    while !from.bytes.is_empty() {
        let Some(row) = read(&mut from, ended_at) else { break };
        rows.push(row);
    }
    rows
}

fn read(from: &mut Reader<'_>, ended_at: StoreTime) -> Option<JobRow> {
    let id = JobId::from_uuid(Uuid::from_slice(from.take(16)?).ok()?);
    let (task, queue) = (from.text(0)??, from.text(1)??);
    let (key, schedule, error) = (from.text(2)?, from.text(3)?, from.text(4)?);
    let flags = from.number()?;
    let mut small = || u32::try_from(from.number()?).ok();
    let (attempt, lost, undecoded) = (small()?, small()?, small()?);
    let (max_attempts, version) = (small()?, small()?);
    let fence = Fence(from.number()?.cast_unsigned());
    let missed = from.number()?.cast_unsigned();
    let (run_at, created_at) = (from.time()??, from.time()??);
    let (started_at, tick) = (from.time()?, from.time()?);
    let session = match from.blob(5)? {
        Some(bytes) => Some(SessionId::from_uuid(Uuid::from_slice(bytes).ok()?)),
        None => None,
    };
    let bytes = from.blob(6)??.to_vec();
    let traceparent = from.text(7)?;
    let attempts = from.text(8)?.map_or(Vec::new(), |text| attempts_of_text(&text));
    let is = |bit: i64| flags & bit != 0;
    let mut job = StoredJob::empty(id);
    job.task = task;
    job.payload = Payload { version, bytes };
    job.queue = queue;
    job.priority = Priority::from_rank(flags >> 4 & 3);
    job.key = key;
    job.state = if is(1) { JobState::Cancelled } else { JobState::Done };
    job.run_at = run_at;
    job.attempt = attempt;
    job.lost = lost;
    job.undecoded = undecoded;
    job.max_attempts = max_attempts;
    job.on_lost = if is(2) { OnLost::Abandon } else { OnLost::Rerun };
    job.fence = fence;
    job.session = session;
    job.origin = schedule.map(|schedule| Origin::new(schedule, tick, missed));
    job.created_at = created_at;
    job.started_at = started_at;
    job.finished_at = Some(ended_at);
    job.error = error;
    job.traceparent = traceparent;
    job.attempts = attempts;

    let key_until = if is(8) { KeyUntil::Start } else { KeyUntil::End };
    let (key_kept_until, is_exclusive, is_gone) = (None, is(4), is(64));
    let faults = Vec::new();
    Some(JobRow { seq: 0, job, key_until, key_kept_until, is_exclusive, is_gone, faults })
}

/// The number of columns that may repeat the job before.
const REPEATED: usize = 9;

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    last: [Option<Vec<u8>>; REPEATED],
    last_time: i64,
}

impl Writer {
    /// Seven bits in each byte; negative numbers are folded between the others.
    fn number(&mut self, number: i64) {
        let mut rest = (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned();
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }

    /// 0 for the same as before, 1 for none, else the length and two.
    fn blob(&mut self, column: usize, blob: Option<&[u8]>) {
        let last = &mut self.last[column];
        if last.is_some() && last.as_deref() == blob {
            return self.number(0);
        }
        *last = blob.map(<[u8]>::to_vec);
        self.number(blob.map_or(1, |blob| blob.len() as i64 + 2));
        self.bytes.extend_from_slice(blob.unwrap_or_default());
    }

    fn text(&mut self, column: usize, text: Option<&str>) {
        self.blob(column, text.map(str::as_bytes));
    }

    /// The difference to the last instant; none is an instant that no job has.
    fn time(&mut self, at: Option<StoreTime>) {
        let Some(at) = at.map(StoreTime::as_micros) else { return self.number(i64::MIN) };
        self.number(at - self.last_time);
        self.last_time = at;
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    last: [Option<&'a [u8]>; REPEATED],
    last_time: i64,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<i64> {
        let (mut folded, mut shift) = (0_u64, 0);
        loop {
            let byte = self.take(1)?[0];
            folded |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte < 0x80 {
                return Some((folded >> 1).cast_signed() ^ -((folded & 1).cast_signed()));
            }
            shift += 7;
        }
    }

    fn blob(&mut self, column: usize) -> Option<Option<&'a [u8]>> {
        match self.number()? {
            0 => {}
            1 => self.last[column] = None,
            length => {
                let length = usize::try_from(length - 2).ok()?;
                self.last[column] = Some(self.take(length)?);
            }
        }
        Some(self.last[column])
    }

    fn text(&mut self, column: usize) -> Option<Option<String>> {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        self.blob(column).map(|bytes| bytes.map(text))
    }

    fn time(&mut self) -> Option<Option<StoreTime>> {
        let difference = self.number()?;
        if difference == i64::MIN {
            return Some(None);
        }
        self.last_time = self.last_time.checked_add(difference)?;
        Some(Some(StoreTime::from_micros(self.last_time)))
    }
}
