//! In place of the bridge to `metrics` where that feature is off: nobody to count for.

use std::sync::Arc;

use super::Listener;

pub(crate) fn meter() -> Option<Arc<dyn Listener>> {
    None
}
