//! The newest of many jobs, as they come.

use std::cmp::Reverse;

/// The values of the greatest keys, at most so many. They are sorted now and then, so that the work grows with the number of
/// values, however few come at a time.
#[derive(Debug)]
pub(crate) struct Newest<K, V> {
    limit: usize,
    found: Vec<(K, V)>,
    /// The number at which they are sorted again.
    room: usize,
    /// So many have this key or a greater one.
    least: Option<K>,
}

impl<K: Ord + Copy, V> Newest<K, V> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new(), room: limit, least: None }
    }

    /// Returns true if neither this key nor a lesser one can be among the greatest.
    pub(crate) fn is_full_above(&mut self, key: K) -> bool {
        if self.found.len() >= self.room {
            self.cut();
            self.room = self.limit.saturating_add(self.limit / 4 + 1);
        }
        self.least.is_some_and(|least| least >= key)
    }

    pub(crate) fn add(&mut self, key: K, value: V) {
        if self.least.is_none_or(|least| key > least) {
            self.found.push((key, value));
        }
    }

    /// The values, by key, the greatest first.
    pub(crate) fn into_values(mut self) -> Vec<V> {
        self.cut();
        self.found.into_iter().map(|(_, value)| value).collect()
    }

    fn cut(&mut self) {
        self.found.sort_unstable_by_key(|(key, _)| Reverse(*key));
        self.found.truncate(self.limit);
        if self.found.len() == self.limit {
            self.least = self.found.last().map(|(key, _)| *key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::Newest;

    thread_local! {
        static COMPARED: Cell<u32> = const { Cell::new(0) };
    }

    /// A key that counts how often it is compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Key(u32);

    impl Ord for Key {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Key {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    /// The newest of keys that come one by one. A greater one may always follow.
    fn newest(limit: usize, keys: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut newest = Newest::new(limit);
        for key in keys {
            assert!(!newest.is_full_above(Key(u32::MAX)));
            newest.add(Key(key), key);
        }
        newest.into_values()
    }

    #[test]
    fn the_work_grows_with_the_number_of_keys() {
        // Each number below 2^15 once, in no order.
        let mixed = || (0..1 << 15).map(|number: u32| number * 20_077 % (1 << 15));
        let ordered = || (0..1 << 15).rev();
        for limit in [1, 50, 1_000, 1 << 15, usize::MAX] {
            COMPARED.set(0);
            let count = limit.min(1 << 15) as u32;
            let greatest: Vec<u32> = ((1 << 15) - count..1 << 15).rev().collect();
            assert_eq!(newest(limit, ordered()), greatest);
            assert_eq!(newest(limit, mixed()), greatest);
            let compared = COMPARED.get() >> 15;
            assert!(compared < 200, "limit {limit}: {compared} comparisons for each key");
        }
    }

    #[test]
    fn a_key_is_beyond_the_greatest_once_there_are_enough() {
        let mut newest = Newest::new(2);
        for (key, is_full) in [(7, false), (5, false), (6, false), (3, true)] {
            assert_eq!(newest.is_full_above(Key(key)), is_full, "{key}");
            newest.add(Key(key), key);
        }
        assert_eq!(newest.into_values(), [7, 6]);
    }
}
