//! Replaces the bridge to `metrics` without that feature.

use std::sync::Arc;

use super::Listener;

pub(crate) fn meter() -> Option<Arc<dyn Listener>> {
    None
}
