//! What a slot of the wheel holds: entries in no order, in blocks, so that growth copies nothing.

use super::entry::Entry;

/// The entries of a block: with its link one block is just under 800 bytes.
const BLOCK: usize = 32;

/// Entries in no order, some of them dead.
#[derive(Debug, Default)]
pub(super) struct Bag {
    /// INVARIANT: all blocks but this one are full, and none is empty.
    newest: Option<Box<Block>>,
    total: u32,
    live: u32,
}

#[derive(Debug)]
struct Block {
    entries: [Entry; BLOCK],
    older: Option<Box<Block>>,
}

impl Bag {
    /// A bag with these entries, of which so many are live.
    pub(super) fn refill(entries: Vec<Entry>, live: usize) -> Self {
        let mut bag = Self::default();
        entries.into_iter().for_each(|entry| bag.push(entry));
        bag.live = live as u32;
        bag
    }

    /// Entries, dead ones included.
    pub(super) fn len(&self) -> usize {
        self.total as usize
    }

    pub(super) fn live(&self) -> usize {
        self.live as usize
    }

    /// Adds a live entry.
    pub(super) fn push(&mut self, entry: Entry) {
        let index = self.total as usize % BLOCK;
        if index == 0 {
            let older = self.newest.take();
            self.newest = Some(Box::new(Block { entries: [Entry::VOID; BLOCK], older }));
        }
        if let Some(block) = &mut self.newest {
            block.entries[index] = entry;
        }
        self.total += 1;
        self.live += 1;
    }

    /// Notes that the item of one entry has left.
    pub(super) fn bury(&mut self) {
        self.live -= 1;
    }

    /// Whether dead entries take so much room that it pays to drop them.
    pub(super) fn is_littered(&self) -> bool {
        let dead = self.total - self.live;
        dead > self.live / 2 + BLOCK as u32
    }

    /// Any entry, dead or not.
    pub(super) fn any(&self) -> Option<Entry> {
        self.newest.as_ref().map(|block| block.entries[0])
    }

    /// Hands all entries out, dead ones included, and gives their blocks back one by one.
    pub(super) fn drain(mut self, mut take: impl FnMut(Entry)) {
        let mut filled = self.filled();
        let mut next = self.newest.take();
        while let Some(mut block) = next {
            block.entries[..filled].iter().copied().for_each(&mut take);
            filled = BLOCK;
            next = block.older.take();
        }
    }

    pub(super) fn for_each(&self, mut visit: impl FnMut(Entry)) {
        let mut filled = self.filled();
        let mut next = self.newest.as_ref();
        while let Some(block) = next {
            block.entries[..filled].iter().copied().for_each(&mut visit);
            filled = BLOCK;
            next = block.older.as_ref();
        }
    }

    /// Entries of the newest block.
    fn filled(&self) -> usize {
        match self.total as usize % BLOCK {
            0 => BLOCK,
            rest => rest,
        }
    }
}

/// One block after the other: a chain would be dropped in a recursion as deep as it is long.
impl Drop for Bag {
    fn drop(&mut self) {
        let mut next = self.newest.take();
        while let Some(mut block) = next {
            next = block.older.take();
        }
    }
}
