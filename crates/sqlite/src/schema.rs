//! The tables and their migrations.
//!
//! Migrations are numbered. Those that are missing are executed in one transaction under the lock of the file: if
//! several processes start at once, one makes the tables. `min_reader` is the oldest version of this list that
//! understands the tables: an older program changes nothing, while one in between works on.

use rusqlite::{Connection, OptionalExtension as _};

use crate::error::{OpenError, newer_schema};
use crate::tx::Tables;

/// A row that cannot be right, in what SQLite can tell. The same text is the condition of an index, so that looking for such
/// rows costs nothing.
macro_rules! damaged {
    () => {
        "(state NOT IN ('ready', 'running', 'parked') \
          OR run_at NOT BETWEEN -62135596800000000 AND 253402300799999999 \
          OR attempt NOT BETWEEN 0 AND 2147483647 OR lost NOT BETWEEN 0 AND 2147483647 \
          OR undecoded NOT BETWEEN 0 AND 2147483647 OR max_attempts NOT BETWEEN 1 AND 4294967295 \
          OR payload_version NOT BETWEEN 0 AND 4294967295 OR priority NOT BETWEEN 0 AND 3 \
          OR on_lost NOT IN ('rerun', 'abandon') OR key_until NOT IN ('end', 'start') OR length(id) <> 16)"
    };
}
pub(crate) use damaged;

/// One step from a version of the tables to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    /// The statements.
    pub(crate) sql: &'static str,
    /// The oldest version of the tables whose programs understand them after this step.
    pub(crate) min_reader: i64,
}

/// All steps; the number of a step is its place, from 1.
pub(crate) const MIGRATIONS: &[Migration] = &[Migration { min_reader: 1, sql: TABLES }];

const META: &str = "\
CREATE TABLE IF NOT EXISTS scheduler_meta (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL,
  min_reader INTEGER NOT NULL,
  fence INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO scheduler_meta (id, version, min_reader, fence) VALUES (1, 0, 1, 0);
";

const TABLES: &str = concat!(
    "\
-- One row is the life of one process. Its lease is in microseconds since the start of the machine. `tasks` has name and
-- version of each task, with a zero byte after each; `queues` the same of queues, or null for all.
CREATE TABLE scheduler_session (
  id BLOB PRIMARY KEY NOT NULL,
  label TEXT NOT NULL,
  build TEXT NOT NULL,
  application TEXT NOT NULL,
  tasks BLOB NOT NULL,
  opened_at INTEGER NOT NULL,
  boot TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  renewals INTEGER NOT NULL,
  queues BLOB,
  concurrency INTEGER NOT NULL,
  clock_offset INTEGER,
  pause_since INTEGER,
  pause_until INTEGER,
  paused_by TEXT,
  pause_reason TEXT
) STRICT, WITHOUT ROWID;

-- A session that has ended, for an hour. `found_by` is null if its process has closed it.
CREATE TABLE scheduler_ended_session (
  id BLOB PRIMARY KEY NOT NULL,
  label TEXT NOT NULL,
  build TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  application TEXT NOT NULL,
  tasks BLOB NOT NULL,
  queues BLOB,
  concurrency INTEGER NOT NULL,
  clock_offset INTEGER,
  pause_since INTEGER,
  pause_until INTEGER,
  paused_by TEXT,
  pause_reason TEXT,
  ended_at INTEGER NOT NULL,
  found_by TEXT,
  jobs INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX scheduler_ended_session_at ON scheduler_ended_session (ended_at, id);

-- One row is one schedule: a cursor over its ticks. All instants are microseconds since the Unix epoch.
CREATE TABLE scheduler_schedule (
  name TEXT PRIMARY KEY NOT NULL,
  task TEXT NOT NULL,
  payload_version INTEGER NOT NULL,
  payload BLOB NOT NULL,
  queue TEXT NOT NULL,
  priority INTEGER NOT NULL,
  partition TEXT,
  rule TEXT NOT NULL,
  timing TEXT NOT NULL,
  timing_first INTEGER,
  timing_every INTEGER,
  calculator TEXT NOT NULL,
  overlap TEXT NOT NULL,
  max_attempts INTEGER NOT NULL,
  on_lost TEXT NOT NULL,
  is_dynamic INTEGER NOT NULL,
  override_rule TEXT,
  override_timing TEXT,
  override_first INTEGER,
  override_every INTEGER,
  override_since INTEGER,
  override_by TEXT,
  override_before TEXT,
  cursor INTEGER NOT NULL,
  anchor INTEGER,
  next TEXT NOT NULL,
  next_tick INTEGER,
  fired INTEGER NOT NULL,
  last_fired INTEGER,
  skipped_overlap INTEGER NOT NULL,
  skipped_limit INTEGER NOT NULL,
  skipped_missed INTEGER NOT NULL,
  skipped_paused INTEGER NOT NULL,
  pause_since INTEGER,
  pause_until INTEGER,
  pause_by TEXT,
  pause_reason TEXT,
  waiting_id BLOB,
  waiting_tick INTEGER,
  waiting_missed INTEGER,
  waiting_run_at INTEGER,
  registrant_opened INTEGER NOT NULL,
  end_at INTEGER,
  end_state TEXT,
  end_started INTEGER,
  end_error TEXT,
  last_success INTEGER,
  failures INTEGER NOT NULL,
  decide_at INTEGER
) STRICT;

CREATE INDEX scheduler_schedule_due ON scheduler_schedule (task, decide_at);

CREATE INDEX scheduler_schedule_over ON scheduler_schedule (cursor, name)
  WHERE is_dynamic <> 0 AND override_rule IS NULL AND next = 'never' AND waiting_id IS NULL;

CREATE INDEX scheduler_schedule_repair ON scheduler_schedule (name)
  WHERE waiting_id IS NOT NULL OR next = 'job';

-- Jobs that are paused: those of a task, those in a queue, or those of a task in a partition, whose name is both with the byte 31
-- between them.
CREATE TABLE scheduler_pause (
  scope TEXT NOT NULL CHECK (scope IN ('task', 'queue', 'partition')),
  name TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER,
  paused_by TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

-- Changes by hand.
CREATE TABLE scheduler_action (
  id BLOB PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL,
  -- A name that people give.
  done_by TEXT NOT NULL,
  session_role TEXT NOT NULL,
  address TEXT NOT NULL,
  node TEXT NOT NULL,
  verb TEXT NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  task TEXT,
  count INTEGER NOT NULL,
  reason TEXT NOT NULL,
  old_value TEXT NOT NULL,
  new_value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX scheduler_action_at ON scheduler_action (at, id);

-- One row is one job that is unfinished or parked. `band` is the priority with the highest first; `kind` is 1 if the job is parked when its
-- process dies, plus 2 if two in a row have died, plus 4 if its payload is longer than CLAIM_BYTES_MAX, plus 8 if it has a partition and no
-- lane, plus 16 if it has a lane, plus 32 for each version of its payload.
CREATE TABLE scheduler_job (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  task TEXT NOT NULL,
  payload_version INTEGER NOT NULL,
  payload BLOB NOT NULL,
  queue TEXT NOT NULL,
  priority INTEGER NOT NULL,
  partition TEXT,
  key TEXT,
  key_until TEXT NOT NULL,
  key_kept_until INTEGER,
  state TEXT NOT NULL,
  run_at INTEGER NOT NULL,
  -- Of a job that has run in a partition with order: it is claimed no earlier, and `run_at` is its place.
  held_until INTEGER,
  expires_at INTEGER,
  attempt INTEGER NOT NULL,
  lost INTEGER NOT NULL,
  undecoded INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  on_lost TEXT NOT NULL,
  fence INTEGER NOT NULL,
  session BLOB,
  schedule TEXT,
  tick INTEGER,
  missed INTEGER NOT NULL,
  is_exclusive INTEGER NOT NULL,
  is_cancel_requested INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  error TEXT,
  traceparent TEXT,
  -- The last ones that did not succeed, in a form of this library.
  attempts TEXT,
  -- The progress of its last run: a fraction, a space, and a text.
  progress TEXT,
  band INTEGER NOT NULL AS (3 - priority) VIRTUAL,
  kind INTEGER NOT NULL AS ((on_lost = 'abandon') + 2 * (lost > 1) + 4 * (length(payload) > 4194304)
    + CASE WHEN partition IS NULL THEN 0 WHEN run_at > max(created_at, coalesce(seen_due_at, created_at)) THEN 8 ELSE 16 END
    + 32 * payload_version) VIRTUAL,
  -- A *lane* is the ready jobs of one task, queue, version and partition that were due when they were accepted, or when a poll saw them.
  seen_due_at INTEGER,
  lane TEXT AS (CASE WHEN state = 'ready' AND run_at <= max(created_at, coalesce(seen_due_at, created_at)) THEN partition END) VIRTUAL
) STRICT;

CREATE INDEX scheduler_job_lane ON scheduler_job (task, queue, payload_version, lane, band, run_at, id) WHERE lane IS NOT NULL;

-- A running job takes a place of the limits of its task and partition, and nothing else does.
CREATE INDEX scheduler_job_partition ON scheduler_job (task, partition) WHERE state = 'running' AND partition IS NOT NULL;

-- For people who look at the jobs of a partition.
CREATE INDEX scheduler_job_of_partition ON scheduler_job (partition, id) WHERE state = 'ready' AND partition IS NOT NULL;

-- In a partition with order none starts before one that has begun.
CREATE INDEX scheduler_job_held ON scheduler_job (task, partition, band, run_at, id) WHERE state = 'ready' AND held_until IS NOT NULL;

-- A parked job may hold those behind it.
CREATE INDEX scheduler_job_parked_partition ON scheduler_job (task, partition, id) WHERE state = 'parked' AND partition IS NOT NULL;

-- The limits of tasks. `gap` and `burst` are those of a rate, in nanoseconds and starts.
CREATE TABLE scheduler_limit (
  task TEXT NOT NULL,
  scope TEXT NOT NULL,
  names TEXT NOT NULL,
  running INTEGER,
  gap INTEGER,
  burst INTEGER,
  waiting INTEGER,
  ordered TEXT,
  code TEXT,
  by_hand TEXT,
  registrant_opened INTEGER NOT NULL,
  PRIMARY KEY (task, scope)
) STRICT, WITHOUT ROWID;

-- The next start of a task or a partition by its rate, in nanoseconds since the Unix epoch, while it lies ahead.
CREATE TABLE scheduler_arrival (
  task TEXT NOT NULL,
  scope TEXT NOT NULL,
  partition TEXT NOT NULL,
  arrival INTEGER NOT NULL,
  PRIMARY KEY (task, scope, partition)
) STRICT, WITHOUT ROWID;

-- The jobs of a task that were parked since one was done: their number, when the first was parked, and the end of the last.
CREATE TABLE scheduler_failing (
  task TEXT PRIMARY KEY NOT NULL,
  failures INTEGER NOT NULL,
  since INTEGER NOT NULL,
  end_at INTEGER NOT NULL,
  end_started INTEGER,
  end_error TEXT
) STRICT, WITHOUT ROWID;

-- Jobs that expire unless they are claimed.
CREATE INDEX scheduler_job_expiring ON scheduler_job (expires_at, id)
  WHERE state = 'ready' AND started_at IS NULL AND expires_at IS NOT NULL;

CREATE INDEX scheduler_job_ready ON scheduler_job (task, queue, band, kind, run_at, id) WHERE state = 'ready';

CREATE INDEX scheduler_job_running ON scheduler_job (session, id) WHERE state = 'running';

CREATE INDEX scheduler_job_cancel ON scheduler_job (session, id) WHERE state = 'running' AND is_cancel_requested <> 0;

-- Jobs that are tried again, for their number and their list, newest first.
CREATE INDEX scheduler_job_retrying ON scheduler_job (id, task, queue) WHERE state = 'ready' AND error IS NOT NULL;

CREATE INDEX scheduler_job_parked ON scheduler_job (finished_at, id) WHERE state = 'parked';

-- Their lists, newest first.
CREATE INDEX scheduler_job_parked_id ON scheduler_job (id) WHERE state = 'parked';

-- At most one unfinished job has a key.
CREATE UNIQUE INDEX scheduler_job_key ON scheduler_job (task, key)
  WHERE key IS NOT NULL AND state IN ('ready', 'running');

-- Keys that a job keeps for a time, also after its end.
CREATE TABLE scheduler_key (
  task TEXT NOT NULL,
  key TEXT NOT NULL,
  job BLOB NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (task, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX scheduler_key_until ON scheduler_key (until);

-- A key that another job has kept for long enough is free.
CREATE TRIGGER scheduler_job_keeps_key AFTER INSERT ON scheduler_job WHEN NEW.key IS NOT NULL BEGIN
  DELETE FROM scheduler_key WHERE task = NEW.task AND key = NEW.key AND job <> NEW.id;
  INSERT INTO scheduler_key (task, key, job, until)
  SELECT NEW.task, NEW.key, NEW.id, NEW.key_kept_until WHERE NEW.key_kept_until IS NOT NULL
  ON CONFLICT (task, key) DO UPDATE SET until = excluded.until;
END;

-- At most one unfinished job of a schedule whose jobs keep each other out.
CREATE UNIQUE INDEX scheduler_job_exclusive ON scheduler_job (schedule)
  WHERE is_exclusive <> 0 AND state IN ('ready', 'running');

-- The jobs of a schedule that may overlap.
CREATE INDEX scheduler_job_schedule ON scheduler_job (schedule, id)
  WHERE schedule IS NOT NULL AND state IN ('ready', 'running');

-- One row is the jobs that one transaction has ended, done or cancelled: their number, the bounds of their identities, and all else of
-- them in a form of this library.
CREATE TABLE scheduler_done (
  seq INTEGER PRIMARY KEY,
  ended_at INTEGER NOT NULL,
  least_id BLOB NOT NULL,
  greatest_id BLOB NOT NULL,
  count INTEGER NOT NULL,
  jobs BLOB NOT NULL
) STRICT;

CREATE INDEX scheduler_done_ended ON scheduler_done (ended_at, count);

CREATE INDEX scheduler_done_greatest ON scheduler_done (greatest_id);

-- For people: jobs that are unfinished or parked. `payload ->> '$.invoice'` looks into a payload.
CREATE VIEW scheduler_jobs AS
SELECT lower(substr(hex(id), 1, 8) || '-' || substr(hex(id), 9, 4) || '-' || substr(hex(id), 13, 4) || '-'
    || substr(hex(id), 17, 4) || '-' || substr(hex(id), 21)) AS id,
  task, CASE WHEN length(payload) > 0 THEN CAST(payload AS TEXT) END AS payload, payload_version AS version, state, partition, key, queue,
  CASE priority WHEN 0 THEN 'low' WHEN 1 THEN 'normal' WHEN 2 THEN 'high' ELSE 'urgent' END AS priority,
  strftime('%Y-%m-%d %H:%M:%f', run_at / 1000000.0, 'unixepoch') AS run_at, attempt, max_attempts, lost, on_lost, schedule,
  strftime('%Y-%m-%d %H:%M:%f', created_at / 1000000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%d %H:%M:%f', started_at / 1000000.0, 'unixepoch') AS started_at,
  strftime('%Y-%m-%d %H:%M:%f', finished_at / 1000000.0, 'unixepoch') AS finished_at, error, progress
FROM scheduler_job;

-- Rows that cannot be right.
CREATE INDEX scheduler_job_damaged ON scheduler_job (seq)
  WHERE ",
    damaged!(),
    ";
"
);

/// The version that these migrations lead to.
pub(crate) fn own_version(migrations: &[Migration]) -> i64 {
    migrations.len() as i64
}

/// The statements after a version, for people who make their tables themselves.
pub(crate) fn printed(tables: &Tables, migrations: &[Migration], from: i64) -> String {
    let mut text = format!("BEGIN EXCLUSIVE;\n\n{META}\n");
    for (number, migration) in (1..).zip(migrations).filter(|(number, _)| *number > from) {
        text += &format!(
            "-- Version {number}\n\n{}\n{}\n",
            migration.sql,
            update_meta(number, migration.min_reader)
        );
    }
    text += "COMMIT;\n";
    tables.sql(&text).into_owned()
}

fn update_meta(version: i64, min_reader: i64) -> String {
    format!("UPDATE scheduler_meta SET version = {version}, min_reader = {min_reader};\n")
}

/// The version of the tables and the oldest that reads them; none if there are no tables.
pub(crate) fn versions(db: &Connection, tables: &Tables) -> rusqlite::Result<Option<(i64, i64)>> {
    let found = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    let name = tables.sql("scheduler_meta");
    if db.query_row(found, [&*name], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    let select = tables.sql("SELECT version, min_reader FROM scheduler_meta");
    db.query_row(&select, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Executes what is missing, in a transaction that is begun already. The caller commits, unless the tables need a newer program:
/// then this is why.
pub(crate) fn migrate(
    db: &Connection,
    tables: &Tables,
    migrations: &[Migration],
) -> rusqlite::Result<Option<OpenError>> {
    let own = own_version(migrations);
    let version = match versions(db, tables)? {
        Some((version, min_reader)) if min_reader > own => {
            return Ok(Some(OpenError::NewerSchema(newer_schema(version, min_reader, own))));
        }
        Some((version, _)) => version,
        None => {
            db.execute_batch(&tables.sql(META))?;
            0
        }
    };
    for (number, migration) in (1..).zip(migrations).filter(|(number, _)| *number > version) {
        db.execute_batch(&tables.sql(migration.sql))?;
        db.execute_batch(&tables.sql(&update_meta(number, migration.min_reader)))?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Migration =
        Migration { min_reader: 1, sql: "ALTER TABLE scheduler_job ADD COLUMN colour TEXT;" };
    const THIRD: Migration = Migration { min_reader: 3, sql: "DROP TABLE scheduler_session;" };
    const BAD: Migration =
        Migration { min_reader: 1, sql: "ALTER TABLE scheduler_job ADD; nonsense" };

    fn to(db: &Connection, migrations: &[Migration]) -> rusqlite::Result<Option<OpenError>> {
        db.execute_batch("BEGIN EXCLUSIVE")?;
        let migrated = migrate(db, &Tables::DEFAULT, migrations);
        let is_done = matches!(migrated, Ok(None));
        db.execute_batch(if is_done { "COMMIT" } else { "ROLLBACK" })?;
        migrated
    }

    fn versions_of(db: &Connection) -> Option<(i64, i64)> {
        versions(db, &Tables::DEFAULT).unwrap()
    }

    #[test]
    fn missing_tables_are_made_and_none_twice() {
        let db = Connection::open_in_memory().unwrap();
        let (one, two) = (MIGRATIONS, [MIGRATIONS, &[SECOND]].concat());
        assert_eq!(versions_of(&db), None);
        for _ in 0..2 {
            assert!(matches!(to(&db, one), Ok(None)));
            assert_eq!(versions_of(&db), Some((1, 1)));
        }
        for _ in 0..2 {
            assert!(matches!(to(&db, &two), Ok(None)));
            assert_eq!(versions_of(&db), Some((2, 1)));
            db.execute_batch("SELECT colour FROM scheduler_job").unwrap();
        }
        // An older program starts beside the newer one, and changes nothing.
        assert!(matches!(to(&db, one), Ok(None)));
        assert_eq!(versions_of(&db), Some((2, 1)));
    }

    #[test]
    fn the_printed_statements_bring_older_tables_to_this_version() {
        let db = Connection::open_in_memory().unwrap();
        let (one, two) = (MIGRATIONS, [MIGRATIONS, &[SECOND]].concat());
        let tables = &Tables::DEFAULT;
        db.execute_batch(&printed(tables, one, 0)).unwrap();
        assert_eq!(versions_of(&db), Some((1, 1)));
        // Statements that are there already change nothing.
        assert!(db.execute_batch(&printed(tables, &two, 0)).is_err());
        db.execute_batch("ROLLBACK").unwrap();
        assert_eq!(versions_of(&db), Some((1, 1)));
        for _ in 0..2 {
            let (version, _) = versions_of(&db).unwrap();
            db.execute_batch(&printed(tables, &two, version)).unwrap();
            assert_eq!(versions_of(&db), Some((2, 1)));
        }
        db.execute_batch("SELECT colour FROM scheduler_job").unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_before() {
        let db = Connection::open_in_memory().unwrap();
        assert!(to(&db, &[MIGRATIONS, &[BAD]].concat()).is_err());
        assert_eq!(versions_of(&db), None);
        assert!(matches!(to(&db, MIGRATIONS), Ok(None)));
        assert!(to(&db, &[MIGRATIONS, &[SECOND, BAD]].concat()).is_err());
        assert_eq!(versions_of(&db), Some((1, 1)));
        assert!(db.execute_batch("SELECT colour FROM scheduler_job").is_err());
    }

    #[test]
    fn a_version_that_does_not_understand_the_tables_is_refused() {
        let db = Connection::open_in_memory().unwrap();
        let three = [MIGRATIONS, &[SECOND, THIRD]].concat();
        assert!(matches!(to(&db, &three), Ok(None)));
        for older in [MIGRATIONS, &three[..2]] {
            let refused = to(&db, older);
            assert!(matches!(refused, Ok(Some(OpenError::NewerSchema(_)))));
        }
        assert_eq!(versions_of(&db), Some((3, 3)));
    }
}
