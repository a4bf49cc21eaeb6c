//! The hooks that a pool calls around runs and at its end.

use std::fmt;
use std::sync::Arc;

use crate::error::Failure;
use crate::observe::{Announcer, Event};
use crate::task::steps::Around;
use crate::task::{Run, TaskId};
use crate::unwind::catch;

type Before = Arc<dyn Fn(&Run) + Send + Sync>;
type After = Arc<dyn Fn(&Run, &Result<(), Failure>) + Send + Sync>;
type Terminated = Arc<dyn Fn() + Send + Sync>;
type Decorate = Arc<dyn Fn(TaskId, Option<&str>) -> Around + Send + Sync>;

/// The hooks around runs.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) before: Option<Before>,
    pub(super) after: Option<After>,
    pub(super) terminated: Option<Terminated>,
    pub(super) decorate: Option<Decorate>,
}

impl Hooks {
    /// Asks the decorator, if there is one, for the wrapper of one task's steps.
    #[inline]
    pub(super) fn decorate(
        &self,
        id: TaskId,
        name: Option<&str>,
    ) -> Result<Option<Around>, Failure> {
        match &self.decorate {
            None => Ok(None),
            Some(decorate) => catch(|| decorate(id, name)).map(Some),
        }
    }

    /// Returns true if anything is to be called around runs.
    pub(super) fn surround_runs(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }

    /// Calls the before-hook; a panic of it is the failure of the run, which then does not start.
    pub(super) fn before_run(&self, run: &Run, announcer: &Announcer) -> Option<Failure> {
        let hook = self.before.as_ref()?;
        let failure = catch(|| hook(run)).err()?;
        announcer.announce(&Event::HookPanicked { hook: "before_run", failure: &failure });
        let message = format!("the before-run hook panicked: {}", failure.message());
        Some(Failure::from_panic(&message))
    }

    pub(super) fn after_run(
        &self,
        run: &Run,
        outcome: &Result<(), Failure>,
        announcer: &Announcer,
    ) {
        if let Some(hook) = &self.after
            && let Err(failure) = catch(|| hook(run, outcome))
        {
            announcer.announce(&Event::HookPanicked { hook: "after_run", failure: &failure });
        }
    }

    pub(super) fn terminated(&self, announcer: &Announcer) {
        if let Some(hook) = &self.terminated
            && let Err(failure) = catch(|| hook())
        {
            announcer.announce(&Event::HookPanicked { hook: "on_terminated", failure: &failure });
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("before", &self.before.is_some())
            .field("after", &self.after.is_some())
            .field("terminated", &self.terminated.is_some())
            .field("decorate", &self.decorate.is_some())
            .finish()
    }
}
