//! The log of the program: `tracing` or `log`, if one is installed.

use super::text::Fields;
#[cfg(any(feature = "tracing", feature = "log"))]
use super::text::Value;

/// The urgency of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// A log of the program. Without the features there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Log {
    #[cfg(feature = "tracing")]
    Tracing,
    #[cfg(feature = "log")]
    Log,
}

impl Log {
    /// The log that is installed now; `tracing` before `log`.
    pub(crate) fn installed() -> Option<Self> {
        #[cfg(feature = "tracing")]
        if super::tracing::is_installed() {
            return Some(Self::Tracing);
        }
        // A logger that is off looks like none.
        #[cfg(feature = "log")]
        if log::max_level() != log::LevelFilter::Off {
            return Some(Self::Log);
        }
        None
    }

    /// Returns true if it takes debug messages.
    pub(crate) fn wants_debug(self) -> bool {
        match self {
            #[cfg(feature = "tracing")]
            Self::Tracing => tracing::enabled!(target: "scheduler", tracing::Level::DEBUG),
            #[cfg(feature = "log")]
            Self::Log => log::log_enabled!(target: "scheduler", log::Level::Debug),
        }
    }

    /// Logs one line with fields.
    #[cfg_attr(not(any(feature = "tracing", feature = "log")), allow(unused_variables))]
    pub(crate) fn write(self, level: Level, text: &str, fields: &Fields) {
        match self {
            #[cfg(feature = "tracing")]
            Self::Tracing => write_event(level, text, fields),
            #[cfg(feature = "log")]
            Self::Log => write_record(level.into(), text, fields),
        }
    }
}

/// Lists all names of [`Fields`], because `tracing` wants them at compile time. A field that is not set is left out.
#[cfg(feature = "tracing")]
fn write_event(level: Level, text: &str, fields: &Fields) {
    let value = |name| {
        let (_, value) = fields.iter().find(|(known, _)| *known == name)?;
        Some(match value {
            Value::Number(number) => number as &dyn tracing::Value,
            Value::Seconds(seconds) => seconds,
            Value::Text(text) => text,
        })
    };
    macro_rules! event {
        ($level:ident, $($name:literal)*) => {
            tracing::event!(
                target: "scheduler", tracing::Level::$level, { $($name = value($name),)* }, "{text}"
            )
        };
        ($($name:literal)*) => {
            match level {
                Level::Error => event!(ERROR, $($name)*),
                Level::Warn => event!(WARN, $($name)*),
                Level::Info => event!(INFO, $($name)*),
                Level::Debug => event!(DEBUG, $($name)*),
            }
        };
    }
    event! {
        "event" "task" "run" "attempt" "outcome" "error" "duration" "next"
        "scheduler.task.name" "scheduler.task.kind" "scheduler.task.schedule"
        "scheduler.run.number" "scheduler.run.attempt" "scheduler.run.cause"
        "scheduler.run.fire_time" "scheduler.run.lateness"
        "scheduler.job.id" "scheduler.job.key" "scheduler.job.queue"
        "scheduler.job.attempt" "scheduler.job.max_attempts"
        "scheduler.skip.reason" "scheduler.skip.count"
        "code.function.name" "error.type" "exception.type" "exception.message"
    }
}

#[cfg(feature = "log")]
fn write_record(level: log::Level, text: &str, fields: &Fields) {
    if log::log_enabled!(target: "scheduler", level) {
        let mut record = log::Record::builder();
        record.target("scheduler").level(level).key_values(fields);
        // In one expression: Rust before 1.89 drops what `format_args!` borrows at the end of a `let`.
        log::logger().log(&record.args(format_args!("{text}")).build());
    }
}

#[cfg(feature = "log")]
impl log::kv::Source for Fields {
    fn visit<'kvs>(
        &'kvs self,
        visitor: &mut dyn log::kv::VisitSource<'kvs>,
    ) -> Result<(), log::kv::Error> {
        self.iter().try_for_each(|(name, value)| {
            let value = match value {
                Value::Number(number) => (*number).into(),
                Value::Seconds(seconds) => (*seconds).into(),
                Value::Text(text) => text.as_str().into(),
            };
            visitor.visit_pair(name.into(), value)
        })
    }
}

#[cfg(feature = "log")]
impl From<Level> for log::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::Error,
            Level::Warn => Self::Warn,
            Level::Info => Self::Info,
            Level::Debug => Self::Debug,
        }
    }
}
