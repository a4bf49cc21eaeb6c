//! Those who watch live: how many they are, and what waits for each.

use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// How many may watch at the same time.
pub(crate) const WATCHERS_MAX: usize = 32;
/// How many messages may wait for a watcher.
pub(crate) const MESSAGES_MAX: usize = 32;

/// All watchers.
#[derive(Debug, Default)]
pub(crate) struct Hub(Mutex<Watchers>);

#[derive(Debug, Default)]
pub(crate) struct Watchers {
    pub(crate) list: Vec<mpsc::Sender<Bytes>>,
    pub(crate) is_pumping: bool,
    /// Odd while an update is being made.
    pub(crate) updates: u64,
    dropped: u64,
}

impl Hub {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Watchers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many watch, and how many were dropped because they did not read.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let watchers = self.lock();
        let watching = watchers.list.iter().filter(|watcher| !watcher.is_closed()).count();
        (watching, watchers.dropped)
    }
}

impl Hub {
    /// Adds a watcher with its list; returns whether there is a pump. `None` if the list may be old.
    ///
    /// RACE: an update that was made meanwhile may be older than the list, and must not come behind it.
    pub(crate) fn begin(
        &self,
        sender: &mpsc::Sender<Bytes>,
        list: Bytes,
        (updates, is_last): (u64, bool),
    ) -> Option<bool> {
        let mut watchers = self.lock();
        if !is_last && (watchers.updates != updates || updates % 2 != 0) {
            return None;
        }
        // The channel is empty.
        drop(sender.try_send(list));
        watchers.list.push(sender.clone());
        Some(std::mem::replace(&mut watchers.is_pumping, true))
    }
}

impl Watchers {
    pub(crate) fn send(&mut self, message: &Bytes) {
        self.list.retain(|watcher| match watcher.try_send(message.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.dropped += 1;
                false
            }
            Err(TrySendError::Closed(_)) => false,
        });
    }

    pub(crate) fn is_full(&mut self) -> bool {
        self.list.retain(|watcher| !watcher.is_closed());
        self.list.len() >= WATCHERS_MAX
    }
}
