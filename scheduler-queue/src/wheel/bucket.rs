//! What a slot of the wheel holds: entries in no order, in blocks, so that growth copies nothing.

use super::entry::Entry;
use super::work;

/// The entries of a block: with its link one block is just under 800 bytes.
pub(super) const BLOCK: usize = 32;

/// The number of vacant blocks that are kept.
const SPARE_MAX: usize = 128;

/// Entries as they came, some of them dead. There is one at least.
#[derive(Debug)]
pub(super) struct Bucket {
    /// INVARIANT: all blocks but this one are full, and none is empty.
    newest: Box<Block>,
    total: u32,
    live: u32,
}

#[derive(Debug)]
pub(super) struct Block {
    entries: [Entry; BLOCK],
    older: Option<Box<Block>>,
}

/// The vacant blocks, shared by all buckets.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// A chain of vacant blocks.
    spare: Option<Box<Block>>,
    count: usize,
}

impl Blocks {
    fn take(&mut self) -> Box<Block> {
        let Some(mut block) = self.spare.take() else {
            return Box::new(Block { entries: [Entry::VOID; BLOCK], older: None });
        };
        self.spare = block.older.take();
        self.count -= 1;
        block
    }

    fn recycle(&mut self, mut block: Box<Block>) {
        if self.count < SPARE_MAX {
            block.older = self.spare.take();
            self.spare = Some(block);
            self.count += 1;
        }
    }
}

impl Bucket {
    /// A bucket with one live entry.
    pub(super) fn new(entry: Entry, blocks: &mut Blocks) -> Self {
        work::note(1);
        let mut newest = blocks.take();
        newest.entries[0] = entry;
        Self { newest, total: 1, live: 1 }
    }

    /// Entries, dead ones included.
    pub(super) fn len(&self) -> usize {
        self.total as usize
    }

    pub(super) fn live(&self) -> usize {
        self.live as usize
    }

    /// Adds a live entry.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry, blocks: &mut Blocks) {
        work::note(1);
        let index = self.total as usize % BLOCK;
        if index == 0 {
            self.grow(blocks);
        }
        self.newest.entries[index] = entry;
        self.total += 1;
        self.live += 1;
    }

    #[inline(never)]
    fn grow(&mut self, blocks: &mut Blocks) {
        let older = std::mem::replace(&mut self.newest, blocks.take());
        self.newest.older = Some(older);
    }

    /// Counts one entry as dead.
    pub(super) fn note_dead(&mut self) {
        self.live -= 1;
    }

    /// Returns true if so many entries are dead that it pays to drop them.
    pub(super) fn is_mostly_dead(&self) -> bool {
        let dead = self.total - self.live;
        self.live == 0 || dead > self.live + BLOCK as u32
    }

    /// Passes all entries on in the order they came, dead ones included, and recycles their blocks one by one.
    pub(super) fn drain(self, blocks: &mut Blocks, mut take: impl FnMut(Entry, &mut Blocks)) {
        work::note(self.len());
        let mut left = self.len();
        let mut next = Some(oldest_first(self.newest));
        while let Some(mut block) = next {
            next = block.older.take();
            let filled = left.min(BLOCK);
            block.entries[..filled].iter().for_each(|entry| take(*entry, blocks));
            left -= filled;
            blocks.recycle(block);
        }
    }

    pub(super) fn for_each(&self, mut visit: impl FnMut(Entry)) {
        let mut filled = match self.len() % BLOCK {
            0 => BLOCK,
            rest => rest,
        };
        let mut next = Some(&self.newest);
        while let Some(block) = next {
            block.entries[..filled].iter().copied().for_each(&mut visit);
            filled = BLOCK;
            next = block.older.as_ref();
        }
    }
}

/// Reverses a chain of blocks.
fn oldest_first(newest: Box<Block>) -> Box<Block> {
    let mut first = newest;
    let mut next = first.older.take();
    while let Some(mut block) = next {
        next = block.older.replace(first);
        first = block;
    }
    first
}

/// Drops one block after the other: dropping the chain would recurse as deep as it is long.
impl Drop for Block {
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(mut block) = next {
            next = block.older.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u32, blocks: &mut Blocks) -> Bucket {
        let mut bucket = Bucket::new(Entry::sample(0, 0), blocks);
        (1..count).for_each(|sequence| bucket.push(Entry::sample(0, sequence), blocks));
        bucket
    }

    #[test]
    fn entries_leave_as_they_came() {
        let mut blocks = Blocks::default();
        for count in [1, 2, BLOCK as u32, BLOCK as u32 + 1, 1000] {
            let bucket = filled(count, &mut blocks);
            let mut visited = Vec::new();
            bucket.for_each(|entry| visited.push(entry.place.slot));
            let mut drained = Vec::new();
            bucket.drain(&mut blocks, |entry, _| drained.push(entry.place.slot));
            assert_eq!(drained, (0..count).collect::<Vec<_>>());
            visited.sort_unstable();
            assert_eq!(visited, drained);
        }
    }

    #[test]
    fn a_bucket_is_swept_when_most_of_it_is_dead() {
        let mut bucket = filled(100, &mut Blocks::default());
        (0..66).for_each(|_| bucket.note_dead());
        assert!(!bucket.is_mostly_dead());
        bucket.note_dead();
        assert!(bucket.is_mostly_dead());
        let mut single = filled(1, &mut Blocks::default());
        single.note_dead();
        assert!(single.is_mostly_dead());
    }

    #[test]
    fn blocks_are_used_again_and_few_are_kept() {
        let mut blocks = Blocks::default();
        filled(100 * BLOCK as u32, &mut blocks).drain(&mut blocks, |_, _| ());
        assert_eq!(blocks.count, 100);
        filled(200 * BLOCK as u32, &mut blocks).drain(&mut blocks, |_, _| ());
        assert_eq!(blocks.count, SPARE_MAX);
    }

    /// What was taken from among them makes room for as many to come back.
    #[test]
    fn blocks_that_went_and_came_again_are_still_kept() {
        let mut blocks = Blocks::default();
        for _ in 0..3 {
            let bucket = filled((SPARE_MAX * BLOCK) as u32, &mut blocks);
            assert!(blocks.spare.is_none());
            bucket.drain(&mut blocks, |_, _| ());
            let kept = std::iter::successors(blocks.spare.as_ref(), |block| block.older.as_ref());
            assert_eq!(kept.count(), SPARE_MAX);
        }
    }

    #[test]
    fn a_long_chain_is_dropped_without_a_deep_stack() {
        let bucket = filled(1 << 20, &mut Blocks::default());
        let thread = std::thread::Builder::new().stack_size(64 * 1024);
        thread.spawn(move || drop(bucket)).unwrap().join().unwrap();
    }
}
