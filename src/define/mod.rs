//! How tasks are described: annotations, schedules in code, settings.

pub(crate) mod calendar;
pub(crate) mod entry;
pub(crate) mod metadata;
pub(crate) mod registrar;
pub(crate) mod schedule;
pub(crate) mod settings;
