//! A list that mostly holds one thing or nothing.

/// A list in order; only a second thing in it is allocated for.
#[derive(Debug)]
pub(crate) struct Few<T> {
    /// INVARIANT: none only if the rest is empty.
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Few<T> {
    pub(crate) const fn new() -> Self {
        Self { first: None, rest: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn push(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            Some(_) => self.rest.push(item),
        }
    }

    /// Takes the only thing out, if there is just one.
    pub(crate) fn take_only(&mut self) -> Option<T> {
        if self.rest.is_empty() { self.first.take() } else { None }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }
}

impl<T> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn things_stay_in_their_order() {
        for count in 0..4 {
            let mut few = Few::new();
            few.extend(0..count);
            assert_eq!(few.is_empty(), count == 0);
            assert!(few.iter().copied().eq(0..count));
            let only = if count == 1 { Some(0) } else { None };
            assert_eq!(few.take_only(), only);
            few.extend(only);
            assert!(few.into_iter().eq(0..count));
        }
    }
}
