//! The cron rules in use, shared by tasks with the same expression.
//!
//! An expression takes more time to read, and more memory, than everything else of a task, and of very many
//! tasks few have one of their own.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use scheduler_core::trigger::{CronTrigger, Zone};

use crate::base::sync::Mutex;

/// All rules that some task has, by the texts they were made of.
#[derive(Debug, Default)]
pub(crate) struct Crons(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    rules: HashMap<Texts, (Weak<CronTrigger>, Arc<str>)>,
    /// The length at which rules that no task has any more are swept out.
    limit: usize,
}

/// The expression, its zone and its policies for changes of the clock, and the default zone.
pub(super) type Texts = ([Option<Box<str>>; 4], Zone);

/// A rule and its text.
pub(super) type Cron = (Arc<CronTrigger>, Arc<str>);

impl Crons {
    pub(super) fn get(&self, texts: &Texts) -> Option<Cron> {
        let known = self.0.lock();
        let (trigger, text) = known.rules.get(texts)?;
        Some((trigger.upgrade()?, Arc::clone(text)))
    }

    pub(super) fn insert(&self, texts: Texts, (trigger, text): &Cron) {
        let mut known = self.0.lock();
        if known.rules.len() >= known.limit {
            known.rules.retain(|_, (trigger, _)| trigger.strong_count() > 0);
            known.limit = 16 + 2 * known.rules.len();
        }
        known.rules.insert(texts, (Arc::downgrade(trigger), Arc::clone(text)));
    }
}
