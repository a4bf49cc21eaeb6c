//! Where the tasks of a pool are made, and where their memory waits for the next ones.
//!
//! A task is made by one thread and ends on another, so that an allocator has to carry its memory back. Here that is
//! done for many at once: a task that has ended, of which nothing is left and which has no other owner, is kept by
//! its type, and the next task of that type is made in it. What tasks are made of is never kept: no user code
//! can be left in a kept one.

use std::any::TypeId;
use std::sync::Arc;

use super::cell::TaskCell;
use super::header::{TaskId, Traits};
use super::run::AnyTask;
use super::slot::Work;
use super::steps::Steps;
use super::{Header, Link, current};
use crate::sync::{Apart, Mutex, Ordering, UnexploredU64};
use crate::time::Due;

/// The most tasks of one type that are kept. A model checker has nothing to find in them: they have no other owner.
const KEPT_MAX: usize = if cfg!(any(loom, shuttle)) { 0 } else { 1024 };

/// The most types of which tasks are kept.
const TYPES_MAX: usize = 16;

/// So many does a worker keep for itself.
const BATCH: usize = 32;

/// Makes tasks, of new memory or of that of ended ones.
pub(crate) struct Arena {
    /// What the tasks know their pool by.
    link: Arc<Link>,
    /// The address of the pool.
    home: usize,
    /// INVARIANT: the lock is an innermost one. What is kept has no other owner, and nothing to drop.
    kept: Apart<Mutex<Vec<Kept>>>,
    /// How many are kept; changed under the lock, and a hint without it.
    count: UnexploredU64,
}

/// Ended tasks of one type.
struct Kept {
    of: TypeId,
    tasks: Vec<Arc<dyn AnyTask>>,
}

impl Arena {
    pub(crate) fn new(link: Link) -> Self {
        let home = link.0.as_ptr().addr();
        let (link, kept) = (Arc::new(link), Apart(Mutex::new(Vec::new())));
        Self { link, home, kept, count: UnexploredU64::new(0) }
    }

    /// What the tasks know their pool by.
    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.link)
    }

    /// Makes a task.
    #[inline]
    pub(crate) fn make<T: Send + Sync + 'static, B: Steps<T> + 'static>(
        &self,
        id: TaskId,
        traits: Option<Box<Traits>>,
        work: Work<B>,
        due: Due,
    ) -> Arc<TaskCell<T, B>> {
        if let Some(mut task) = self.take::<TaskCell<T, B>>() {
            let Some(cell) = Arc::get_mut(&mut task) else {
                unreachable!("what is kept has no other owner")
            };
            cell.renew(id, traits, work, due);
            return task;
        }
        TaskCell::new(Header::new(id, traits, self.link()), work, due)
    }

    /// Takes out a task of this type: the last one that the calling worker has ended, or one that is kept.
    #[inline]
    fn take<C: Send + Sync + 'static>(&self) -> Option<Arc<C>> {
        let own =
            current::with_spent(self.home, |spent| spent.pop_if(|task| task.as_any().is::<C>()));
        // ORDERING: relaxed, it is a hint.
        let has_kept = self.count.load(Ordering::Relaxed) > 0;
        let kept = || if has_kept { self.take_kept(TypeId::of::<C>()) } else { None };
        own.flatten().or_else(kept)?.into_any().downcast().ok()
    }

    fn take_kept(&self, of: TypeId) -> Option<Arc<dyn AnyTask>> {
        let mut kept = self.kept.lock();
        let task = kept.iter_mut().find(|kept| kept.of == of)?.tasks.pop()?;
        self.note(-1);
        Some(task)
    }

    /// Keeps a task that the calling worker has ended for the next one, unless it has another owner or
    /// something to drop.
    #[inline]
    pub(crate) fn spend(&self, mut task: Arc<dyn AnyTask>) {
        if !is_spent(&mut task) {
            return;
        }
        current::with_spent(self.home, |spent| {
            spent.push(task);
            if spent.len() >= BATCH {
                self.keep(spent);
            }
        });
    }

    /// Gives away what the calling worker has kept for itself, because it is about to wait.
    pub(crate) fn give_away(&self) {
        current::with_spent(self.home, |spent| self.keep(spent));
    }

    /// Keeps ended tasks for new ones, and drops those that have another owner or something to drop.
    pub(crate) fn give_back(&self, tasks: &mut Vec<Arc<dyn AnyTask>>) {
        tasks.retain_mut(is_spent);
        self.keep(tasks);
    }

    /// Keeps tasks that [are spent](is_spent), as far as there is room.
    fn keep(&self, tasks: &mut Vec<Arc<dyn AnyTask>>) {
        if tasks.is_empty() {
            return;
        }
        let mut kept = self.kept.lock();
        while let Some(of) = tasks.last().map(type_of)
            && let Some(kept) = room_for(&mut kept, of)
        {
            let before = kept.tasks.len();
            while kept.tasks.len() < KEPT_MAX
                && let Some(task) = tasks.pop_if(|task| type_of(task) == of)
            {
                kept.tasks.push(task);
            }
            self.note((kept.tasks.len() - before) as i64);
        }
        drop(kept);
        tasks.clear();
    }

    fn note(&self, more: i64) {
        // ORDERING: relaxed, the lock orders the changes.
        let count = self.count.load(Ordering::Relaxed);
        self.count.store(count.wrapping_add_signed(more), Ordering::Relaxed);
    }
}

/// Returns true if a task has no other owner, and nothing is left of it that could be dropped.
#[inline]
fn is_spent(task: &mut Arc<dyn AnyTask>) -> bool {
    Arc::get_mut(task).is_some_and(AnyTask::is_spent)
}

fn type_of(task: &Arc<dyn AnyTask>) -> TypeId {
    task.as_any().type_id()
}

/// Where a task of this type is kept, if there is room for it.
fn room_for(kept: &mut Vec<Kept>, of: TypeId) -> Option<&mut Kept> {
    let known = kept.iter().position(|kept| kept.of == of);
    let index = match known.or_else(|| kept.iter().position(|kept| kept.tasks.is_empty())) {
        Some(index) => index,
        None if kept.len() == TYPES_MAX => return None,
        None => {
            kept.push(Kept { of, tasks: Vec::new() });
            kept.len() - 1
        }
    };
    let kept = &mut kept[index];
    kept.of = of;
    (kept.tasks.len() < KEPT_MAX).then_some(kept)
}
