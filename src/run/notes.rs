//! Notes of a task about its run.

use std::mem;
use std::sync::OnceLock;

use crate::base::sync::Mutex;

/// The number of notes of a run that are kept; later ones are dropped.
const NOTES_MAX: usize = 16;

/// The number of bytes of a note that are kept.
const NOTE_BYTES_MAX: usize = 1_024;

/// The part of a note that is kept.
pub(crate) fn truncated(text: &str) -> &str {
    let mut end = text.len().min(NOTE_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The notes of a run; nearly all runs have none.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Absent before the first note.
    notes: OnceLock<Mutex<Vec<Box<str>>>>,
}

impl Notes {
    pub(super) fn add(&self, text: &str) {
        let notes = self.notes.get_or_init(Mutex::default);
        let mut notes = notes.lock();
        if notes.len() < NOTES_MAX {
            notes.push(truncated(text).into());
        }
    }

    pub(super) fn take(&self) -> Vec<Box<str>> {
        let Some(notes) = self.notes.get() else { return Vec::new() };
        mem::take(&mut notes.lock())
    }

    /// Replaces the notes with those of the previous attempt.
    pub(super) fn carry_over(&self, previous: Vec<Box<str>>) {
        if !previous.is_empty() {
            let notes = self.notes.get_or_init(Mutex::default);
            *notes.lock() = previous;
        }
    }
}
