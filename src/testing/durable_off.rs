//! Without the feature `durable` there is no store.

use std::sync::Arc;

use super::world::World;

impl World {
    #[expect(clippy::unused_self, reason = "as with the feature `durable`")]
    pub(super) fn make_identities(self: &Arc<Self>) {}
}
