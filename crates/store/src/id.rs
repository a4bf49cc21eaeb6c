//! Identities of jobs and sessions, fences, and instants.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// The identity with this UUID.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Its UUID.
            #[must_use]
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

id! {
    /// The identity of a job. It is made before the job is first sent to a store, so that the same job sent twice is
    /// accepted once (R3).
    JobId
}

id! {
    /// The identity of a session: the life of one process, from its start until its lease ends. It is never used again.
    SessionId
}

id! {
    /// The identity of an action: of one command, or of several that are one action.
    ActionId
}

/// A number that grows each time work changes hands, over all jobs of a store.
///
/// Of two runs of one job, or of one schedule, the later one has the greater fence. A resource that refuses a fence smaller
/// than the greatest it has seen is safe from a process that does not know yet that its session has ended.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An instant by the clock of a store: microseconds since the Unix epoch. Arithmetic saturates.
///
/// ```
/// use scheduler_store::StoreTime;
/// use std::time::Duration;
///
/// let start = StoreTime::from_micros(1_000_000);
/// assert_eq!(start.after(Duration::from_secs(2)).since(start), Duration::from_secs(2));
/// assert_eq!(start.since(StoreTime::MAX), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreTime(i64);

impl StoreTime {
    /// The earliest instant that a store keeps: the start of the year 1.
    pub const MIN: Self = Self(-62_135_596_800_000_000);
    /// The latest instant that a store keeps: the end of the year 9999.
    pub const MAX: Self = Self(253_402_300_799_999_999);

    /// The instant that many microseconds after the Unix epoch, moved into the range of a store.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        if micros < Self::MIN.0 {
            Self::MIN
        } else if micros > Self::MAX.0 {
            Self::MAX
        } else {
            Self(micros)
        }
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The instant as a date.
    #[must_use]
    pub fn utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or_default()
    }

    /// The instant that much later, rounded up to microseconds.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(micros(wait)))
    }

    /// The instant that much earlier.
    #[must_use]
    pub fn before(self, time: Duration) -> Self {
        Self::from_micros(self.0.saturating_sub(micros(time)))
    }

    /// The time from another instant to this one; zero if the other is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).try_into().unwrap_or(0))
    }
}

impl fmt::Display for StoreTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} s", self.0.div_euclid(1_000_000), self.0.rem_euclid(1_000_000))
    }
}

impl From<DateTime<Utc>> for StoreTime {
    /// To the microsecond, and moved to the nearest instant of the years 1 to 9999.
    fn from(instant: DateTime<Utc>) -> Self {
        Self::from_micros(instant.timestamp_micros())
    }
}

impl From<StoreTime> for DateTime<Utc> {
    fn from(time: StoreTime) -> Self {
        time.utc()
    }
}

impl Serialize for StoreTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.utc().to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

/// A length in microseconds, rounded up: what a store keeps.
#[must_use]
pub fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_nanos().div_ceil(1_000)).unwrap_or(i64::MAX)
}
