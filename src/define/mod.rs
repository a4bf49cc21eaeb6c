//! Tasks as annotations, code and settings define them.

pub(crate) mod calendar;
pub(crate) mod definition;
pub(crate) mod entry;
pub(crate) mod metadata;
pub(crate) mod registrar;
pub(crate) mod schedule;
pub(crate) mod settings;
