//! The options of a store.

use std::sync::Arc;

use crate::connect::Connect;
use crate::sql::Schema;

/// The way in which a process learns early that another has enqueued something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wakeup {
    /// By a notification, on a connection of its own.
    #[default]
    Notify,
    /// By polling only. Connections have no state between transactions, as a pool such as PgBouncer needs that gives each
    /// transaction another connection.
    Poll,
}

/// The options of a store.
pub(crate) struct Options {
    pub(crate) connect: Arc<Connect>,
    pub(crate) schema: Schema,
    pub(crate) described: String,
    pub(crate) wakeup: Wakeup,
    pub(crate) is_relaxed: bool,
    pub(crate) relaxed_finishes: bool,
    pub(crate) callers: usize,
}
