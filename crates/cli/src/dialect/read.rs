//! Chooses the reader.

use clap::ValueEnum;

use super::{Converted, quartz, systemd, unix};
use crate::error::{self, CliError};

/// Whose cron expressions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// Spring's six fields, which are those of this program.
    Spring,
    /// The five fields of a crontab.
    Unix,
    /// The six or seven fields of Quartz.
    Quartz,
    /// The `OnCalendar=` of a systemd timer.
    Systemd,
}

/// Reads a text of a dialect.
pub(crate) fn read(text: &str, dialect: Dialect) -> Result<Converted, CliError> {
    match dialect {
        Dialect::Spring => Ok(Converted::one(error::parse(text)?, None, Vec::new())),
        Dialect::Unix => unix::convert(text),
        Dialect::Quartz => quartz::convert(text),
        Dialect::Systemd => systemd::convert(text),
    }
}
