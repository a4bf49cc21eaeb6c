//! What the lock of a pool guards, and what a step has asked for.

use std::sync::Arc;

use super::core::Core;
use super::entry::Entry;
use super::item::AnyItem;
use super::post::Post;
use super::roster::WorkerNumber;
use super::staging::MayStage;
use super::staging::Staged;
use super::step::Effects;
use super::step::Rare;

pub(super) struct Locked {
    pub(super) core: Core<AnyItem>,
    /// The post of each worker; entered before its thread is started.
    pub(super) posts: Vec<(WorkerNumber, Arc<Post>)>,
    /// What submitters know of [`Core::may_stage`].
    pub(super) may_stage: MayStage,
    /// What the next step begins with: between steps nothing, and room for what is staged.
    pub(super) staged: Staged<Entry<AnyItem>>,
}

/// What is to be done after a step, without the lock.
pub(super) struct Later {
    pub(super) wake: Vec<Arc<Post>>,
    pub(super) rare: Option<Box<Rare<AnyItem>>>,
    pub(super) interrupted: Vec<(Arc<Post>, u64)>,
    pub(super) release: Vec<AnyItem>,
}

impl Later {
    /// The post of a worker to wake, if there is nothing else to be done.
    pub(super) fn into_only_post(mut self) -> Result<Arc<Post>, Box<Self>> {
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
        Self { core, posts: Vec::new(), may_stage: MayStage::default(), staged: Staged::new() }
    }

    /// What a step asks for, so that it can be done without the lock.
    pub(super) fn prepare(&mut self, mut effects: Effects<AnyItem>) -> Later {
        let rare = effects.take_rare();
        for worker in rare.iter().flat_map(|rare| &rare.start) {
            if let Some(turn) = self.core.roster.turn(*worker) {
                self.posts.push((*worker, Arc::new(Post::new(Arc::clone(turn)))));
            }
        }
        let wake = effects.wake.iter().filter_map(|worker| self.post(*worker).cloned()).collect();
        let interrupted = rare.iter().flat_map(|rare| &rare.interrupt);
        let interrupted = interrupted
            .filter_map(|(worker, number)| Some((Arc::clone(self.post(*worker)?), *number)))
            .collect();
        Later { wake, rare, interrupted, release: effects.release }
    }

    pub(super) fn post(&self, worker: WorkerNumber) -> Option<&Arc<Post>> {
        self.posts.iter().find(|(number, _)| *number == worker).map(|(_, post)| post)
    }
}
