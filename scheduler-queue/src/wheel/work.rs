//! Counts how many entries are looked at or moved, in tests only: what a call costs, without a clock.

#[cfg(test)]
std::thread_local! {
    static ENTRIES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Notes that so many entries are looked at, or moved.
#[inline]
pub(super) fn note(entries: usize) {
    #[cfg(test)]
    ENTRIES.with(|count| count.set(count.get() + entries));
    let _ = entries;
}

/// How many there were since the last call.
#[cfg(test)]
pub(super) fn noted() -> usize {
    ENTRIES.with(|count| count.replace(0))
}
