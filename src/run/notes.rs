//! What a task notes of its run.

use std::mem;
use std::sync::{OnceLock, PoisonError};

use crate::sync::Mutex;

/// How many notes of a run are kept; later ones are dropped.
const NOTES_MAX: usize = 16;

/// How many bytes of a note are kept.
const NOTE_BYTES_MAX: usize = 1_024;

/// What is kept of a note.
pub(crate) fn shortened(text: &str) -> &str {
    let mut end = text.len().min(NOTE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The notes of a run; nearly all runs have none.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Absent before the first note.
    kept: OnceLock<Mutex<Vec<Box<str>>>>,
}

impl Notes {
    pub(super) fn add(&self, text: &str) {
        let kept = self.kept.get_or_init(Mutex::default);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < NOTES_MAX {
            kept.push(shortened(text).into());
        }
    }

    pub(super) fn take(&self) -> Vec<Box<str>> {
        let Some(kept) = self.kept.get() else { return Vec::new() };
        mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn keep(&self, notes: Vec<Box<str>>) {
        if !notes.is_empty() {
            let kept = self.kept.get_or_init(Mutex::default);
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = notes;
        }
    }
}
