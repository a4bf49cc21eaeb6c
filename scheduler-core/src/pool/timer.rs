//! Making and arming timers, for a scheduler above the engine, and firings that go on as a future.

use std::any::Any;
use std::mem;
use std::sync::Arc;

use super::entry::{AnyItem, place_of};
use super::executor::ScheduledThreadPool;
use super::shell::Shell;
use super::shutdown::Kind;
use super::submit::make_handle;
use super::wake::Wake;
use crate::observe::Event;
use crate::task::slot::Around;
use crate::task::{
    AnyTask, Fire, Header, OnError, Rhythm, Run, Task, TaskHandle, TaskId, Timer, Traits,
};
use crate::time::{Due, Now, Tick};
use crate::unwind::drop_contained;

impl ScheduledThreadPool {
    /// Makes a timer of this content, which is not armed; see [`Timer`].
    ///
    /// If the decorator of the pool panics the timer has none.
    #[must_use]
    pub fn timer<T: Fire>(&self, name: impl Into<Arc<str>>, content: T) -> Arc<Timer<T>> {
        let (shell, name) = (self.shell(), name.into());
        let id = shell.draw_id();
        let (around, _) = shell.decorate(id, Some(&name));
        let traits =
            Traits::if_special(Some(name), Rhythm::Once, OnError::Continue, Tick::MAX, true);
        Timer::new(Header::new(id, traits, shell.arena.link()), around, content)
    }
}

impl<T: Fire> Timer<T> {
    /// Arms the timer for this time, in place of an earlier one; nothing happens where it is the same.
    ///
    /// Takes its place in the queue at once, but no more than that: the workers to wake or to start for it are in the
    /// answer, to be [performed](Wake::perform) when the caller has released its own locks. `now` is a reading of the
    /// pool's clock.
    ///
    /// [Refused](Wake::is_refused) by a pool that stops or has terminated. A worker is started if the pool has fewer
    /// than its core size, as for a submission; where there is none and none can be started, the timer is
    /// [dropped](Fire::dropped).
    pub fn arm(self: &Arc<Self>, due: Due, now: Now) -> Wake {
        let Some(shell) = shell_of(self.header()) else { return Wake::refused() };
        let timer: AnyItem = Arc::clone(self) as AnyItem;
        // The share that is left over is not the last one.
        let (is_refused, later) =
            shell.alter_later(|core, effects| core.arm(timer, due, now, effects).is_err());
        Wake::new(shell, later, is_refused)
    }

    /// Disarms the timer; a worker that has taken it fires it all the same.
    pub fn disarm(&self) -> Wake {
        let Some(shell) = shell_of(self.header()) else { return Wake::none() };
        let (_, later) = shell.alter_later(|core, effects| {
            core.disarm(place_of(self.header(), AnyTask::due(self)), effects)
        });
        Wake::new(shell, later, false)
    }

    /// The time that the timer is armed for, while it is.
    #[must_use]
    pub fn due(&self) -> Option<Due> {
        let shell = shell_of(self.header())?;
        let _locked = shell.locked.lock();
        self.armed()
    }
}

fn shell_of(header: &Header) -> Option<Arc<Shell>> {
    let home: Arc<dyn Any + Send + Sync> = header.home()?;
    home.downcast::<Shell>().ok()
}

impl Run {
    /// Has this run of a timer go on as a task that is a future, or any other that runs once, now.
    ///
    /// The pool runs it also while it shuts down, and waits for it. When it stops it cancels the task, and does not
    /// hand it out. The rhythm and the initial delay of the task have no effect. The task is cancelled at once where
    /// the pool takes none any more, or where its decorator panics.
    pub fn go_on(&self, mut task: Task<()>) -> TaskHandle<()> {
        drop_contained(mem::replace(&mut task.rhythm, Rhythm::Once));
        let header = self.task().header();
        let Some(shell) = shell_of(header) else {
            let handle = make_handle(header.id(), task, header.link(), None, Due::Tick(Tick::MAX));
            handle.cancel();
            return handle;
        };
        let (id, now) = (shell.draw_id(), Now::read(&*shell.clock));
        let (around, is_decorated) = shell.decorate(id, task.name.as_deref());
        let due = Due::Tick(now.tick);
        let handle = make_handle(id, task, shell.arena.link(), around, due);
        let item = handle.task();
        if is_decorated {
            shell.alter(|core, effects| core.admit_own(item, Kind::Resumed, due, now, effects));
        } else {
            handle.cancel();
        }
        handle
    }
}

impl Shell {
    /// Asks the decorator for what has no error to return; the second part is false if it panicked.
    fn decorate(&self, id: TaskId, name: Option<&str>) -> (Option<Around>, bool) {
        match self.hooks.decorate(id, name) {
            Ok(around) => (around, true),
            Err(failure) => {
                let hook = "decorate_task";
                self.announcer.announce(&Event::HookPanicked { hook, failure: &failure });
                (None, false)
            }
        }
    }
}
