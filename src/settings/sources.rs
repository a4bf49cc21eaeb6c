//! The places in which settings are written, as they were read at the start.

use scheduler_expr::Attribute;

use super::environment::Environment;
use super::file::Layer;

/// The places, each read once.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) builder: Layer,
    pub(super) environment: Environment,
    pub(super) files: Vec<Layer>,
    /// The defaults for all tasks that code gives.
    pub(super) defaults: Vec<(Attribute, String)>,
}

impl Sources {
    /// The places that have lines, from high to low; the environment is after the first.
    pub(super) fn layers(&self) -> impl Iterator<Item = &Layer> {
        std::iter::once(&self.builder).chain(&self.files)
    }
}
