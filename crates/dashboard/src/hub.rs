//! Those who watch live: how many they are, and what waits for each; and the last updates, for those who come again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// The greatest number of watchers.
pub(crate) const WATCHERS_MAX: usize = 32;
/// The greatest number of messages that may wait for a watcher.
pub(crate) const MESSAGES_MAX: usize = 32;
/// The number of updates that are kept for clients that reconnect, and their greatest size in bytes.
const UPDATES_MAX: usize = 1_000;
const UPDATE_BYTES_MAX: usize = 1 << 20;

/// All watchers.
#[derive(Debug)]
pub(crate) struct Hub(Mutex<Watchers>);

#[derive(Debug)]
pub(crate) struct Watchers {
    /// The oldest first.
    pub(crate) list: Vec<Watcher>,
    pub(crate) is_pumping: bool,
    /// Odd while an update is being made.
    pub(crate) updates: u64,
    dropped: u64,
    log: UpdateLog,
}

/// A client that watches.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    pub(crate) sender: mpsc::Sender<Bytes>,
    /// The name of its visitor.
    pub(crate) visitor: Arc<str>,
}

/// The last updates. Each has a number, and those before the first one that is kept are lost.
#[derive(Debug)]
struct UpdateLog {
    /// Unique among dashboards.
    dashboard: i64,
    /// The number of the pump: while there is none, changes are lost.
    pump: u64,
    updates: VecDeque<Bytes>,
    bytes: usize,
    /// The number of the last update.
    last: u64,
}

impl UpdateLog {
    fn new(dashboard: i64, pump: u64) -> Self {
        Self { dashboard, pump, updates: VecDeque::new(), bytes: 0, last: 0 }
    }

    /// Gives an update its identity, and keeps it.
    fn add(&mut self, update: &Bytes) -> Bytes {
        self.last += 1;
        let update = Bytes::from([self.id().as_ref(), update.as_ref()].concat());
        self.bytes += update.len();
        self.updates.push_back(update.clone());
        while self.updates.len() > UPDATES_MAX || self.bytes > UPDATE_BYTES_MAX {
            let Some(oldest) = self.updates.pop_front() else { break };
            self.bytes -= oldest.len();
        }
        update
    }

    /// The line with the identity of the last update.
    fn id(&self) -> Bytes {
        Bytes::from(format!("id: {:x}-{}-{}\n", self.dashboard, self.pump, self.last))
    }

    /// The updates after the one with this identity; `None` if some of them are lost.
    fn after(&self, id: &str) -> Option<Bytes> {
        let (series, number) = id.rsplit_once('-')?;
        let missed = self.last.checked_sub(number.parse().ok()?)?;
        let first = self.updates.len().checked_sub(usize::try_from(missed).ok()?)?;
        let is_same = series == format!("{:x}-{}", self.dashboard, self.pump);
        is_same.then(|| self.updates.range(first..).flatten().copied().collect())
    }
}

impl Hub {
    /// A hub without watchers. The number is unique among dashboards.
    pub(crate) fn new(number: i64) -> Self {
        let log = UpdateLog::new(number, 0);
        let list = Vec::new();
        Self(Mutex::new(Watchers { list, is_pumping: false, updates: 0, dropped: 0, log }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Watchers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of watchers, and the number of those that were dropped because they did not read.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let watchers = self.lock();
        let watching = watchers.list.iter().filter(|watcher| !watcher.sender.is_closed()).count();
        (watching, watchers.dropped)
    }

    /// Adds a watcher with its list; returns whether there is a pump. `None` if the list may be old.
    ///
    /// RACE: an update that was made meanwhile may be older than the list, and must not come behind it.
    pub(crate) fn begin(
        &self,
        watcher: &Watcher,
        list: Bytes,
        (updates, is_last): (u64, bool),
    ) -> Option<bool> {
        let mut watchers = self.lock();
        if !is_last && (watchers.updates != updates || updates % 2 != 0) {
            return None;
        }
        let was_pumping = std::mem::replace(&mut watchers.is_pumping, true);
        if !was_pumping {
            watchers.log = UpdateLog::new(watchers.log.dashboard, watchers.log.pump + 1);
        }
        // The channel is empty.
        drop(watcher.sender.try_send(watchers.log.id()));
        drop(watcher.sender.try_send(list));
        watchers.list.push(watcher.clone());
        Some(was_pumping)
    }

    /// Adds a watcher that comes again, with all that it has missed since the update with this identity. Returns false if
    /// some of that is lost.
    pub(crate) fn go_on(&self, watcher: &Watcher, id: &str) -> bool {
        let mut watchers = self.lock();
        let missed = watchers.log.after(id).filter(|_| watchers.is_pumping);
        let Some(missed) = missed else { return false };
        drop(watcher.sender.try_send(missed));
        watchers.list.push(watcher.clone());
        true
    }
}

impl Watchers {
    /// Sends an update to all, and keeps it.
    pub(crate) fn send_update(&mut self, update: &Bytes) {
        let update = self.log.add(update);
        self.send(&update);
    }

    pub(crate) fn send(&mut self, message: &Bytes) {
        self.list.retain(|watcher| match watcher.sender.try_send(message.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.dropped += 1;
                false
            }
            Err(TrySendError::Closed(_)) => false,
        });
    }

    /// Returns true if a visitor may have one more stream. If there are as many as there may be, the visitor with the most
    /// loses the oldest, unless that would only change who has the most.
    pub(crate) fn make_room(&mut self, visitor: &str) -> bool {
        self.list.retain(|watcher| !watcher.sender.is_closed());
        if self.list.len() < WATCHERS_MAX {
            return true;
        }
        let mut counts = HashMap::<&str, usize>::new();
        for watcher in &self.list {
            *counts.entry(&watcher.visitor).or_default() += 1;
        }
        let own = counts.get(visitor).copied().unwrap_or(0);
        let most = counts.values().copied().max().unwrap_or(0);
        let has_most = |watcher: &Watcher| counts.get(&*watcher.visitor) == Some(&most);
        let oldest = self.list.iter().position(has_most).filter(|_| most > own + 1);
        oldest.map(|index| self.list.remove(index)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(updates: u64, length: usize) -> UpdateLog {
        let mut log = UpdateLog::new(10, 1);
        (0..updates).for_each(|_| drop(log.add(&Bytes::from("x".repeat(length)))));
        log
    }

    fn missed(log: &UpdateLog, id: &str) -> Option<String> {
        log.after(id).map(|missed| String::from_utf8_lossy(&missed).into_owned())
    }

    #[test]
    fn who_comes_again_gets_what_it_missed_or_hears_that_it_is_lost() {
        let all = log(3, 1);
        assert_eq!(missed(&all, "a-1-3").as_deref(), Some(""));
        assert_eq!(missed(&all, "a-1-1").as_deref(), Some("id: a-1-2\nxid: a-1-3\nx"));
        assert_eq!(missed(&all, "a-1-0").map(|text| text.len()), Some(3 * 11));
        for lost in ["a-1-4", "a-0-3", "b-1-3", "a-1", "", "-3", "3", "a-1--1"] {
            assert_eq!(missed(&all, lost), None, "{lost}");
        }
    }

    #[test]
    fn a_visitor_with_many_streams_makes_room_for_one_with_fewer() {
        let hub = Hub::new(1);
        let mut watchers = hub.lock();
        let mut kept = Vec::new();
        let mut come = |watchers: &mut Watchers, visitor: &str| {
            let is_let_in = watchers.make_room(visitor);
            if is_let_in {
                let (sender, receiver) = mpsc::channel(1);
                watchers.list.push(Watcher { sender, visitor: visitor.into() });
                kept.push(receiver);
            }
            is_let_in
        };
        let count = |watchers: &Watchers, visitor: &str| {
            watchers.list.iter().filter(|watcher| &*watcher.visitor == visitor).count()
        };
        assert!((0..WATCHERS_MAX).all(|_| come(&mut watchers, "wall")));
        assert!(!come(&mut watchers, "wall"), "a visitor does not take a stream of his own");
        assert!((0..WATCHERS_MAX / 2).all(|_| come(&mut watchers, "ops")));
        assert_eq!((count(&watchers, "wall"), count(&watchers, "ops")), (16, 16));
        assert!(!come(&mut watchers, "ops") && !come(&mut watchers, "wall"), "both have a half");
        assert!(come(&mut watchers, "third"));
        assert_eq!(watchers.list.len(), WATCHERS_MAX);
    }

    #[test]
    fn the_records_are_bounded_in_number_and_in_bytes() {
        let many = log(1_100, 1);
        assert_eq!(many.updates.len(), UPDATES_MAX);
        assert!(missed(&many, "a-1-100").is_some() && missed(&many, "a-1-99").is_none());
        let large = log(5, UPDATE_BYTES_MAX / 2);
        assert!(large.bytes <= UPDATE_BYTES_MAX && large.updates.len() == 1, "{}", large.bytes);
        assert_eq!(large.bytes, large.updates.iter().map(Bytes::len).sum::<usize>());
    }
}
