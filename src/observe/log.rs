//! The bridge to `log`: messages as records with key-values. `log_off` replaces it without the feature.

use log::kv::{Error, Key, Source, ToValue, VisitSource};
use log::{LevelFilter, Record};

use super::Level;
use super::fields::{Fields, Value};

/// Whether a logger is installed that lets anything through: one that is off looks like none.
pub(crate) fn is_installed() -> bool {
    log::max_level() != LevelFilter::Off
}

/// Whether the logger takes messages of this level.
pub(crate) fn is_enabled(level: Level) -> bool {
    log::log_enabled!(target: "scheduler", level.into())
}

/// Logs a record.
pub(crate) fn write(level: Level, text: &str, fields: &Fields) {
    if is_enabled(level) {
        let (text, mut record) = (format_args!("{text}"), Record::builder());
        let record = record.target("scheduler").level(level.into()).key_values(fields);
        log::logger().log(&record.args(text).build());
    }
}

impl Source for Fields {
    fn visit<'kvs>(&'kvs self, visitor: &mut dyn VisitSource<'kvs>) -> Result<(), Error> {
        self.iter().try_for_each(|(name, value)| {
            let value = match value {
                Value::Number(number) => number.to_value(),
                Value::Seconds(seconds) => seconds.to_value(),
                Value::Text(text) => text.as_str().into(),
            };
            visitor.visit_pair(Key::from_str(name), value)
        })
    }
}

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
