//! The tasks of a running scheduler.

/// The tasks of a running scheduler, to be looked at and controlled.
#[derive(Clone, Debug, Default)]
pub struct Tasks {}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self::default()
    }
}
