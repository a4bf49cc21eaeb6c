//! Tasks as annotations, code and settings define them.
//!
//! Attributes are texts here. `start/registrar` parses them, and makes tasks of the definitions.

pub(crate) mod calendar;
pub(crate) mod entry;
pub(crate) mod schedule;
pub(crate) mod settings;
