//! Facts in the answers of a store for people, beside those for the node.

use scheduler_node::Request;

use super::effects::NodeDriver;
use crate::observe::catch;

impl NodeDriver {
    /// To be called when the node has had its answer. A store may be the user's, and one that does not answer is reported
    /// elsewhere.
    pub(super) fn heard(&self, what: &Request, paused: Option<Vec<String>>) {
        if let Some(paused) = paused {
            drop(catch(|| self.reports.jobs().heard_paused(&paused)));
        }
        self.warn_of_unknown(what);
    }
}
