//! Who runs under which name: of tasks that are there, and of runs that outlive theirs.
//!
//! A task that was removed during a run, and the one that has its name now, are one to whoever looks at
//! metrics: their runs are counted together, and the end of the first one is not that of the second.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::RwLock;
use std::sync::RwLockReadGuard;
use std::sync::RwLockWriteGuard;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::sync::atomic::fence;

use crate::observe::TaskFacts;

/// All names of which there is a task, or a run in progress: others are not kept, as a program may make
/// up ever new ones.
#[derive(Debug, Default)]
pub(super) struct Roster(RwLock<HashMap<Arc<str>, Known>>);

#[derive(Clone, Debug)]
struct Known {
    /// The name as its events have it, by which it is told from a removed one; none when it has ended.
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

impl Roster {
    pub(super) fn added(&self, task: &TaskFacts) -> Arc<Running> {
        let (name, function) = (&task.name, Function::of(task));
        let mut tasks = self.write();
        let known = tasks.entry(Arc::clone(name)).or_insert_with(|| Known::unknown(name));
        (known.present, known.function) = (Some(Arc::clone(name)), function);
        Arc::clone(&known.running)
    }

    /// Takes note that a run begins.
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

    /// Takes note of the end of a run, and says what function it was of, if that is known.
    pub(super) fn end(&self, task: &Arc<str>) -> Option<(Function, Arc<Running>)> {
        let tasks = self.read();
        let known = tasks.get(task)?;
        // RACE: under the lock, so that whoever takes note of the end of the task finds it done.
        known.running.end();
        let Known { present, function, running } = known.clone();
        drop(tasks);
        if present.is_none() {
            forget_if_over(&mut self.write(), task);
        }
        Some((function, running))
    }

    /// Takes note of the end of a task, and says whether there is no other one of its name.
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
    // ORDERING: sequentially consistent, as `show` reads what others have written before it looks again.
    fn begin(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self) {
        // A run that began before anybody counted is not below nothing.
        let less = |count: usize| count.checked_sub(1);
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Has it shown how many there are.
    ///
    /// RACE: of two that show at the same time, the last may know less; so each looks again.
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
