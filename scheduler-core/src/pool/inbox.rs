//! Where submitters put tasks that nobody has to hurry for, and cancellers what is to leave the queue,
//! without the lock of the pool.
//!
//! Most submissions change nothing that anybody is to be told: all workers are there, and one of them
//! looks at the queue before the task is due; or none waits, and each looks when it is through with what
//! is due. The core says so beforehand, as
//! its *patience*: the earliest due time that it need not hear of at once. What is due no earlier is
//! *staged* here, behind a lock that is held for as long as it takes to append to a list. Most removals
//! change nothing either, while the pool runs and no worker waits for it to be empty. The next thread that
//! takes a step of the core first puts all that is staged into the queue; so a task whose submission
//! has returned is seen by every later step, and a cancelled one by none.
//!
//! INVARIANT: what is staged is what the calm that stands here allows. The core's changes
//! only under this lock, and who changes it takes out what is staged, so nothing is left behind that
//! was staged under a greater one.
//!
//! A worker that takes what is due from the line (see `ready`) does not come by here. So while there is
//! more to do than workers can, they do not meet submitters at all.

use std::mem;
use std::time::Duration;

use super::agenda::Newcomer;
use super::agenda::Place;
use super::entry::Entry;
use super::shutdown::Kind;
use crate::sync::AtomicBool;
use crate::sync::Mutex;
use crate::sync::Ordering;
use crate::sync::planted;
use crate::time::Tick;

/// After so many staged tasks their submitter puts them into the queue, so that they take little room
/// while the workers sleep for long, and so that submitters wait where others have to. As many removals
/// at once are cheaper than one by one: what they wait for in memory comes at the same time.
const MANY: usize = 64;

/// The most room that is kept for later.
const ROOM_MAX: usize = 1024;

/// A task on its way into the queue.
#[derive(Debug)]
pub(super) struct Letter<I> {
    pub(super) item: I,
    pub(super) sequence: u64,
    pub(super) kind: Kind,
    pub(super) due: Tick,
    /// Whether it was due when it was submitted.
    pub(super) is_due: bool,
}

impl<I> Letter<I> {
    /// What is to be put into the queue.
    #[inline]
    pub(super) fn into_newcomer(self) -> Newcomer<Entry<I>> {
        let Self { item, sequence, kind, due, is_due } = self;
        debug_assert!(kind != Kind::Alarm, "a pool's own alarms do not come by the inbox");
        Newcomer { due, sequence, item: Entry { kind, item }, is_due }
    }
}

/// What the core need not hear of at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Calm {
    /// The earliest due time of a task that may be staged; none while everything has to be told.
    pub(super) patience: Option<Tick>,
    /// Whether removals may be staged.
    pub(super) lets_go: bool,
}

/// What is staged.
#[derive(Debug)]
pub(super) struct Mail<I> {
    pub(super) letters: Vec<Letter<I>>,
    /// Where those stand that have ended and are to leave the pool.
    pub(super) withdrawals: Vec<Place>,
}

impl<I> Mail<I> {
    pub(super) const fn new() -> Self {
        Self { letters: Vec::new(), withdrawals: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.withdrawals.is_empty()
    }

    /// Room for what comes next: that of emptied lists, unless they are large.
    pub(super) fn trim(&mut self) {
        if self.letters.capacity() > ROOM_MAX {
            self.letters = Vec::new();
        }
        if self.withdrawals.capacity() > ROOM_MAX {
            self.withdrawals = Vec::new();
        }
    }
}

/// Tasks that are not in the queue yet, and such that are to leave it.
#[derive(Debug)]
pub(super) struct Inbox<I> {
    staged: Mutex<Staged<I>>,
    /// Whether anything is staged; changed under the lock only.
    is_filled: AtomicBool,
}

#[derive(Debug)]
struct Staged<I> {
    mail: Mail<I>,
    calm: Calm,
}

impl<I> Inbox<I> {
    pub(super) fn new() -> Self {
        let staged = Staged { mail: Mail::new(), calm: Calm::default() };
        Self { staged: Mutex::new(staged), is_filled: AtomicBool::new(false) }
    }

    /// Takes a task in, or hands it back because the core has to hear of it: nobody looks within this grace after it
    /// is due. The answer says whether it is time to put what is staged into the queue.
    #[inline]
    pub(super) fn stage(
        &self,
        letter: Letter<I>,
        grace: impl FnOnce() -> Duration,
    ) -> Result<bool, I> {
        let mut staged = self.staged.lock();
        let is_too_early = |patience| letter.due < patience && letter.due + grace() < patience;
        if staged.calm.patience.is_none_or(is_too_early) {
            return Err(letter.item);
        }
        staged.mail.letters.push(letter);
        self.announce(&staged.mail);
        Ok(staged.mail.letters.len() >= MANY)
    }

    /// Takes note of a removal, and says whether it is time to see to what is staged; none where the core
    /// has to hear of it.
    pub(super) fn stage_withdrawal(&self, withdrawal: Place) -> Option<bool> {
        let mut staged = self.staged.lock();
        if !staged.calm.lets_go {
            return None;
        }
        staged.mail.withdrawals.push(withdrawal);
        self.announce(&staged.mail);
        Some(staged.mail.withdrawals.len() >= MANY)
    }

    fn announce(&self, mail: &Mail<I>) {
        if mail.letters.len() + mail.withdrawals.len() == 1 {
            // ORDERING: release, so that who comes after this submission sees the flag, and then the lock
            // shows what is staged. Only the first of many sets it: the others find it set.
            self.is_filled.store(true, Ordering::Release);
        }
    }

    /// Takes out what is staged, in exchange for empty lists.
    pub(super) fn take(&self, room: &mut Mail<I>) {
        // ORDERING: acquire, see `announce`.
        if !self.is_filled.load(Ordering::Acquire) {
            return;
        }
        let mut staged = self.staged.lock();
        mem::swap(&mut staged.mail, room);
        if planted("L11 flag") {
            drop(staged);
        }
        self.is_filled.store(false, Ordering::Release);
    }

    /// Changes the calm, and takes out what was staged under the one before, in exchange for empty lists.
    pub(super) fn renew(&self, calm: Calm, room: &mut Mail<I>) {
        let mut staged = self.staged.lock();
        staged.calm = calm;
        if !staged.mail.is_empty() && !planted("L11") {
            self.is_filled.store(false, Ordering::Release);
            mem::swap(&mut staged.mail, room);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use scheduler_queue::Key;
    use scheduler_queue::Ticket;

    fn stage(inbox: &Inbox<u8>, item: u8, due: u64) -> Result<bool, u8> {
        let due = Tick::from_nanos(due);
        let sequence = u64::from(item);
        let letter = Letter { item, sequence, kind: Kind::OneShot, due, is_due: false };
        inbox.stage(letter, || Duration::ZERO)
    }

    fn withdrawal(sequence: u64) -> Place {
        Place { ticket: Ticket::NONE, key: Key { due: 0, sequence } }
    }

    fn patient_until(due: u64) -> Calm {
        Calm { patience: Some(Tick::from_nanos(due)), lets_go: true }
    }

    fn taken(inbox: &Inbox<u8>) -> (Vec<u8>, Vec<u64>) {
        let mut mail = Mail::new();
        inbox.take(&mut mail);
        contents(&mail)
    }

    fn renewed(inbox: &Inbox<u8>, calm: Calm) -> (Vec<u8>, Vec<u64>) {
        let mut mail = Mail::new();
        inbox.renew(calm, &mut mail);
        contents(&mail)
    }

    fn contents(mail: &Mail<u8>) -> (Vec<u8>, Vec<u64>) {
        let letters = mail.letters.iter().map(|letter| letter.item).collect();
        (letters, mail.withdrawals.iter().map(|withdrawal| withdrawal.key.sequence).collect())
    }

    #[test]
    fn only_what_the_core_can_wait_for_is_staged() {
        let inbox = Inbox::new();
        assert_eq!(stage(&inbox, 1, 5), Err(1));
        assert_eq!(inbox.stage_withdrawal(withdrawal(1)), None);
        assert_eq!(renewed(&inbox, patient_until(5)), (vec![], vec![]));
        assert_eq!(stage(&inbox, 2, 5), Ok(false));
        assert_eq!(stage(&inbox, 3, 4), Err(3));
        assert_eq!(stage(&inbox, 4, 9), Ok(false));
        assert_eq!(inbox.stage_withdrawal(withdrawal(7)), Some(false));
        assert_eq!(taken(&inbox), (vec![2, 4], vec![7]));
        assert_eq!(taken(&inbox), (vec![], vec![]));
    }

    #[test]
    fn who_changes_the_calm_gets_what_was_staged_before() {
        let inbox = Inbox::new();
        renewed(&inbox, patient_until(0));
        assert_eq!(inbox.stage_withdrawal(withdrawal(7)), Some(false));
        assert_eq!(stage(&inbox, 1, 0), Ok(false));
        assert_eq!(renewed(&inbox, Calm::default()), (vec![1], vec![7]));
        assert_eq!(taken(&inbox), (vec![], vec![]));
        assert_eq!(stage(&inbox, 2, 0), Err(2));
        assert_eq!(inbox.stage_withdrawal(withdrawal(8)), None);
    }

    #[test]
    fn a_full_inbox_says_so() {
        let inbox = Inbox::new();
        renewed(&inbox, patient_until(0));
        let answers: Vec<bool> = (0..MANY).map(|_| stage(&inbox, 0, 0).unwrap()).collect();
        assert_eq!(answers.iter().filter(|is_full| **is_full).count(), 1);
        assert!(answers[MANY - 1]);
        let answers = (0..MANY as u64).map(|number| inbox.stage_withdrawal(withdrawal(number)));
        assert_eq!(answers.filter(|is_full| *is_full == Some(true)).count(), 1);
    }

    #[test]
    fn the_room_of_large_lists_is_given_back() {
        for (room, kept) in [(ROOM_MAX, ROOM_MAX), (ROOM_MAX + 1, 0)] {
            let (letters, withdrawals) = (Vec::with_capacity(room), Vec::with_capacity(room));
            let mut mail: Mail<u8> = Mail { letters, withdrawals };
            mail.trim();
            assert_eq!((mail.letters.capacity(), mail.withdrawals.capacity()), (kept, kept));
        }
    }
}
