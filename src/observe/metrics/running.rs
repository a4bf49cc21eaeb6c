//! The runs in progress by task name.
//!
//! A task removed during a run and a new one of the same name share their metrics: their runs are counted together, and
//! the end of the first task does not clear those of the second.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::observe::TaskFacts;

/// The names of all tasks and of runs in progress. Others are not kept: a program may use ever new ones.
#[derive(Debug, Default)]
pub(super) struct ByName(RwLock<HashMap<Arc<str>, Known>>);

#[derive(Clone, Debug)]
struct Known {
    /// The name in the events of the present task, which differs by its pointer from that of a removed one.
    present: Option<Arc<str>>,
    function: Function,
    running: Arc<Running>,
}

/// How many runs are in progress.
#[derive(Debug, Default)]
pub(super) struct Running(AtomicUsize);

/// A task's function in the two parts that Spring's labels want.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: Arc<str>,
    pub(super) namespace: Arc<str>,
}

impl ByName {
    pub(super) fn added(&self, task: &TaskFacts) -> Arc<Running> {
        let (name, function) = (&task.name, Function::of(task));
        let mut tasks = self.write();
        let known = tasks.entry(Arc::clone(name)).or_insert_with(|| Known::unknown(name));
        (known.present, known.function) = (Some(Arc::clone(name)), function);
        Arc::clone(&known.running)
    }

    /// Counts a run that starts.
    pub(super) fn begin(&self, task: &Arc<str>) -> Arc<Running> {
        if let Some(known) = self.read().get(task) {
            known.running.begin();
            return Arc::clone(&known.running);
        }
        let mut tasks = self.write();
        let known = tasks.entry(Arc::clone(task)).or_insert_with(|| Known::unknown(task));
        known.running.begin();
        Arc::clone(&known.running)
    }

    /// Counts the end of a run. Returns the function of the task, if it is known.
    pub(super) fn end(&self, task: &Arc<str>) -> Option<(Function, Arc<Running>)> {
        let tasks = self.read();
        let known = tasks.get(task)?;
        // RACE: under the lock, so that `ended` sees the count.
        known.running.end();
        let Known { present, function, running } = known.clone();
        drop(tasks);
        if present.is_none() {
            forget_if_over(&mut self.write(), task);
        }
        Some((function, running))
    }

    /// Removes a task that has ended. Returns false if another one has its name.
    pub(super) fn ended(&self, task: &Arc<str>) -> bool {
        let mut tasks = self.write();
        if let Some(known) = tasks.get_mut(task) {
            if known.present.as_ref().is_some_and(|present| !Arc::ptr_eq(present, task)) {
                return false;
            }
            known.present = None;
        }
        forget_if_over(&mut tasks, task);
        true
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<Arc<str>, Known>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Arc<str>, Known>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_if_over(tasks: &mut HashMap<Arc<str>, Known>, task: &Arc<str>) {
    let is_over = |known: &Known| known.present.is_none() && known.running.count() == 0;
    if tasks.get(task).is_some_and(is_over) {
        tasks.remove(task);
    }
}

impl Known {
    fn unknown(name: &str) -> Self {
        let (function, running) = (Function::without_path(name), Arc::default());
        Self { present: None, function, running }
    }
}

impl Running {
    // ORDERING: sequentially consistent, because `show` reads what others wrote before it reads again.
    fn begin(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self) {
        // A run may have started before the bridge counted.
        let less = |count: usize| count.checked_sub(1);
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Calls `show` with the count.
    ///
    /// RACE: of two concurrent calls the last may show an old count, so each reads again.
    pub(super) fn show(&self, show: impl Fn(usize)) {
        loop {
            let count = self.count();
            show(count);
            fence(Ordering::SeqCst);
            if self.count() == count {
                return;
            }
        }
    }
}

impl Function {
    fn of(task: &TaskFacts) -> Self {
        let path = task.function.as_deref().and_then(|path| path.rsplit_once("::"));
        match path {
            Some((namespace, name)) => {
                Self { name: name.into(), namespace: namespace.replace("::", ".").into() }
            }
            None => Self::without_path(task.function.as_deref().unwrap_or(&task.name)),
        }
    }

    pub(super) fn without_path(name: &str) -> Self {
        Self { name: name.into(), namespace: "ANONYMOUS".into() }
    }
}
