//! What comes next, in exact order: a sorted run, and a small heap of what came after it was sorted.
//!
//! Everything with a key up to the *reach* is here, everything else is far. Both parts are bounded, so
//! whatever is done to all of them takes a bounded time. When the overflow is full, the reach is
//! lowered and what is beyond it becomes far again: so keys may come in falling order.

use std::collections::VecDeque;

use super::entry::Entry;
use super::overflow::Overflow;
use super::work;

/// Entries that are loaded at once at most: few, so that most of what comes is later than they.
pub(super) const LOAD_MAX: usize = 128;

/// Entries of the run at most.
const RUN_MAX: usize = 512;

/// What is left of both parts when too much has come late. Few, so that fewer come late henceforth.
const KEPT: usize = 16;

/// Overflow entries at most.
const OVERFLOW_MAX: usize = 64;

/// The first entries of a queue, some of them dead.
#[derive(Debug, Default)]
pub(super) struct Near {
    /// INVARIANT: sorted.
    run: VecDeque<Entry>,
    overflow: Overflow,
    /// INVARIANT: no entry here has a key beyond it, and every entry that is far has.
    reach: u128,
}

/// Which part has the first entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Run,
    Overflow,
}

impl Near {
    /// Returns true if an entry with this key has to be put in here, or may be.
    pub(super) fn admits(&self, rank: u128, is_nothing_far: bool) -> bool {
        rank <= self.reach || is_nothing_far && self.run.len() < RUN_MAX
    }

    /// Puts in an entry that was admitted. Returns true if so many came late that it is time
    /// for [`Near::spill`].
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        let rank = entry.rank();
        self.reach = self.reach.max(rank);
        let is_last = self.run.back().is_none_or(|last| last.rank() <= rank);
        if is_last && self.run.len() < RUN_MAX {
            self.run.push_back(entry);
        } else {
            self.overflow.push(entry);
        }
        self.overflow.len() >= OVERFLOW_MAX
    }

    /// The first entry, dead or not.
    pub(super) fn first(&self) -> Option<(Entry, Side)> {
        match (self.run.front(), self.overflow.first()) {
            (None, None) => None,
            (Some(run), None) => Some((*run, Side::Run)),
            (None, Some(late)) => Some((*late, Side::Overflow)),
            (Some(run), Some(late)) if late.rank() < run.rank() => Some((*late, Side::Overflow)),
            (Some(run), Some(_)) => Some((*run, Side::Run)),
        }
    }

    /// The entry after the first, dead or not. What is far is later than both, if there are two.
    pub(super) fn second(&self) -> Option<Entry> {
        let (run, late) = (self.run.front(), self.overflow.first());
        let second = match (run, late) {
            (Some(run), Some(late)) if late.rank() < run.rank() => {
                [self.overflow.second(), Some(run)]
            }
            _ => [self.run.get(1), late],
        };
        second.into_iter().flatten().min_by_key(|entry| entry.rank()).copied()
    }

    /// Takes the first entry out of the part that has it.
    pub(super) fn drop_first(&mut self, side: Side) {
        match side {
            Side::Run => drop(self.run.pop_front()),
            Side::Overflow => drop(self.overflow.pop()),
        }
    }

    /// Fills the empty near part with what was the first of the far one, sorted.
    pub(super) fn load(&mut self, entries: &[Entry]) {
        work::note(entries.len());
        self.run.extend(entries);
        self.reach = entries.last().map_or(self.reach, Entry::rank);
    }

    pub(super) fn len(&self) -> usize {
        self.run.len() + self.overflow.len()
    }

    /// Keeps the first few live entries as the run and gives the rest away.
    pub(super) fn spill(&mut self, is_live: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        work::note(self.len());
        let mut all: Vec<Entry> = self.overflow.drain().filter(&is_live).collect();
        all.sort_unstable_by_key(Entry::rank);
        all.splice(..0, self.run.drain(..).filter(&is_live));
        // Two sorted runs, which this sort finds and merges.
        all.sort_by_key(Entry::rank);
        let rest = all.split_off(all.len().min(KEPT));
        if let (Some(last), false) = (all.last(), rest.is_empty()) {
            self.reach = last.rank();
        }
        self.run.extend(all);
        rest
    }

    /// Keeps the entries for which `stays` holds.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(&Entry) -> bool) {
        self.run.retain(&mut stays);
        let late: Vec<Entry> = self.overflow.drain().filter(stays).collect();
        late.into_iter().for_each(|entry| self.overflow.push(entry));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.run.iter().chain(self.overflow.iter())
    }

    /// Forgets dead entries when no live one is left anywhere.
    pub(super) fn clear(&mut self) {
        self.run.clear();
        self.overflow.drain().for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop_all(near: &mut Near) -> Vec<u64> {
        let next = std::iter::from_fn(|| {
            let (entry, side) = near.first()?;
            let second = near.second();
            near.drop_first(side);
            let next = near.first().map(|(entry, _)| entry.rank());
            assert_eq!(second.map(|entry| entry.rank()), next);
            Some(entry.key.due)
        });
        next.collect()
    }

    #[test]
    fn the_run_and_what_came_late_are_one_order() {
        let mut near = Near::default();
        for (sequence, due) in (0..).zip([50, 60, 10, 70, 55, 0]) {
            assert!(near.admits(Entry::sample(due, sequence).rank(), true));
            assert!(!near.push(Entry::sample(due, sequence)));
        }
        assert_eq!(near.overflow.len(), 3);
        assert_eq!(near.second().map(|entry| entry.key.due), Some(10));
        assert_eq!(pop_all(&mut near), [0, 10, 50, 55, 60, 70]);
    }

    #[test]
    fn nothing_beyond_the_reach_is_admitted_while_something_is_far() {
        let mut near = Near::default();
        near.load(&[Entry::sample(5, 0), Entry::sample(9, 1)]);
        assert!(near.admits(Entry::sample(9, 1).rank(), false));
        assert!(!near.admits(Entry::sample(9, 2).rank(), false));
        assert!(near.admits(Entry::sample(9, 2).rank(), true));
    }

    #[test]
    fn too_many_late_entries_lower_the_reach() {
        let mut near = Near::default();
        let dues: Vec<u64> = (1000..).take(1 + OVERFLOW_MAX).collect();
        let answers = dues.iter().rev().map(|due| near.push(Entry::sample(*due, 0)));
        assert_eq!(answers.filter(|is_overfull| *is_overfull).count(), 1);
        let rest = near.spill(|entry| entry.key.due != 1001);
        assert_eq!(near.reach, Entry::sample(1000 + KEPT as u64, 0).rank());
        let rest: Vec<u64> = rest.iter().map(|entry| entry.key.due).collect();
        assert_eq!(rest, dues[1 + KEPT..]);
        assert_eq!(pop_all(&mut near).len(), KEPT);
    }
}
