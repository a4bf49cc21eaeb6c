//! Without the feature `durable` no run is that of a job.

use scheduler_core::WallTime;

use super::cause::Cause;

/// There is none.
#[derive(Clone, Debug)]
pub(crate) enum ClaimedJob {}

impl ClaimedJob {
    pub(crate) fn attempt(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn cause(&self) -> Cause {
        match *self {}
    }

    pub(crate) fn fire_time(&self) -> WallTime {
        match *self {}
    }

    pub(crate) fn due(&self) -> WallTime {
        match *self {}
    }
}
