//! What a lint says.

/// What a lint says about an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Its name, for programs.
    pub(crate) lint: &'static str,
    pub(crate) what: String,
    pub(crate) help: String,
}

impl Finding {
    pub(super) fn new(
        lint: &'static str,
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { lint, what: what.into(), help: help.into() }
    }
}
