//! Where items lie, which never move: addressed by slot number and generation.
//!
//! Slots come in chunks, so that growth never copies what is there already, and a chunk whose slots are
//! all vacant is given back. What is looked at without the item, its *mark*, lies apart from it: marks are
//! so small that many of them stay in the cache. The slot that was vacated last is the first to be taken
//! again, for the same reason.

/// The slots of a chunk.
const CHUNK: usize = 256;

/// The number of recently vacated slots that are kept.
const RECENT_MAX: usize = 64;

/// The number of slots that are taken from a chunk at once.
const FEW: usize = 16;

/// The generations of a slot: they take 30 bits of a ticket.
const GENERATIONS: u32 = 1 << 30;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Slab<T> {
    /// Brings the parts of an item into the cache.
    look: fn(&T),
    chunks: Vec<Option<Chunk<T>>>,
    /// Vacant slots to take first, the last one before the others. To their chunks they are taken.
    recent: Vec<u32>,
    /// INVARIANT: names each chunk that has a vacant slot, maybe with others that were given back.
    open: Vec<u32>,
    /// A chunk with no item that is kept, so that coming and going at its border costs nothing.
    spare: u32,
    /// Numbers of chunks that were given back, and where the generations of each go on.
    ///
    /// INVARIANT: that is not below any generation that one of its slots has had, so none comes twice.
    absent: Vec<(u32, u32)>,
    len: usize,
}

/// The slots of a chunk. What is large lies in boxes, which are filled without passing through a stack.
#[derive(Debug)]
struct Chunk<T> {
    marks: Box<[Mark; CHUNK]>,
    items: Box<[Option<T>; CHUNK]>,
    vacancies: Box<Vacancies>,
}

#[derive(Debug)]
struct Vacancies {
    /// A bit for each slot: whether it is vacant, and not a recent one.
    vacant: [u64; CHUNK / 64],
    /// Slots that hold an item, are recent, or are worn out.
    taken: u32,
    /// Whether the chunk is among the open ones.
    is_open: bool,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Counts the items this slot has held, so that what spoke of an old item does not fit a new one.
    generation: u32,
    /// The home of the item's entry.
    home: u32,
}

/// Where an item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl Place {
    fn chunk(self) -> usize {
        self.slot as usize / CHUNK
    }

    fn inside(self) -> usize {
        self.slot as usize % CHUNK
    }
}

impl<T> Slab<T> {
    /// A slab that prefetches items by this function.
    pub(super) fn new(look: fn(&T)) -> Self {
        Self {
            look,
            chunks: Vec::new(),
            recent: Vec::new(),
            open: Vec::new(),
            spare: NONE,
            absent: Vec::new(),
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[cfg(test)]
    pub(super) fn insert(&mut self, item: T, home: u32) -> Place {
        self.insert_with(item, home, |_, _| ())
    }

    /// Inserts an item with the home of its entry, and calls `tell` with its place.
    #[inline]
    pub(super) fn insert_with(
        &mut self,
        item: T,
        home: u32,
        tell: impl FnOnce(&T, Place),
    ) -> Place {
        let slot = match self.recent.pop() {
            Some(slot) => slot,
            None => self.vacant_slot(),
        };
        self.len += 1;
        let inside = slot as usize % CHUNK;
        let chunk =
            self.chunks[slot as usize / CHUNK].as_mut().expect("a vacant slot is in a chunk");
        let mark = &mut chunk.marks[inside];
        mark.home = home;
        let place = Place { slot, generation: mark.generation };
        tell(&item, place);
        chunk.items[inside] = Some(item);
        place
    }

    /// Removes the item, if it is still here, and returns it with the home of its entry.
    pub(super) fn take(&mut self, place: Place) -> Option<(T, u32)> {
        let chunk = self.chunks.get_mut(place.chunk())?.as_mut()?;
        let mark = &mut chunk.marks[place.inside()];
        if mark.generation != place.generation {
            return None;
        }
        let item = chunk.items[place.inside()].take()?;
        let home = mark.home;
        mark.generation += 1;
        self.len -= 1;
        // A slot that has had all its generations stays vacant for good.
        if place.generation + 1 < GENERATIONS {
            self.recent.push(place.slot);
            if self.recent.len() > RECENT_MAX {
                self.return_older();
            }
        }
        Some((item, home))
    }

    pub(super) fn get(&self, place: Place) -> Option<&T> {
        let chunk = self.chunks.get(place.chunk())?.as_ref()?;
        let is_here = chunk.marks[place.inside()].generation == place.generation;
        if is_here { chunk.items[place.inside()].as_ref() } else { None }
    }

    /// Returns true if the item that came to this place is still here. A vacant slot is a generation ahead.
    pub(super) fn holds(&self, place: Place) -> bool {
        let chunk = self.chunks.get(place.chunk()).and_then(Option::as_ref);
        chunk.is_some_and(|chunk| chunk.marks[place.inside()].generation == place.generation)
    }

    /// Notes a new home for the entry of an item, unless that has left.
    pub(super) fn set_home(&mut self, place: Place, home: u32) {
        let Some(Some(chunk)) = self.chunks.get_mut(place.chunk()) else { return };
        let mark = &mut chunk.marks[place.inside()];
        if mark.generation == place.generation {
            mark.home = home;
        }
    }

    /// Notes a new home for the entry of an item that is to be taken soon, and prefetches the item.
    pub(super) fn prefetch(&mut self, place: Place, home: u32) {
        let Some(Some(chunk)) = self.chunks.get_mut(place.chunk()) else { return };
        if let Some(item) = &chunk.items[place.inside()] {
            (self.look)(item);
            chunk.marks[place.inside()].home = home;
        }
    }

    /// A slot of the chunk that was opened last, or of a new one; some more of it are at hand then.
    #[inline(never)]
    fn vacant_slot(&mut self) -> u32 {
        loop {
            let Some(&number) = self.open.last() else {
                self.add_chunk();
                continue;
            };
            let Some(chunk) = &mut self.chunks[number as usize] else {
                self.open.pop();
                continue;
            };
            // The first of them last, so that what comes one after the other lies so.
            let (first, mut few) = chunk.vacancies.occupy_few();
            while few != 0 {
                let bit = few.ilog2();
                few ^= 1 << bit;
                self.recent.push(number * CHUNK as u32 + first + bit);
            }
            if let Some(slot) = self.recent.pop() {
                if self.spare == number {
                    self.spare = NONE;
                }
                return slot;
            }
            self.open.pop();
        }
    }

    #[cold]
    #[inline(never)]
    fn add_chunk(&mut self) {
        let (number, newest) = self.absent.pop().unwrap_or_else(|| {
            assert!(self.chunks.len() < NONE as usize / CHUNK, "fewer than 2^32 tasks are pending");
            self.chunks.push(None);
            // What is given back is noted without an allocation: that may take long after much was freed.
            self.absent.reserve(self.chunks.len());
            self.open.reserve(self.chunks.len() - self.open.len());
            (self.chunks.len() as u32 - 1, 0)
        });
        self.chunks[number as usize] = Some(Chunk::new(newest));
        self.open.push(number);
    }

    /// Gives the older half of the recent slots back to their chunks.
    #[inline(never)]
    fn return_older(&mut self) {
        let mut recent = std::mem::take(&mut self.recent);
        for slot in recent.drain(..RECENT_MAX / 2) {
            let number = slot / CHUNK as u32;
            let Some(chunk) = &mut self.chunks[number as usize] else { continue };
            let vacancies = &mut chunk.vacancies;
            vacancies.vacate(slot as usize % CHUNK);
            if !vacancies.is_open {
                vacancies.is_open = true;
                self.open.push(number);
            }
            if vacancies.taken == 0 {
                self.release(number);
            }
        }
        self.recent = recent;
    }

    /// Gives the room of an empty chunk back, but for one such chunk, and for those that would soon
    /// be out of generations.
    fn release(&mut self, number: u32) {
        if self.spare == NONE {
            self.spare = number;
            return;
        }
        let chunk = &mut self.chunks[number as usize];
        let newest = chunk.as_ref().map_or(NONE, |chunk| chunk.newest());
        if newest < GENERATIONS / 2 {
            *chunk = None;
            self.absent.push((number, newest));
        }
    }
}

impl<T> Chunk<T> {
    fn new(generation: u32) -> Self {
        let vacancies = Vacancies { vacant: [u64::MAX; CHUNK / 64], taken: 0, is_open: true };
        Self {
            marks: boxed(|| Mark { generation, home: 0 }),
            items: boxed(|| None),
            vacancies: Box::new(vacancies),
        }
    }

    fn newest(&self) -> u32 {
        self.marks.iter().map(|mark| mark.generation).max().unwrap_or_default()
    }
}

impl Vacancies {
    /// Takes the first few vacant slots: the bits of a word, and the slot that its lowest bit stands for.
    fn occupy_few(&mut self) -> (u32, u64) {
        let Some((word, bits)) = (0..).zip(&mut self.vacant).find(|(_, bits)| **bits != 0) else {
            self.is_open = false;
            return (0, 0);
        };
        let before = *bits;
        (0..FEW).for_each(|_| *bits &= bits.wrapping_sub(1));
        let few = before ^ *bits;
        self.taken += few.count_ones();
        (word * 64, few)
    }

    fn vacate(&mut self, inside: usize) {
        self.vacant[inside / 64] |= 1 << (inside % 64);
        self.taken -= 1;
    }
}

fn boxed<E>(make: impl FnMut() -> E) -> Box<[E; CHUNK]> {
    let elements: Box<[E]> = std::iter::repeat_with(make).take(CHUNK).collect();
    elements.try_into().ok().expect("as many elements as slots")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_never_mistaken_for_a_later_one() {
        let mut slab = Slab::new(|_| ());
        let first = slab.insert('a', 7);
        assert_eq!(slab.take(first), Some(('a', 7)));
        let second = slab.insert('b', 8);
        assert_eq!(second.slot, first.slot, "the slot is in the cache");
        assert_eq!((slab.get(first), slab.get(second)), (None, Some(&'b')));
        assert_eq!((slab.holds(first), slab.holds(second)), (false, true));
        slab.set_home(second, 9);
        slab.set_home(first, 10);
        assert_eq!(slab.take(first), None);
        assert_eq!((slab.take(second), slab.len()), (Some(('b', 9)), 0));
    }

    /// Whole lines of memory are written then, and those to come are foreseen by the processor.
    #[test]
    fn what_comes_one_after_the_other_lies_so() {
        let mut slab = Slab::new(|_| ());
        let places: Vec<Place> = (0..3 * CHUNK).map(|item| slab.insert(item, 0)).collect();
        assert!(places.iter().map(|place| place.slot).eq(0..3 * CHUNK as u32));
        for place in places.iter().skip(1).step_by(2) {
            slab.take(*place);
        }
        let recent: Vec<u32> =
            (0..slab.recent.len()).map(|item| slab.insert(item, 0).slot).collect();
        let older: Vec<u32> = (0..40).map(|item| slab.insert(item, 0).slot).collect();
        assert!(
            recent.iter().chain(&older).all(|slot| slot % 2 == 1),
            "what was left is taken first"
        );
        assert!(older.is_sorted());
    }

    #[test]
    fn no_item_is_at_a_place_that_was_never_given_out() {
        let mut slab = Slab::new(|_| ());
        slab.insert('a', 0);
        for slot in [1, CHUNK as u32 - 1, CHUNK as u32, u32::MAX] {
            let place = Place { slot, generation: 0 };
            assert_eq!(slab.get(place), None);
            assert_eq!(slab.take(place), None);
        }
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn what_many_items_took_is_given_back_and_taken_again() {
        let mut slab = Slab::new(|_| ());
        let mut seen = std::collections::HashSet::new();
        for round in 0..3 {
            let places: Vec<Place> = (0..40 * CHUNK).map(|item| slab.insert(item, 0)).collect();
            assert_eq!(slab.chunks.len(), 40, "in round {round}");
            assert!(places.iter().all(|place| seen.insert((place.slot, place.generation))));
            for (item, place) in places.into_iter().enumerate() {
                assert_eq!(slab.take(place), Some((item, 0)));
            }
            let kept = slab.chunks.iter().flatten().count();
            assert!(kept <= 2 + RECENT_MAX.div_ceil(CHUNK), "{kept} chunks are kept");
            assert!(slab.open.len() <= 41, "{} chunks are open", slab.open.len());
        }
    }

    fn empty_chunks<T>(slab: &Slab<T>) -> usize {
        slab.chunks.iter().flatten().filter(|chunk| chunk.vacancies.taken == 0).count()
    }

    /// Whatever comes and goes, and in whichever chunk.
    #[test]
    fn of_the_chunks_without_an_item_one_is_kept() {
        let (mut slab, mut random) = (Slab::new(|_| ()), 1u64);
        let mut draw = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % limit
        };
        let mut places: Vec<Place> = (0..40 * CHUNK).map(|_| slab.insert((), 0)).collect();
        for round in 0..200 {
            let chunk = places[draw(places.len())].chunk();
            for place in places.extract_if(.., |place| place.chunk() == chunk) {
                slab.take(place);
            }
            for _ in 0..draw(2 * RECENT_MAX) {
                let index = draw(places.len());
                slab.take(places.swap_remove(index));
            }
            for _ in 0..draw(3 * CHUNK) {
                places.push(slab.insert((), 0));
            }
            let empty = empty_chunks(&slab);
            assert!(empty <= 1, "{empty} chunks without an item are kept in round {round}");
        }
        places.into_iter().for_each(|place| assert!(slab.take(place).is_some()));
        assert_eq!(empty_chunks(&slab), 1);
    }

    #[test]
    fn a_slot_is_worn_out_after_all_its_generations() {
        let mut slab = Slab::new(|_| ());
        let place = slab.insert('a', 0);
        slab.take(place);
        let chunk = slab.chunks[0].as_mut().unwrap();
        chunk.marks[place.inside()].generation = GENERATIONS - 1;
        let last = slab.insert('b', 0);
        assert_eq!((last.slot, last.generation), (place.slot, GENERATIONS - 1));
        assert_eq!(slab.take(last), Some(('b', 0)));
        assert_ne!(slab.insert('c', 0).slot, place.slot);
        assert_eq!(slab.get(last), None);
    }

    #[test]
    fn an_empty_chunk_that_has_had_half_its_generations_is_kept() {
        let mut slab = Slab::new(|_| ());
        let places: Vec<Place> = (0..2 * CHUNK).map(|_| slab.insert((), 0)).collect();
        let number = places[CHUNK].chunk();
        slab.spare = places[0].chunk() as u32;
        for (newest, is_kept) in [(GENERATIONS / 2, true), (GENERATIONS / 2 - 1, false)] {
            slab.chunks[number].as_mut().unwrap().marks[7].generation = newest;
            slab.release(number as u32);
            assert_eq!(slab.chunks[number].is_some(), is_kept);
        }
        assert_eq!(slab.absent, [(number as u32, GENERATIONS / 2 - 1)]);
    }
}
