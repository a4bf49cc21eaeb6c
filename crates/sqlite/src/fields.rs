//! Columns read with kind.
//!
//! Other programs write to the file, and disks fail. A value that cannot be right becomes one that can, with a note of
//! what was found, so that a damaged row is listed, parked and reported, and never stops what is done with the good ones.

use std::ops::RangeInclusive;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use scheduler_store::{Fence, StoreTime, Uuid};

/// The range of counters that people may set: `int4` of PostgreSQL.
pub(crate) const COUNT: RangeInclusive<i64> = 0..=0x7FFF_FFFF;

/// A 32-bit number.
pub(crate) const NUMBER: RangeInclusive<i64> = 0..=0xFFFF_FFFF;

/// The number of characters of a wrong text that are shown.
const SHOWN: usize = 80;

/// The columns of a row, and what is wrong with them.
pub(crate) struct Fields<'a> {
    row: &'a Row<'a>,
    pub(crate) faults: Vec<String>,
}

impl<'a> Fields<'a> {
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

    pub(crate) fn number(
        &mut self,
        column: usize,
        range: RangeInclusive<i64>,
    ) -> rusqlite::Result<u32> {
        Ok(u32::try_from(self.int(column, range)?).unwrap_or(0))
    }

    pub(crate) fn count(&mut self, column: usize) -> rusqlite::Result<u64> {
        Ok(self.int(column, 0..=i64::MAX)?.unsigned_abs())
    }

    pub(crate) fn bool(&mut self, column: usize) -> rusqlite::Result<bool> {
        Ok(self.int(column, 0..=1)? != 0)
    }

    pub(crate) fn fence(&mut self, column: usize) -> rusqlite::Result<Fence> {
        Ok(Fence(self.count(column)?))
    }

    pub(crate) fn time(&mut self, column: usize) -> rusqlite::Result<StoreTime> {
        Ok(StoreTime::from_micros(self.int(column, times())?))
    }

    pub(crate) fn opt_time(&mut self, column: usize) -> rusqlite::Result<Option<StoreTime>> {
        Ok(self.opt_int(column, times())?.map(StoreTime::from_micros))
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
    pub(crate) fn word<T: Copy>(
        &mut self,
        column: usize,
        words: &[(&str, T)],
    ) -> rusqlite::Result<T> {
        let value = self.row.get_ref(column)?;
        let text = value.as_str().unwrap_or_default();
        if let Some((_, found)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*found);
        }
        self.wrong(column, &shown(value));
        Ok(words[0].1)
    }
}

fn times() -> RangeInclusive<i64> {
    StoreTime::MIN.as_micros()..=StoreTime::MAX.as_micros()
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

/// The word of a value, from the same list that reading uses.
pub(crate) fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, each)| *each == value).map_or("", |(word, _)| *word)
}
