//! Finished jobs: one row for those that one transaction has ended.

use std::cmp::Reverse;

use rusqlite::{Row, params};
use scheduler_store::{
    Column, ColumnKind, ColumnValue, EndedColumn, JOB_COLUMNS, JobFilter, JobId, JobRow, JobState,
    Prune, StoreTime, StoredJob, Uuid,
};

use crate::rows::SqliteJob;
use crate::tx::Tx;

impl Tx<'_> {
    /// The job has left the table of unfinished and parked jobs.
    pub(crate) fn leave(&self, row: SqliteJob) -> rusqlite::Result<()> {
        self.execute("DELETE FROM scheduler_job WHERE seq = ?1", params![row.seq])?;
        self.ended.borrow_mut().push(row);
        Ok(())
    }

    /// Writes the jobs that ended in this transaction. To be called before its commit.
    pub(crate) fn write_done(&self) -> rusqlite::Result<()> {
        let ended = self.ended.take();
        if ended.is_empty() { Ok(()) } else { self.insert_done(self.now, &ended) }
    }

    fn insert_done(&self, ended_at: StoreTime, rows: &[SqliteJob]) -> rusqlite::Result<()> {
        let ids = || rows.iter().map(|row| *row.job.id.as_uuid().as_bytes());
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        self.execute(
            "INSERT INTO scheduler_done (ended_at, least_id, greatest_id, count, jobs) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![ended_at.as_micros(), ids().min(), ids().max(), count, encode(rows)],
        )?;
        Ok(())
    }

    /// A job that is done or cancelled, and that people can see.
    pub(crate) fn find_done(&self, id: JobId) -> rusqlite::Result<Option<SqliteJob>> {
        Ok(self.find_ended(id)?.filter(|row| !row.is_gone))
    }

    /// A job that is done or cancelled, also one that is gone.
    pub(crate) fn find_ended(&self, id: JobId) -> rusqlite::Result<Option<SqliteJob>> {
        let ended = self.ended.borrow().iter().find(|row| row.job.id == id).cloned();
        match ended {
            Some(row) => Ok(Some(row)),
            None => Ok(self
                .batch_of(id)?
                .and_then(|batch| batch.rows.into_iter().find(|row| row.job.id == id))),
        }
    }

    /// Takes a job that people can see out of the finished ones.
    pub(crate) fn take_done(&self, id: JobId) -> rusqlite::Result<Option<SqliteJob>> {
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
    fn batch_of(&self, id: JobId) -> rusqlite::Result<Option<DoneRow>> {
        let sql = "SELECT seq, ended_at, jobs FROM scheduler_done INDEXED BY scheduler_done_greatest \
                   WHERE greatest_id >= ?1 AND least_id <= ?1 ORDER BY greatest_id";
        let mut statement = self.statement(sql)?;
        let mut rows = statement.query(params![id.as_uuid().into_bytes()])?;
        while let Some(row) = rows.next()? {
            let batch = DoneRow::read(row)?;
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
            let rows = DoneRow::read(row)?.rows.into_iter().filter(|row| !row.is_gone);
            for job in rows.map(|row| row.kept.job).filter(|job| filter.selects(job)) {
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
struct DoneRow {
    seq: i64,
    ended_at: StoreTime,
    rows: Vec<SqliteJob>,
}

impl DoneRow {
    /// A row that another program has damaged has the jobs before the damage.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let ended_at = StoreTime::from_micros(row.get(1)?);
        let bytes = row.get_ref(2)?.as_blob().unwrap_or_default();
        Ok(Self { seq: row.get(0)?, ended_at, rows: decode(bytes, ended_at) })
    }
}

/// Writes jobs one after the other: numbers in as few bytes as they need, and a text that the job before has, too, in one.
fn encode(rows: &[SqliteJob]) -> Vec<u8> {
    let mut out = JobEncoder { bytes: Vec::new(), last: [const { None }; COLUMNS], last_time: 0 };
    for row in rows {
        let blank = row.is_gone.then(|| without_contents(&row.job).into());
        let kept = blank.as_ref().unwrap_or(&row.kept);
        out.bytes.extend_from_slice(kept.job.id.as_uuid().as_bytes());
        let (mut flags, mut bit) = (0, 0);
        for (column, width) in columns().filter_map(|(_, column)| Some((column, width(column)?))) {
            let flag = match (column.get)(kept) {
                ColumnValue::Text(state) => i64::from(state == JobState::Cancelled.word()),
                value => value.int(),
            };
            flags |= flag << bit;
            bit += width;
        }
        out.number(flags | i64::from(row.is_gone) << bit);
        for (at, column) in columns().filter(|(_, column)| width(column).is_none()) {
            match ((column.get)(kept), column.kind) {
                (ColumnValue::Text(text), _) => out.blob(at, Some(text.as_bytes())),
                (ColumnValue::Bytes(bytes), _) => out.blob(at, Some(&bytes)),
                (ColumnValue::Uuid(id), _) => out.blob(at, Some(id.as_bytes())),
                (ColumnValue::Int(micros), ColumnKind::Time) => out.time(Some(micros)),
                (ColumnValue::Null, ColumnKind::Time) => out.time(None),
                (ColumnValue::Int(number), _) => out.number(number),
                (ColumnValue::Null, _) => out.blob(at, None),
            }
        }
    }
    out.bytes
}

/// The columns that are written, with their places.
fn columns() -> impl Iterator<Item = (usize, &'static Column<JobRow>)> {
    JOB_COLUMNS.iter().enumerate().filter(|(_, column)| column.ended != EndedColumn::Apart)
}

/// The bits of a column whose value is one of a few. A state is done or cancelled.
fn width(column: &Column<JobRow>) -> Option<u32> {
    match column.kind {
        ColumnKind::Flag | ColumnKind::Choice(_) | ColumnKind::Words(_) => Some(1),
        ColumnKind::Rank => Some(2),
        _ => None,
    }
}

/// A job with its identity and who has ended it, and nothing else.
fn without_contents(job: &StoredJob) -> StoredJob {
    let mut bare = StoredJob::empty(job.id);
    (bare.state, bare.on_lost) = (job.state, job.on_lost);
    (bare.fence, bare.session) = (job.fence, job.session);
    bare
}

/// Reads what [`encode`] has written, up to the first job that is damaged.
fn decode(bytes: &[u8], ended_at: StoreTime) -> Vec<SqliteJob> {
    let mut from = JobDecoder { bytes, last: [None; COLUMNS], last_time: 0 };
    let mut rows = Vec::new();
    while !from.bytes.is_empty() {
        let Some(row) = read(&mut from, ended_at) else { break };
        rows.push(row);
    }
    rows
}

fn read(from: &mut JobDecoder<'_>, ended_at: StoreTime) -> Option<SqliteJob> {
    let id = JobId::from_uuid(Uuid::from_slice(from.take(16)?).ok()?);
    let mut kept = JobRow::from(StoredJob::empty(id));
    let mut flags = from.number()?;
    for (column, width) in columns().filter_map(|(_, column)| Some((column, width(column)?))) {
        let flag = flags & ((1 << width) - 1);
        flags >>= width;
        let value = match (column.kind, flag) {
            (ColumnKind::Words(_), 0) => ColumnValue::Text(JobState::Done.word().into()),
            (ColumnKind::Words(_), _) => ColumnValue::Text(JobState::Cancelled.word().into()),
            _ => ColumnValue::Int(flag),
        };
        (column.set)(&mut kept, value);
    }
    kept.is_gone = flags != 0;
    for (at, column) in columns().filter(|(_, column)| width(column).is_none()) {
        let value = match column.kind {
            ColumnKind::Time => from.time()?.map(ColumnValue::Int),
            ColumnKind::Text => {
                from.blob(at)?.map(|text| ColumnValue::Text(String::from_utf8_lossy(text)))
            }
            ColumnKind::Bytes => from.blob(at)?.map(|bytes| ColumnValue::Bytes(bytes.into())),
            ColumnKind::Uuid => match from.blob(at)? {
                Some(bytes) => Some(ColumnValue::Uuid(Uuid::from_slice(bytes).ok()?)),
                None => None,
            },
            number => Some(ColumnValue::Int(from.number()?))
                .filter(|value| number.range().contains(&value.int())),
        };
        if value.is_none() && !column.is_nullable {
            return None;
        }
        (column.set)(&mut kept, value.unwrap_or(ColumnValue::Null));
    }
    kept.job.finished_at = Some(ended_at);
    Some(kept.into())
}

/// The number of columns that may repeat the job before.
const COLUMNS: usize = JOB_COLUMNS.len();

struct JobEncoder {
    bytes: Vec<u8>,
    last: [Option<Vec<u8>>; COLUMNS],
    last_time: i64,
}

impl JobEncoder {
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

    /// The difference to the last instant; none is an instant that no job has.
    fn time(&mut self, at: Option<i64>) {
        let Some(at) = at else { return self.number(i64::MIN) };
        self.number(at - self.last_time);
        self.last_time = at;
    }
}

struct JobDecoder<'a> {
    bytes: &'a [u8],
    last: [Option<&'a [u8]>; COLUMNS],
    last_time: i64,
}

impl<'a> JobDecoder<'a> {
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

    fn time(&mut self) -> Option<Option<i64>> {
        let difference = self.number()?;
        if difference == i64::MIN {
            return Some(None);
        }
        self.last_time = self.last_time.checked_add(difference)?;
        Some(Some(self.last_time))
    }
}

/// The values of the greatest keys, at most so many. They are sorted now and then, so that the work grows with the number of
/// values, however few come at a time.
#[derive(Debug)]
struct Newest<K, V> {
    limit: usize,
    found: Vec<(K, V)>,
    /// The number at which they are sorted again.
    room: usize,
    /// So many have this key or a greater one.
    least: Option<K>,
}

impl<K: Ord + Copy, V> Newest<K, V> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new(), room: limit, least: None }
    }

    /// Returns true if neither this key nor a lesser one can be among the greatest.
    fn is_full_above(&mut self, key: K) -> bool {
        if self.found.len() >= self.room {
            self.cut();
            self.room = self.limit.saturating_add(self.limit / 4 + 1);
        }
        self.least.is_some_and(|least| least >= key)
    }

    pub(crate) fn add(&mut self, key: K, value: V) {
        if self.least.is_none_or(|least| key > least) {
            self.found.push((key, value));
        }
    }

    /// The values, by key, the greatest first.
    pub(crate) fn into_values(mut self) -> Vec<V> {
        self.cut();
        self.found.into_iter().map(|(_, value)| value).collect()
    }

    fn cut(&mut self) {
        self.found.sort_unstable_by_key(|(key, _)| Reverse(*key));
        self.found.truncate(self.limit);
        if self.found.len() == self.limit {
            self.least = self.found.last().map(|(key, _)| *key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::Newest;

    thread_local! {
        static COMPARED: Cell<u32> = const { Cell::new(0) };
    }

    /// A key that counts how often it is compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Key(u32);

    impl Ord for Key {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Key {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    /// The newest of keys that come one by one. A greater one may always follow.
    fn newest(limit: usize, keys: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut newest = Newest::new(limit);
        for key in keys {
            assert!(!newest.is_full_above(Key(u32::MAX)));
            newest.add(Key(key), key);
        }
        newest.into_values()
    }

    #[test]
    fn the_work_grows_with_the_number_of_keys() {
        // Each number below 2^15 once, in no order.
        let mixed = || (0..1 << 15).map(|number: u32| number * 20_077 % (1 << 15));
        let ordered = || (0..1 << 15).rev();
        for limit in [1, 50, 1_000, 1 << 15, usize::MAX] {
            COMPARED.set(0);
            let count = limit.min(1 << 15) as u32;
            let greatest: Vec<u32> = ((1 << 15) - count..1 << 15).rev().collect();
            assert_eq!(newest(limit, ordered()), greatest);
            assert_eq!(newest(limit, mixed()), greatest);
            let compared = COMPARED.get() >> 15;
            assert!(compared < 200, "limit {limit}: {compared} comparisons for each key");
        }
    }

    #[test]
    fn a_key_is_beyond_the_greatest_once_there_are_enough() {
        let mut newest = Newest::new(2);
        for (key, is_full) in [(7, false), (5, false), (6, false), (3, true)] {
            assert_eq!(newest.is_full_above(Key(key)), is_full, "{key}");
            newest.add(Key(key), key);
        }
        assert_eq!(newest.into_values(), [7, 6]);
    }
}
