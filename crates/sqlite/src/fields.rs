//! Columns read with kind.
//!
//! Other programs write to the file, and disks fail. A value that cannot be right becomes one that can, with a note of
//! what was found, so that a damaged row is listed, parked and reported, and never stops what is done with the good ones.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use rusqlite::Row;
use rusqlite::types::{ToSqlOutput, ValueRef};
use scheduler_store::{
    ACTION_COLUMNS, Column, ColumnKind, ColumnValue, JOB_COLUMNS, JobRow, LIMIT_COLUMNS,
    NEW_JOB_COLUMNS, NewColumn, SCHEDULE_COLUMNS, StoreTime, Uuid,
};

/// The number of characters of a wrong text that are shown.
const SHOWN: usize = 80;

/// The columns of a row, and what is wrong with them.
pub(crate) struct FieldReader<'a> {
    row: &'a Row<'a>,
    pub(crate) faults: Vec<String>,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(row: &'a Row<'a>) -> Self {
        Self { row, faults: Vec::new() }
    }

    fn wrong(&mut self, column: usize, value: &str) {
        let name = self.row.as_ref().column_name(column).unwrap_or("?");
        self.faults.push(format!("{name} is {value}"));
    }

    /// A number in a range; another one is moved into it.
    pub(crate) fn int(
        &mut self,
        column: usize,
        range: RangeInclusive<i64>,
    ) -> rusqlite::Result<i64> {
        Ok(self.opt_int(column, range.clone())?.unwrap_or_else(|| {
            self.wrong(column, "no number");
            *range.start()
        }))
    }

    pub(crate) fn opt_int(
        &mut self,
        column: usize,
        range: RangeInclusive<i64>,
    ) -> rusqlite::Result<Option<i64>> {
        let number = match self.row.get_ref(column)? {
            ValueRef::Null => return Ok(None),
            ValueRef::Integer(number) => number,
            other => {
                self.wrong(column, &shown(other));
                return Ok(Some(*range.start()));
            }
        };
        if !range.contains(&number) {
            self.wrong(column, &number.to_string());
        }
        Ok(Some(number.clamp(*range.start(), *range.end())))
    }

    pub(crate) fn text(&mut self, column: usize) -> rusqlite::Result<String> {
        Ok(self.opt_text(column)?.unwrap_or_else(|| {
            self.wrong(column, "no text");
            String::new()
        }))
    }

    pub(crate) fn opt_text(&mut self, column: usize) -> rusqlite::Result<Option<String>> {
        let value = self.row.get_ref(column)?;
        Ok(match value {
            ValueRef::Null => None,
            ValueRef::Text(bytes) => Some(match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => {
                    self.wrong(column, "not UTF-8");
                    String::from_utf8_lossy(bytes).into_owned()
                }
            }),
            other => {
                self.wrong(column, &shown(other));
                Some(shown(other))
            }
        })
    }

    pub(crate) fn bytes(&mut self, column: usize) -> rusqlite::Result<Vec<u8>> {
        Ok(match self.row.get_ref(column)? {
            ValueRef::Blob(bytes) => bytes.to_vec(),
            // It may be a payload, which stands in no error.
            _ => {
                self.wrong(column, "no blob");
                Vec::new()
            }
        })
    }

    pub(crate) fn opt_bytes(&mut self, column: usize) -> rusqlite::Result<Option<Vec<u8>>> {
        let is_null = self.row.get_ref(column)? == ValueRef::Null;
        (!is_null).then(|| self.bytes(column)).transpose()
    }

    pub(crate) fn opt_uuid(&mut self, column: usize) -> rusqlite::Result<Option<Uuid>> {
        let value = self.row.get_ref(column)?;
        if value == ValueRef::Null {
            return Ok(None);
        }
        let uuid = value.as_blob().ok().and_then(|bytes| Uuid::from_slice(bytes).ok());
        if uuid.is_none() {
            self.wrong(column, &shown(value));
        }
        Ok(uuid)
    }

    /// One of a few words; another one becomes the first of them.
    fn word(&mut self, column: usize, words: &[&'static str]) -> rusqlite::Result<usize> {
        let value = self.row.get_ref(column)?;
        let text = value.as_str().unwrap_or_default();
        let found = words.iter().position(|word| *word == text);
        if found.is_none() {
            self.wrong(column, &shown(value));
        }
        Ok(found.unwrap_or(0))
    }

    pub(crate) fn time(&mut self, column: usize) -> rusqlite::Result<StoreTime> {
        Ok(StoreTime::from_micros(self.int(column, ColumnKind::Time.range())?))
    }

    /// The value of a column in this place of the row.
    pub(crate) fn value<R>(
        &mut self,
        at: usize,
        column: &Column<R>,
    ) -> rusqlite::Result<ColumnValue<'static>> {
        if column.is_nullable && self.row.get_ref(at)? == ValueRef::Null {
            return Ok(ColumnValue::Null);
        }
        Ok(match column.kind {
            ColumnKind::Uuid => self.opt_uuid(at)?.map_or(ColumnValue::Null, ColumnValue::Uuid),
            ColumnKind::Text => ColumnValue::Text(self.text(at)?.into()),
            ColumnKind::Words(words) => ColumnValue::Text(words[self.word(at, words)?].into()),
            ColumnKind::Choice(words) => ColumnValue::Int(self.word(at, &words)? as i64),
            ColumnKind::Bytes => ColumnValue::Bytes(self.bytes(at)?.into()),
            number => ColumnValue::Int(self.int(at, number.range())?),
        })
    }
}

/// The value of a column as SQLite keeps it.
fn bound(kind: ColumnKind, value: ColumnValue<'_>) -> ToSqlOutput<'_> {
    match value {
        ColumnValue::Null => ToSqlOutput::Borrowed(ValueRef::Null),
        ColumnValue::Int(number) => match kind {
            ColumnKind::Choice(words) => words[usize::from(number != 0)].into(),
            _ => number.into(),
        },
        ColumnValue::Uuid(id) => id.into_bytes().to_vec().into(),
        ColumnValue::Text(Cow::Borrowed(text)) => text.into(),
        ColumnValue::Text(Cow::Owned(text)) => text.into(),
        ColumnValue::Bytes(Cow::Borrowed(bytes)) => bytes.into(),
        ColumnValue::Bytes(Cow::Owned(bytes)) => bytes.into(),
    }
}

/// An instant that is no column of the list.
pub(crate) fn instant(at: Option<StoreTime>) -> ToSqlOutput<'static> {
    bound(ColumnKind::Time, at.map_or(ColumnValue::Null, |at| ColumnValue::Int(at.as_micros())))
}

/// A value of a schedule that its other values contradict.
pub(crate) fn shown_value(value: &ColumnValue<'_>) -> String {
    match bound(ColumnKind::Text, value.clone()) {
        ToSqlOutput::Borrowed(value) => shown(value),
        ToSqlOutput::Owned(value) => shown((&value).into()),
        _ => String::new(),
    }
}

/// The values of a row, for a statement with a parameter for each column.
pub(crate) fn bound_all<'a, R: 'static>(
    columns: impl IntoIterator<Item = &'static Column<R>>,
    row: &'a R,
) -> impl Iterator<Item = ToSqlOutput<'a>> {
    columns.into_iter().map(|column| bound(column.kind, (column.get)(row)))
}

/// A statement with lists of columns in it.
macro_rules! sql {
    ($($text:expr),+) => {{
        static SQL: std::sync::LazyLock<String> =
            std::sync::LazyLock::new(|| $crate::fields::with_columns(concat!($($text),+)));
        SQL.as_str()
    }};
}
pub(crate) use sql;

/// The columns that a session has while it is open and after its end.
const SESSION_COLUMNS: &str = "id, label, build, opened_at, application, tasks, queues, concurrency, clock_offset, pause_since, \
                               pause_until, paused_by, pause_reason";

/// Puts lists of columns in place of their names. The first parameter is for what the list has not.
pub(crate) fn with_columns(text: &str) -> String {
    let values = |count: usize| joined((2..count + 2).map(|number| format!("?{number}")));
    let kept = || NEW_JOB_COLUMNS.iter().filter_map(|column| Some((column, column.same?)));
    let replaced = kept().filter(|(column, _)| column.replaces);
    text.replace("{new_job}", &joined(kept().map(|(_, same)| same.to_owned())))
        .replace("{new_job_of_it}", &joined(kept().map(|(column, _)| of_json(column))))
        .replace(
            "{new_job_replaced}",
            &joined(replaced.map(|(_, same)| format!("{same} = excluded.{same}"))),
        )
        .replace("{job}", &joined(JOB_COLUMNS.iter().map(|column| column.name.to_owned())))
        .replace("{job_values}", &values(JOB_COLUMNS.len()))
        .replace("{job_changes}", &assigned(is_changing))
        .replace("{job_repair}", &assigned(is_repaired))
        .replace("{job_all}", &assigned(|_| true))
        .replace(
            "{schedule}",
            &joined(SCHEDULE_COLUMNS.iter().map(|column| column.name.to_owned())),
        )
        .replace("{schedule_values}", &values(SCHEDULE_COLUMNS.len()))
        .replace("{session}", SESSION_COLUMNS)
        .replace("{limit}", &joined(LIMIT_COLUMNS.iter().map(|column| column.name.to_owned())))
        .replace(
            "{limit_values}",
            &joined((1..=LIMIT_COLUMNS.len()).map(|number| format!("?{number}"))),
        )
        .replace("{action}", &joined(ACTION_COLUMNS.iter().map(|column| column.name.to_owned())))
        .replace("{action_values}", &values(ACTION_COLUMNS.len()))
}

/// The value of a column in the JSON of a new job. The statement makes an identity of its text.
fn of_json(column: &NewColumn) -> String {
    let value = format!("it ->> '{}'", column.name);
    match column.kind {
        ColumnKind::Uuid => column.name.to_owned(),
        ColumnKind::Bytes => format!("CAST(coalesce({value}, '') AS BLOB)"),
        ColumnKind::Choice([first, second]) => {
            format!("CASE WHEN {value} THEN '{second}' ELSE '{first}' END")
        }
        _ => value,
    }
}

fn assigned(is_written: fn(&&Column<JobRow>) -> bool) -> String {
    let written = (2..).zip(JOB_COLUMNS.iter().filter(is_written));
    joined(written.map(|(number, column)| format!("{} = ?{number}", column.name)))
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

pub(crate) fn is_changing(column: &&Column<JobRow>) -> bool {
    column.changes
}

/// The payload of a damaged row stays as it is.
pub(crate) fn is_repaired(column: &&Column<JobRow>) -> bool {
    column.kind != ColumnKind::Bytes
}

/// A value as people read it.
fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "missing".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            format!("{:?}", text.chars().take(SHOWN).collect::<String>())
        }
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}
