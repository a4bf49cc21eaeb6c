//! What the lock of a pool guards, and what a step has asked for.

use std::sync::Arc;

use super::core::Core;
use super::entry::{AnyItem, Entry};
use super::shared_worker::SharedWorker;
use super::staging::{MayStage, Staged};
use super::step::{Effects, Rare};
use super::workers::WorkerNumber;

pub(super) struct Locked {
    pub(super) core: Core<AnyItem>,
    /// What is shared with each worker; entered before its thread is started.
    pub(super) shared_workers: Vec<(WorkerNumber, Arc<SharedWorker>)>,
    /// What submitters know of [`Core::may_stage`].
    pub(super) may_stage: MayStage,
    /// What the next step begins with: between steps nothing, and room for what is staged.
    pub(super) staged: Staged<Entry<AnyItem>>,
}

/// What is to be done after a step, without the lock.
pub(super) struct Later {
    pub(super) wake: Vec<Arc<SharedWorker>>,
    pub(super) rare: Option<Box<Rare<AnyItem>>>,
    pub(super) interrupted: Vec<(Arc<SharedWorker>, u64)>,
    pub(super) release: Vec<AnyItem>,
}

impl Later {
    /// The worker to wake, if there is nothing else to be done.
    pub(super) fn into_only_worker(mut self) -> Result<Arc<SharedWorker>, Box<Self>> {
        let is_only = self.rare.is_none() && self.release.is_empty() && self.wake.len() == 1;
        let only = if is_only { self.wake.pop() } else { None };
        only.ok_or_else(|| Box::new(self))
    }
}

/// How the starts of workers went that a step asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts {
    pub(super) started: u32,
    pub(super) refused: u32,
}

impl Locked {
    pub(super) fn new(core: Core<AnyItem>) -> Self {
        Self {
            core,
            shared_workers: Vec::new(),
            may_stage: MayStage::default(),
            staged: Staged::new(),
        }
    }

    /// What a step asks for, so that it can be done without the lock.
    pub(super) fn prepare(&mut self, mut effects: Effects<AnyItem>) -> Later {
        let rare = effects.take_rare();
        for worker in rare.iter().flat_map(|rare| &rare.start) {
            if let Some(activity) = self.core.workers.activity(*worker) {
                self.shared_workers
                    .push((*worker, Arc::new(SharedWorker::new(Arc::clone(activity)))));
            }
        }
        let wake =
            effects.wake.iter().filter_map(|worker| self.shared_worker(*worker).cloned()).collect();
        let interrupted = rare.iter().flat_map(|rare| &rare.interrupt);
        let interrupted = interrupted
            .filter_map(|(worker, number)| {
                Some((Arc::clone(self.shared_worker(*worker)?), *number))
            })
            .collect();
        Later { wake, rare, interrupted, release: effects.release }
    }

    pub(super) fn shared_worker(&self, worker: WorkerNumber) -> Option<&Arc<SharedWorker>> {
        self.shared_workers.iter().find(|(number, _)| *number == worker).map(|(_, shared)| shared)
    }
}
