//! How a task comes to its pool: made, given to the core, or refused.

use std::sync::Arc;

use super::ScheduledThreadPool;
use super::core::Core;
use super::item::AnyItem;
use super::shutdown::Kind;
use super::step::Effects;
use super::step::Submitter;
use super::unstarted::UnstartedTask;
use crate::error::Error;
use crate::task::Header;
use crate::task::Link;
use crate::task::Task;
use crate::task::TaskHandle;
use crate::task::TaskId;
use crate::task::Traits;
use crate::task::cell::TaskCell;
use crate::task::slot::Around;
use crate::task::slot::Work;
use crate::task::steps::Steps;
use crate::time::Due;
use crate::time::Now;

/// All of a new task but its body.
pub(super) struct Launch {
    pub(super) traits: Option<Box<Traits>>,
    pub(super) kind: Kind,
    pub(super) due: Due,
    pub(super) now: Now,
}

pub(super) fn first_due<T>(task: &Task<T>, now: Now) -> Result<Due, Error> {
    let first = task.rhythm.first(task.initial_delay, now).map_err(Error::failed)?;
    first.ok_or_else(|| Error::argument("trigger", "it never fires"))
}

/// A task that is not submitted yet.
pub(super) fn make_handle<T: Send + Sync + 'static>(
    id: TaskId,
    task: Task<T>,
    link: Arc<Link>,
    around: Option<Around>,
    due: Due,
) -> TaskHandle<T> {
    let Task { name, rhythm, on_error, deadline, is_alarm, body, .. } = task;
    let traits = Traits::if_special(name, rhythm, on_error, deadline, is_alarm);
    let header = Header::new(id, traits, link);
    TaskHandle::new(TaskCell::new(header, Work { body, around }, due))
}

impl ScheduledThreadPool {
    pub(super) fn launch<T: Send + Sync + 'static, B: Steps<T> + 'static>(
        &self,
        launch: Launch,
        body: B,
        watch: impl FnOnce(&TaskHandle<T>),
    ) -> Result<TaskHandle<T>, Error> {
        let Launch { traits, kind, due, now } = launch;
        let id = self.shell().draw_id();
        let hooks = &self.shell().hooks;
        let around = if hooks.decorate.is_some() {
            let name = traits.as_ref().and_then(|traits| traits.name.as_deref());
            hooks.decorate(id, name).map_err(Error::failed)?
        } else {
            None
        };
        let work = Work { body, around };
        let handle = TaskHandle::new(self.shell().arena.make(id, traits, work, due));
        watch(&handle);
        match self.shell().stage(handle.task(), id, kind, due, now) {
            Ok(()) => Ok(handle),
            Err(task) => {
                let submitter = if self.shell().is_called_by_worker() {
                    Submitter::Worker
                } else {
                    Submitter::Other
                };
                self.admit(handle, |core, effects| {
                    core.admit(task, kind, due, now, submitter, effects)
                })
            }
        }
    }

    /// Has the core take a new task in.
    #[inline(never)]
    fn admit<T: Send + Sync + 'static>(
        &self,
        handle: TaskHandle<T>,
        admit: impl FnOnce(&mut Core<AnyItem>, &mut Effects<AnyItem>) -> Result<(), AnyItem>,
    ) -> Result<TaskHandle<T>, Error> {
        let (answer, starts) = self.shell().alter_and_count(admit);
        match answer {
            Err(refused) => self.reject(refused)?,
            Ok(()) if starts.refused > 0 => self.shell().check_manned(&handle.task())?,
            Ok(()) => {}
        }
        Ok(handle)
    }

    /// A task of the pool's own, which is not submitted yet.
    pub(super) fn make_handle<T: Send + Sync + 'static>(
        &self,
        id: TaskId,
        task: Task<T>,
        around: Option<Around>,
        due: Due,
    ) -> TaskHandle<T> {
        make_handle(id, task, self.shell().arena.link(), around, due)
    }

    fn reject(&self, refused: AnyItem) -> Result<(), Error> {
        let task = UnstartedTask::new(refused, Arc::clone(self.shell()));
        self.rejection_policy().reject(task, self)
    }
}
