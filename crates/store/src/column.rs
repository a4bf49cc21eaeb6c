//! Columns of a table, as every store reads and writes them.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use scheduler_expr::{OnLost, Overlap, Priority};
use uuid::Uuid;

use crate::attempt::{JobAttempt, attempts_of_text, attempts_to_text};
use crate::id::{Fence, JobId, SessionId};
use crate::job::{JobState, KeyUntil};
use crate::time::StoreTime;

/// The value of a column. A flag is 0 or 1, a choice the place of its word, and an instant its microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Value<'a> {
    Null,
    Int(i64),
    Uuid(Uuid),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// The number; 0 of another value.
    #[must_use]
    pub fn int(&self) -> i64 {
        if let Self::Int(number) = self { *number } else { 0 }
    }

    /// The text; empty for another value.
    #[must_use]
    pub fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// The same, which borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(number),
            Self::Uuid(id) => Value::Uuid(id),
            Self::Text(text) => Value::Text(text.into_owned().into()),
            Self::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
        }
    }

    fn unsigned(&self) -> u64 {
        u64::try_from(self.int()).unwrap_or(0)
    }
}

/// The values that a column may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identity.
    Uuid,
    /// A text.
    Text,
    /// A text, one of a few. The first stands for those that are unknown.
    Words(&'static [&'static str]),
    /// A payload.
    Bytes,
    /// True or false.
    Flag,
    /// One of two words; in a store with flags, whether it is the second.
    Choice([&'static str; 2]),
    /// An instant.
    Time,
    /// The number of a priority.
    Rank,
    /// A number of 31 bits.
    Count,
    /// A number of 32 bits.
    Number,
    /// The same, at least 1.
    AtLeastOne,
    /// A number of 63 bits.
    Long,
    /// Microseconds, perhaps before 1970.
    Micros,
}

impl Kind {
    /// The numbers that are possible.
    #[must_use]
    pub const fn range(self) -> RangeInclusive<i64> {
        match self {
            Self::Flag | Self::Choice(_) => 0..=1,
            Self::Rank => 0..=3,
            Self::Count => 0..=0x7FFF_FFFF,
            Self::Number => 0..=0xFFFF_FFFF,
            Self::AtLeastOne => 1..=0xFFFF_FFFF,
            Self::Time => StoreTime::MIN.as_micros()..=StoreTime::MAX.as_micros(),
            Self::Micros => i64::MIN..=i64::MAX,
            Self::Long | Self::Uuid | Self::Text | Self::Words(_) | Self::Bytes => 0..=i64::MAX,
        }
    }
}

/// The way in which a store keeps a column of jobs that have ended, where it keeps them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It follows from the place of the job.
    Apart,
    /// For each job.
    Each,
    /// Once if it is the same in all jobs.
    Same,
    /// Once if it is zero, false, empty or null in all jobs.
    Blank,
}

/// A column of a table whose rows are `R`.
#[derive(Debug)]
pub struct Column<R: 'static> {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub kind: Kind,
    /// True if it may be null.
    pub is_nullable: bool,
    /// The way in which it is kept of jobs that have ended.
    pub ended: Ended,
    /// True if it changes after the row was made, without a command about it.
    pub changes: bool,
    /// Its value in a row.
    pub get: for<'a> fn(&'a R) -> Value<'a>,
    /// Sets it. A value of another kind becomes an empty one.
    pub set: fn(&mut R, Value<'_>),
}

impl<R> Column<R> {
    pub(crate) const fn ended(self, ended: Ended) -> Self {
        Self { ended, ..self }
    }

    pub(crate) const fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    pub(crate) const fn changes(self) -> Self {
        Self { changes: true, ..self }
    }
}

/// A field that a column has.
pub(crate) trait Field {
    const KIND: Kind;
    const IS_NULLABLE: bool = false;
    fn value(&self) -> Value<'_>;
    fn put(&mut self, value: Value<'_>);
}

/// The column of a field of `Row`, or one whose value is read and set by other expressions.
macro_rules! column {
    ($name:literal, $type:ty, $row:ident.$($place:ident).+) => {
        $crate::column::column!(
            $name,
            $type,
            |$row| $crate::column::Field::value(&$row.$($place).+),
            |$row, value| $crate::column::Field::put(&mut $row.$($place).+, value)
        )
    };
    ($name:literal, $type:ty, $get:expr, $set:expr) => {
        $crate::column::Column::<Row> {
            name: $name,
            kind: <$type as $crate::column::Field>::KIND,
            is_nullable: <$type as $crate::column::Field>::IS_NULLABLE,
            ended: $crate::column::Ended::Each,
            changes: false,
            get: $get,
            set: $set,
        }
    };
}
pub(crate) use column;

/// Fields that a column has: the type, its kind, its value, and the field from a value.
macro_rules! fields {
    ($($type:ty = $kind:expr, |$this:ident| $get:expr, |$value:ident| $set:expr;)*) => {$(
        impl Field for $type {
            const KIND: Kind = $kind;

            fn value(&self) -> Value<'_> {
                let $this = self;
                $get
            }

            fn put(&mut self, $value: Value<'_>) {
                *self = $set;
            }
        }
    )*};
}

fields! {
    String = Kind::Text, |this| Value::Text(Cow::Borrowed(this)), |value| text(value).unwrap_or_default();
    bool = Kind::Flag, |this| Value::Int(i64::from(*this)), |value| value.int() != 0;
    u32 = Kind::Number, |this| Value::Int(i64::from(*this)), |value| u32::try_from(value.int()).unwrap_or(0);
    u64 = Kind::Long, |this| long(*this), |value| value.unsigned();
    Fence = Kind::Long, |this| long(this.0), |value| Self(value.unsigned());
    StoreTime = Kind::Time, |this| Value::Int(this.as_micros()), |value| Self::from_micros(value.int());
    Priority = Kind::Rank, |this| Value::Int(this.rank().into()), |value| Self::from_rank(value.int());
    Vec<u8> = Kind::Bytes, |this| Value::Bytes(Cow::Borrowed(this)), |value| bytes(value);
    OnLost = Kind::Choice([OnLost::Rerun.name(), OnLost::Abandon.name()]),
        |this| Value::Int((*this == Self::Abandon).into()),
        |value| if value.int() == 0 { Self::Rerun } else { Self::Abandon };
    KeyUntil = Kind::Choice(["end", "start"]),
        |this| Value::Int((*this == Self::Start).into()),
        |value| if value.int() == 0 { Self::End } else { Self::Start };
    JobState = Kind::Words(&["parked", "ready", "running", "done", "cancelled"]),
        |this| Value::Text(Cow::Borrowed(this.word())),
        |value| Self::ALL.into_iter().find(|each| each.word() == value.text()).unwrap_or(Self::Parked);
    Overlap = Kind::Words(&["skip", "queue_one", "allow"]),
        |this| Value::Text(Cow::Borrowed(this.name())),
        |value| value.text().parse().unwrap_or(Self::Skip);
    JobId = Kind::Uuid,
        |this| Value::Uuid(this.as_uuid()),
        |value| if let Value::Uuid(id) = value { Self::from_uuid(id) } else { return };
}

/// The same for fields that may have no value.
macro_rules! nullable {
    ($($type:ty = $kind:expr, |$this:ident| $get:expr, |$value:ident| $set:expr;)*) => {$(
        impl Field for $type {
            const KIND: Kind = $kind;
            const IS_NULLABLE: bool = true;

            fn value(&self) -> Value<'_> {
                let $this = self;
                Option::unwrap_or($get, Value::Null)
            }

            fn put(&mut self, $value: Value<'_>) {
                *self = $set;
            }
        }
    )*};
}

nullable! {
    Option<String> = Kind::Text, |this| this.as_deref().map(|text| Value::Text(Cow::Borrowed(text))), |value| text(value);
    Option<StoreTime> = Kind::Time, |this| this.map(|at| Value::Int(at.as_micros())),
        |value| (value != Value::Null).then(|| StoreTime::from_micros(value.int()));
    Option<JobId> = Kind::Uuid, |this| this.map(|id| Value::Uuid(id.as_uuid())),
        |value| if let Value::Uuid(id) = value { Some(JobId::from_uuid(id)) } else { None };
    Option<SessionId> = Kind::Uuid, |this| this.map(|id| Value::Uuid(id.as_uuid())),
        |value| if let Value::Uuid(id) = value { Some(SessionId::from_uuid(id)) } else { None };
    Vec<JobAttempt> = Kind::Text, |this| attempts_to_text(this).map(|text| Value::Text(Cow::Owned(text))),
        |value| if value == Value::Null { Self::new() } else { attempts_of_text(value.text()) };
}

pub(crate) fn long(number: u64) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(crate) fn text(value: Value<'_>) -> Option<String> {
    if let Value::Text(text) = value { Some(text.into_owned()) } else { None }
}

fn bytes(value: Value<'_>) -> Vec<u8> {
    if let Value::Bytes(bytes) = value { bytes.into_owned() } else { Vec::new() }
}
