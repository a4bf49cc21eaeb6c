//! The tasks that are there: in the order in which they were added, by their names, and those that have ended.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::settings::names::Names;
use crate::settings::names::NotFound;
use crate::task::Control;

/// How many tasks that have completed or were cancelled are kept, unless the program or a setting says.
pub(crate) const ENDED_KEPT: usize = 100;

/// Of tasks that ended in failure at least so many are kept, apart from the others.
const FAILED_KEPT_MIN: usize = 100;

/// All tasks, and the names that are taken.
///
/// What it gives out may be the last end of a task: its owner drops that once the lock is open again.
#[derive(Default)]
pub(super) struct Registry {
    /// Their numbers grow in the order in which they came.
    names: Names,
    tasks: BTreeMap<usize, Control>,
    next: usize,
    /// The tasks that have ended, the one that ended last at the back.
    ended: VecDeque<usize>,
    failed: VecDeque<usize>,
    ended_kept: usize,
    is_closed: bool,
}

/// A name that was taken for a task to come.
pub(super) struct Reservation {
    name: Arc<str>,
    number: usize,
    /// The task that has the name still, and has ended.
    ended: Option<usize>,
}

/// Why a name cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Taken,
    Closed,
}

impl Registry {
    /// An empty one, that keeps so many tasks that have ended.
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

    /// Takes a name. A task of that name that has ended stays until another one is put under it.
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

    /// Puts a task under its name, which was reserved, and gives out the one that makes room; an error if it is
    /// too late for that.
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

    /// Frees a name that was reserved, if no task was put under it.
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

    /// Takes a task out, if it is there.
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
        // The name may be another one's already.
        if self.names.number(removed.name()) == Some(number) {
            self.names.remove(removed.name());
        }
        Some(removed)
    }

    /// Takes note that the task with this very name has ended; gives out the one that makes room for it.
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

    /// Takes no further tasks, and keeps those that end from now on: the stop still speaks of them.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Gives out all tasks.
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
