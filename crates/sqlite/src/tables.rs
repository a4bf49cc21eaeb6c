//! The names of the tables.
//!
//! Statements are written with the default prefix; another one replaces it. It is the only text that ever becomes part of a
//! statement, and is a checked identifier.

use std::borrow::Cow;

use crate::error::OpenError;

/// The prefix of all names, unless the program chooses another.
pub(crate) const PREFIX: &str = "scheduler_";

const PREFIX_MAX: usize = 32;

/// The prefix of the names of tables and indexes.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    prefix: Cow<'static, str>,
}

impl Tables {
    pub(crate) const DEFAULT: Self = Self { prefix: Cow::Borrowed(PREFIX) };

    /// Checks the prefix: ASCII letters, digits and underscores, not a digit first, and nothing that SQLite keeps for itself.
    pub(crate) fn new(prefix: &str) -> Result<Self, OpenError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_identifier = prefix.bytes().all(is_word)
            && prefix.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if !is_identifier || prefix.len() > PREFIX_MAX || is_reserved(prefix) {
            return Err(OpenError::Prefix(prefix.to_owned()));
        }
        Ok(Self { prefix: Cow::Owned(prefix.to_owned()) })
    }

    /// A statement with the names of these tables.
    pub(crate) fn sql<'a>(&self, statement: &'a str) -> Cow<'a, str> {
        match &*self.prefix == PREFIX {
            true => Cow::Borrowed(statement),
            false => Cow::Owned(statement.replace(PREFIX, &self.prefix)),
        }
    }
}

fn is_reserved(prefix: &str) -> bool {
    prefix.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"))
}
