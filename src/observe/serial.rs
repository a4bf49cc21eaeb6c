//! Serialization of events and snapshots, beyond the derived form.

use std::time::Duration;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use super::{Outcome, PanicPlace, TaskFacts};
use crate::base::metadata::Location;

/// A duration as seconds, such as `0.012`.
pub(crate) fn seconds<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(length.as_secs_f64())
}

/// A duration as seconds, or nothing.
pub(crate) fn seconds_if_any<S: Serializer>(
    length: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    length.map(|length| length.as_secs_f64()).serialize(serializer)
}

/// A failure as itself, everything else as its name and, if it was refused, the reason.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(failure) = self.failure() {
            return failure.serialize(serializer);
        }
        let reason = if let Self::Refused(reason) = self { Some(reason) } else { None };
        let mut form = serializer.serialize_map(Some(1 + usize::from(reason.is_some())))?;
        form.serialize_entry("kind", self.name())?;
        reason.map_or(Ok(()), |reason| form.serialize_entry("reason", reason))?;
        form.end()
    }
}

/// `src/jobs.rs:12:5`
impl Serialize for PanicPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// `src/jobs.rs:12`
impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for TaskFacts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut facts = serializer.serialize_struct("TaskFacts", 10)?;
        facts.serialize_field("name", &self.name)?;
        facts.serialize_field("function", &self.function)?;
        facts.serialize_field("kind", self.kind.name())?;
        facts.serialize_field("rule", &self.rule)?;
        facts.serialize_field("period_seconds", &self.period.map(|period| period.as_secs_f64()))?;
        facts.serialize_field("zone", self.zone.name())?;
        facts.serialize_field("pool", &self.pool)?;
        facts.serialize_field("tags", &self.tags)?;
        facts.serialize_field("is_async", &self.is_async)?;
        facts.serialize_field("location", &self.location)?;
        facts.end()
    }
}
