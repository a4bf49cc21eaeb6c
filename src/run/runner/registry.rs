//! The registered tasks, in the order in which they were added and by name.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::define::settings::names::{Names, NotFound};
use crate::run::task::Control;

/// How many tasks that have completed or were cancelled are kept by default.
pub(crate) const ENDED_KEPT: usize = 100;

/// The least number of failed tasks that are kept, apart from the others.
const FAILED_KEPT_MIN: usize = 100;

/// All tasks, and the names that are taken.
///
/// A returned task may be the last reference to it: drop it after the lock is released.
#[derive(Default)]
pub(super) struct Registry {
    /// Numbers grow in the order in which tasks were added.
    names: Names,
    tasks: BTreeMap<usize, Control>,
    next: usize,
    /// The tasks that have ended, the latest at the back.
    ended: VecDeque<usize>,
    failed: VecDeque<usize>,
    ended_kept: usize,
    is_closed: bool,
}

/// A name that is reserved for a new task.
pub(super) struct Reservation {
    name: Arc<str>,
    number: usize,
    /// The ended task that still has the name.
    ended: Option<usize>,
}

/// Why a name cannot be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Taken,
    Closed,
}

impl Registry {
    /// An empty registry that keeps `ended_kept` tasks that have ended.
    pub(super) fn new(names: Names, ended_kept: usize) -> Self {
        Self { names, ended_kept, ..Self::default() }
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// All tasks, in the order in which they were added.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &Control> {
        self.tasks.values()
    }

    /// Reserves a name. An ended task of that name stays until [`put`](Self::put).
    pub(super) fn reserve(&mut self, name: &Arc<str>) -> Result<Reservation, Refused> {
        let ended = match self.names.number(name) {
            _ if self.is_closed => return Err(Refused::Closed),
            Some(number) if !self.tasks.get(&number).is_some_and(Control::has_ended) => {
                return Err(Refused::Taken);
            }
            ended => ended,
        };
        let number = self.next;
        self.next += 1;
        self.names.remove(name);
        self.names.insert(name, number);
        Ok(Reservation { name: Arc::clone(name), number, ended })
    }

    /// Adds a task under its reserved name. Returns the ended task that it replaces.
    pub(super) fn put(
        &mut self,
        reserved: &Reservation,
        task: &Control,
    ) -> Result<Option<Control>, Refused> {
        if self.is_closed {
            return Err(Refused::Closed);
        }
        self.tasks.insert(reserved.number, task.clone());
        Ok(reserved.ended.and_then(|ended| self.remove(ended)))
    }

    /// Frees a reserved name that no task has.
    pub(super) fn free(&mut self, reserved: &Reservation) {
        let Reservation { name, number, ended } = reserved;
        if self.tasks.contains_key(number) || self.names.number(name) != Some(*number) {
            return;
        }
        self.names.remove(name);
        if let Some((ended, task)) = ended.and_then(|ended| Some((ended, self.tasks.get(&ended)?)))
        {
            self.names.insert(task.name(), ended);
        }
    }

    pub(super) fn find(&self, name: &str) -> Result<&Control, NotFound> {
        let (_, number) = self.names.find(name)?;
        let unknown = || NotFound::Unknown { name: name.to_owned(), nearest: None };
        self.tasks.get(&number).ok_or_else(unknown)
    }

    /// Removes a task.
    pub(super) fn take_out(&mut self, task: &Control) -> Option<Control> {
        let number = self.number(task)?;
        self.remove(number)
    }

    fn remove(&mut self, number: usize) -> Option<Control> {
        for ended in [&mut self.ended, &mut self.failed] {
            if let Some(at) = ended.iter().position(|known| *known == number) {
                ended.remove(at);
            }
        }
        let removed = self.tasks.remove(&number)?;
        // Another task may have the name already.
        if self.names.number(removed.name()) == Some(number) {
            self.names.remove(removed.name());
        }
        Some(removed)
    }

    /// Records that a task has ended, by the `Arc` of its name. Returns the oldest ended task if too many are kept.
    pub(super) fn note_end(&mut self, name: &Arc<str>) -> Option<Control> {
        let number = self.names.number(name)?;
        let task = self.tasks.get(&number).filter(|task| Arc::ptr_eq(task.name(), name))?;
        if self.is_closed {
            return None;
        }
        let (ended, kept) = match task.has_failed() {
            true => (&mut self.failed, self.ended_kept.max(FAILED_KEPT_MIN)),
            false => (&mut self.ended, self.ended_kept),
        };
        ended.push_back(number);
        if ended.len() <= kept {
            return None;
        }
        let oldest = *ended.front()?;
        self.remove(oldest)
    }

    /// Takes no further tasks. Tasks that end from now on are kept, because the stop reports them.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Removes and returns all tasks.
    pub(super) fn clear(&mut self) -> BTreeMap<usize, Control> {
        self.close();
        (self.names, self.ended, self.failed) = <_>::default();
        std::mem::take(&mut self.tasks)
    }

    fn number(&self, task: &Control) -> Option<usize> {
        let number = self.names.number(task.name())?;
        let known = self.tasks.get(&number)?;
        known.is_same(task).then_some(number)
    }
}
