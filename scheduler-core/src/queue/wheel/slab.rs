//! Where things lie that never move: addressed by slot number and generation.
//!
//! Slots come in chunks, so that growth never copies what is there already, and a chunk whose slots
//! are all vacant is given back. The slot that was vacated last is the first to be taken again: it is
//! still in the cache.

/// The slots of a chunk.
const CHUNK: usize = 1024;

/// The generations of a slot: they take 31 bits of a ticket.
const GENERATIONS: u32 = 1 << 31;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Chunk<T>>,
    /// The first chunk with a vacant slot; such chunks are linked in both directions.
    open: u32,
    /// A chunk with no item that is kept, so that coming and going at its border costs nothing.
    spare: u32,
    /// Chunks that were given back.
    absent: Vec<u32>,
}

#[derive(Debug)]
struct Chunk<T> {
    slots: Vec<Slot<T>>,
    /// The vacant slot to take next, of those that have held an item.
    vacant: u32,
    /// Slots that hold an item, or are worn out.
    taken: u32,
    /// INVARIANT: not below the generation of any of its slots, now or before it was given back. So
    /// no generation of a slot comes twice.
    newest: u32,
    previous: u32,
    next: u32,
}

#[derive(Debug)]
struct Slot<T> {
    /// Counts the items this slot has held, so that what spoke of an old item does not fit a new one.
    generation: u32,
    /// Of an item, its home; of a vacant slot, the next vacant one of its chunk.
    link: u32,
    item: Option<T>,
}

/// Where an item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new(), open: NONE, spare: NONE, absent: Vec::new() }
    }

    /// Puts an item in, with a note where its entry is at home.
    pub(super) fn insert(&mut self, item: T, home: u32) -> Place {
        if self.open == NONE {
            self.add_chunk();
        }
        let number = self.open;
        let chunk = &mut self.chunks[number as usize];
        let inside = chunk.occupy(item, home);
        let generation = chunk.slots[inside as usize].generation;
        if chunk.is_full() {
            self.unlink(number);
        }
        if self.spare == number {
            self.spare = NONE;
        }
        Place { slot: number * CHUNK as u32 + inside, generation }
    }

    /// Takes the item out, if it is still here, and tells where its entry is at home.
    pub(super) fn take(&mut self, place: Place) -> Option<(T, u32)> {
        let number = place.slot / CHUNK as u32;
        let chunk = self.chunks.get_mut(number as usize)?;
        let was_full = chunk.is_full();
        let taken = chunk.vacate(place)?;
        let is_empty = chunk.taken == 0;
        if was_full && !chunk.is_full() {
            self.link(number);
        }
        if is_empty {
            self.release(number);
        }
        Some(taken)
    }

    pub(super) fn get(&self, place: Place) -> Option<&T> {
        self.slot(place)?.item.as_ref()
    }

    /// The item in a slot, of whatever generation.
    pub(super) fn at(&self, slot: u32) -> Option<&T> {
        let chunk = self.chunks.get(slot as usize / CHUNK)?;
        chunk.slots.get(slot as usize % CHUNK)?.item.as_ref()
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        chunk.slots.get_mut(slot as usize % CHUNK)?.item.as_mut()
    }

    /// Takes out what lies in a slot, of whatever generation.
    pub(super) fn take_at(&mut self, slot: u32) -> Option<T> {
        let chunk = self.chunks.get(slot as usize / CHUNK)?;
        let generation = chunk.slots.get(slot as usize % CHUNK)?.generation;
        self.take(Place { slot, generation }).map(|(item, _)| item)
    }

    pub(super) fn holds(&self, place: Place) -> bool {
        self.slot(place).is_some()
    }

    /// Notes a new home for the entry of an item; false if that has left.
    pub(super) fn rehome(&mut self, place: Place, home: u32) -> bool {
        let Some(chunk) = self.chunks.get_mut(place.slot as usize / CHUNK) else { return false };
        match chunk.slots.get_mut(place.slot as usize % CHUNK) {
            Some(slot) if slot.generation == place.generation => {
                slot.link = home;
                true
            }
            _ => false,
        }
    }

    /// The numbers of all slots that hold something.
    pub(super) fn taken_slots(&self) -> impl Iterator<Item = u32> {
        self.chunks.iter().enumerate().flat_map(|(number, chunk)| {
            let taken = chunk.slots.iter().enumerate().filter(|(_, slot)| slot.item.is_some());
            taken.map(move |(inside, _)| (number * CHUNK + inside) as u32)
        })
    }

    /// The slot, while it holds the item of this generation: a vacant one is a generation ahead.
    fn slot(&self, place: Place) -> Option<&Slot<T>> {
        let chunk = self.chunks.get(place.slot as usize / CHUNK)?;
        let slot = chunk.slots.get(place.slot as usize % CHUNK)?;
        (slot.generation == place.generation).then_some(slot)
    }

    fn add_chunk(&mut self) {
        let number = self.absent.pop().unwrap_or_else(|| {
            assert!(self.chunks.len() < NONE as usize / CHUNK, "fewer than 2^32 tasks are pending");
            self.chunks.push(Chunk::new());
            (self.chunks.len() - 1) as u32
        });
        // The first chunk grows as needed: most queues are small.
        if number > 0 {
            self.chunks[number as usize].slots.reserve_exact(CHUNK);
        }
        self.link(number);
    }

    /// Gives the room of an empty chunk back, but for one such chunk, and for those that would soon
    /// be out of generations.
    fn release(&mut self, number: u32) {
        let chunk = &mut self.chunks[number as usize];
        if self.spare == NONE || self.spare == number {
            self.spare = number;
        } else if chunk.newest < GENERATIONS / 2 {
            chunk.slots = Vec::new();
            chunk.vacant = NONE;
            self.unlink(number);
            self.absent.push(number);
        }
    }

    fn link(&mut self, number: u32) {
        let next = self.open;
        let chunk = &mut self.chunks[number as usize];
        (chunk.previous, chunk.next) = (NONE, next);
        if next != NONE {
            self.chunks[next as usize].previous = number;
        }
        self.open = number;
    }

    fn unlink(&mut self, number: u32) {
        let Chunk { previous, next, .. } = self.chunks[number as usize];
        match previous {
            NONE => self.open = next,
            previous => self.chunks[previous as usize].next = next,
        }
        if next != NONE {
            self.chunks[next as usize].previous = previous;
        }
    }
}

impl<T> Chunk<T> {
    fn new() -> Self {
        Self { slots: Vec::new(), vacant: NONE, taken: 0, newest: 0, previous: NONE, next: NONE }
    }

    fn is_full(&self) -> bool {
        self.vacant == NONE && self.slots.len() == CHUNK
    }

    fn occupy(&mut self, item: T, home: u32) -> u32 {
        self.taken += 1;
        let inside = self.vacant;
        if let Some(slot) = self.slots.get_mut(inside as usize) {
            self.vacant = slot.link;
            (slot.link, slot.item) = (home, Some(item));
            return inside;
        }
        self.slots.push(Slot { generation: self.newest, link: home, item: Some(item) });
        (self.slots.len() - 1) as u32
    }

    /// A slot that has had all its generations stays vacant for good.
    fn vacate(&mut self, place: Place) -> Option<(T, u32)> {
        let inside = place.slot % CHUNK as u32;
        let slot = self.slots.get_mut(inside as usize)?;
        if slot.generation != place.generation {
            return None;
        }
        let item = slot.item.take()?;
        let home = slot.link;
        slot.generation += 1;
        self.newest = self.newest.max(slot.generation);
        if slot.generation < GENERATIONS {
            slot.link = self.vacant;
            self.vacant = inside;
            self.taken -= 1;
        }
        Some((item, home))
    }
}
