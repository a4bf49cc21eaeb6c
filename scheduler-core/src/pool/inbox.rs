//! Where submitters put tasks that nobody has to hurry for, without the lock of the pool.
//!
//! Most submissions change nothing that anybody is to be told: all workers are there, and one of them
//! looks at the queue before the task is due. The core says so beforehand, as its *patience*: the
//! earliest due time that it need not hear of at once. What is due no earlier is *staged* here, behind
//! a lock that is held for as long as it takes to append to a list. Whoever next takes a step of
//! the core, for whatever reason, puts what is staged into the queue before; so a task whose
//! submission has returned is seen by every later step.
//!
//! INVARIANT: what is staged is due no earlier than the patience that stands here. The core's changes
//! only under this lock, and who changes it takes out what is staged, so nothing is left behind that
//! was staged under a greater one.

use std::mem;

use super::shutdown::Kind;
use crate::sync::AtomicBool;
use crate::sync::Mutex;
use crate::sync::Ordering;
use crate::time::Tick;

/// After so many staged tasks their submitter puts them into the queue, so that they take little room
/// while the workers sleep for long, and so that submitters wait where others have to.
const MANY: usize = 64;

/// A task on its way into the queue.
#[derive(Debug)]
pub(super) struct Letter<I> {
    pub(super) item: I,
    pub(super) kind: Kind,
    pub(super) due: Tick,
}

/// Tasks that are not in the queue yet.
#[derive(Debug)]
pub(super) struct Inbox<I> {
    staged: Mutex<Staged<I>>,
    /// Whether anything is staged; changed under the lock only.
    is_filled: AtomicBool,
}

#[derive(Debug)]
struct Staged<I> {
    letters: Vec<Letter<I>>,
    /// The earliest due time that may be staged; none while everything has to be told to the core.
    patience: Option<Tick>,
}

impl<I> Inbox<I> {
    pub(super) fn new() -> Self {
        let staged = Mutex::new(Staged { letters: Vec::new(), patience: None });
        Self { staged, is_filled: AtomicBool::new(false) }
    }

    /// Takes a task in, or hands it back because the core has to hear of it. The answer says whether
    /// it is time to put what is staged into the queue.
    pub(super) fn stage(&self, letter: Letter<I>) -> Result<bool, Letter<I>> {
        let mut staged = self.staged.lock();
        if staged.patience.is_none_or(|patience| letter.due < patience) {
            return Err(letter);
        }
        staged.letters.push(letter);
        let count = staged.letters.len();
        if count == 1 {
            // ORDERING: release, so that who comes after this submission sees the flag, and then the lock
            // shows what is staged. Only the first of many sets it: the others find it set.
            self.is_filled.store(true, Ordering::Release);
        }
        Ok(count >= MANY)
    }

    /// Takes out what is staged, in exchange for an empty list.
    pub(super) fn take(&self, room: Vec<Letter<I>>) -> Vec<Letter<I>> {
        // ORDERING: acquire, see `stage`.
        if !self.is_filled.load(Ordering::Acquire) {
            return room;
        }
        let mut staged = self.staged.lock();
        self.is_filled.store(false, Ordering::Release);
        mem::replace(&mut staged.letters, room)
    }

    /// Changes the patience, and takes out what was staged under the one before.
    pub(super) fn renew(&self, patience: Option<Tick>, room: Vec<Letter<I>>) -> Vec<Letter<I>> {
        let mut staged = self.staged.lock();
        staged.patience = patience;
        if staged.letters.is_empty() {
            return room;
        }
        self.is_filled.store(false, Ordering::Release);
        mem::replace(&mut staged.letters, room)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn letter(item: u8, due: u64) -> Letter<u8> {
        Letter { item, kind: Kind::OneShot, due: Tick::from_nanos(due) }
    }

    fn items(letters: &[Letter<u8>]) -> Vec<u8> {
        letters.iter().map(|letter| letter.item).collect()
    }

    #[test]
    fn only_what_the_core_can_wait_for_is_staged() {
        let inbox = Inbox::new();
        assert_eq!(inbox.stage(letter(1, 5)).unwrap_err().item, 1);
        assert_eq!(items(&inbox.renew(Some(Tick::from_nanos(5)), Vec::new())), []);
        assert_eq!(inbox.stage(letter(2, 5)).ok(), Some(false));
        assert_eq!(inbox.stage(letter(3, 4)).unwrap_err().item, 3);
        assert_eq!(inbox.stage(letter(4, 9)).ok(), Some(false));
        assert_eq!(items(&inbox.take(Vec::new())), [2, 4]);
        assert_eq!(items(&inbox.take(Vec::new())), []);
    }

    #[test]
    fn who_changes_the_patience_gets_what_was_staged_before() {
        let inbox = Inbox::new();
        inbox.renew(Some(Tick::ZERO), Vec::new());
        assert_eq!(inbox.stage(letter(1, 0)).ok(), Some(false));
        assert_eq!(items(&inbox.renew(None, Vec::new())), [1]);
        assert_eq!(items(&inbox.take(Vec::new())), []);
        assert!(inbox.stage(letter(2, 0)).is_err());
    }

    #[test]
    fn a_full_inbox_says_so() {
        let inbox = Inbox::new();
        inbox.renew(Some(Tick::ZERO), Vec::new());
        let answers: Vec<bool> = (0..MANY).map(|_| inbox.stage(letter(0, 0)).unwrap()).collect();
        assert_eq!(answers.iter().filter(|is_full| **is_full).count(), 1);
        assert!(answers[MANY - 1]);
    }
}
