//! How events and snapshots serialize, where the derived form is not the one of the table in `mod.rs`.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Failure, Outcome, TaskFacts};
use crate::facts::Location;

/// A duration as seconds, such as `0.012`.
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::{Serialize, Serializer};

    /// A duration, or none.
    pub(crate) trait Seconds {
        fn seconds(&self) -> Option<f64>;
    }

    impl Seconds for Duration {
        fn seconds(&self) -> Option<f64> {
            Some(self.as_secs_f64())
        }
    }

    impl Seconds for Option<Duration> {
        fn seconds(&self) -> Option<f64> {
            self.map(|length| length.as_secs_f64())
        }
    }

    pub(crate) fn serialize<S: Serializer>(
        length: &impl Seconds,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        length.seconds().serialize(serializer)
    }
}

#[derive(Serialize)]
struct FailureForm<'a> {
    kind: &'static str,
    message: &'a str,
    causes: Vec<&'a str>,
    place: Option<String>,
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FailureForm {
            kind: self.kind(),
            message: self.message(),
            causes: self.causes().collect(),
            place: self.place().map(ToString::to_string),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct OutcomeForm<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(failure) = self.failure() {
            return failure.serialize(serializer);
        }
        let reason = if let Self::Refused(reason) = self { Some(&**reason) } else { None };
        OutcomeForm { kind: self.name(), reason }.serialize(serializer)
    }
}

#[derive(Serialize)]
struct FactsForm<'a> {
    name: &'a str,
    function: Option<&'a str>,
    kind: &'static str,
    rule: &'a str,
    #[serde(with = "seconds")]
    period_seconds: Option<std::time::Duration>,
    zone: &'static str,
    pool: &'a str,
    tags: &'a [Arc<str>],
    is_async: bool,
    location: Option<Location>,
}

/// `src/jobs.rs:12`
impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for TaskFacts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FactsForm {
            name: &self.name,
            function: self.function.as_deref(),
            kind: self.kind.name(),
            rule: &self.rule,
            period_seconds: self.period,
            zone: self.zone.name(),
            pool: &self.pool,
            tags: &self.tags,
            is_async: self.is_async,
            location: self.location,
        }
        .serialize(serializer)
    }
}
