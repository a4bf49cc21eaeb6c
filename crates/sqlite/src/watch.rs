//! Notices that another process has written.

use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{StoreError, Watch};

use crate::clock::{Deadline, sleep};
use crate::connection::Shared;

/// The time between two looks at the file: under 1 % of one core. It stays so while nothing happens: a longer wait
/// would be the latency of the first job after it.
const INTERVAL: Duration = Duration::from_millis(5);

/// Looks whether another connection has written.
///
/// SQLite gives no notice to other processes, but has a number that changes with their writes. The connection that asks is the
/// one that writes, so that the process's own writes do not count.
#[derive(Debug)]
pub(crate) struct FileWatch {
    shared: Arc<Shared>,
    seen: Option<i64>,
}

impl FileWatch {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let seen = shared.data_version().ok().flatten();
        Self { shared, seen }
    }
}

impl Watch for FileWatch {
    fn wait(&mut self, limit: Duration) -> Result<bool, StoreError> {
        let deadline = Deadline::after(limit);
        loop {
            if let Some(version) = self.shared.data_version()?
                && self.seen.replace(version) != Some(version)
            {
                return Ok(true);
            }
            let left = deadline.left();
            if left.is_zero() {
                return Ok(false);
            }
            sleep(INTERVAL.min(left));
        }
    }
}
