//! Values that few tasks have: one word until they are needed.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};

/// A value that takes one word until it is changed.
#[derive(Clone, Debug)]
pub(super) struct LazyBox<T>(Option<Box<T>>);

/// A type with an empty value that can be shared.
pub(super) trait Empty: Default + 'static {
    const EMPTY: &'static Self;
}

impl<T: 'static> Empty for Vec<T> {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: 'static> Empty for VecDeque<T> {
    const EMPTY: &'static Self = &Self::new();
}

impl<K: 'static, V: 'static> Empty for BTreeMap<K, V> {
    const EMPTY: &'static Self = &Self::new();
}

impl Empty for String {
    const EMPTY: &'static Self = &Self::new();
}

impl<T: Empty + PartialEq> LazyBox<T> {
    pub(super) fn new(value: T) -> Self {
        Self((value != *T::EMPTY).then(|| Box::new(value)))
    }
}

impl<T: Empty> LazyBox<T> {
    /// Takes the value out, and frees its memory.
    pub(super) fn take(&mut self) -> T {
        self.0.take().map(|value| *value).unwrap_or_default()
    }
}

impl<T> Default for LazyBox<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Empty> Deref for LazyBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty> DerefMut for LazyBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}
