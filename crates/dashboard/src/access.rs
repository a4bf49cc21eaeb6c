//! The rights of visitors: tokens, or the program's own authentication; the limit on wrong tokens.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use subtle::ConstantTimeEq;
use tokio::time::Instant;

/// The number of wrong tokens that an address may send in a minute.
const WRONG_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// The greatest number of addresses that are watched; then all are forgotten.
const ADDRESSES_MAX: usize = 1_024;
/// A token that is shorter could be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// The rights of a visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// Look at everything but the [payloads](crate::Dashboard::show_payloads) of jobs.
    Viewer,
    /// Also run, pause, resume, cancel, enable and reschedule tasks; retry, cancel and delete jobs.
    Operator,
}

impl Role {
    /// The role in one word: `viewer` or `operator`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}

/// A user of the dashboard: a name for the list of actions, and a role.
///
/// ```
/// use scheduler_dashboard::{Role, Visitor};
///
/// let anna = Visitor::operator("anna");
/// assert_eq!((anna.name(), anna.role()), ("anna", Role::Operator));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visitor {
    name: Arc<str>,
    role: Role,
}

impl Visitor {
    /// A user who may do everything.
    #[must_use]
    pub fn operator(name: &str) -> Self {
        Self { name: name.into(), role: Role::Operator }
    }

    /// A user who may only look.
    #[must_use]
    pub fn viewer(name: &str) -> Self {
        Self { name: name.into(), role: Role::Viewer }
    }

    /// The name, which pauses and the list of actions show.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rights of the visitor.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }
}

/// Decides about a request by its head: the program's own authentication.
pub(crate) type Authorize = dyn Fn(&Parts) -> Option<Visitor> + Send + Sync;

/// A secret and its owner.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) secret: String,
    pub(crate) visitor: Visitor,
}

impl Token {
    /// The fault of a token that could be guessed, or cannot be sent.
    pub(crate) fn fault(&self) -> Option<String> {
        let name = self.visitor.name();
        // RFC 6750, section 2.1.
        let is_sent = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        let fault = if self.secret.len() < TOKEN_BYTES_MIN {
            format!("has fewer than {TOKEN_BYTES_MIN} bytes, and could be guessed")
        } else if !self.secret.bytes().all(is_sent) {
            "has other characters than letters, digits and -._~+/=, and could not be sent"
                .to_owned()
        } else {
            return None;
        };
        Some(format!("the token of {name:?} {fault}\nhelp: openssl rand -hex 16"))
    }
}

/// Shows no secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Token").field(&self.visitor).finish()
    }
}

/// The way in which visitors identify themselves.
#[derive(Clone)]
pub(crate) enum Auth {
    Tokens(Vec<Token>),
    Program(Arc<Authorize>),
}

/// Why a request has no visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// There is no token, or the program does not know the visitor.
    Missing,
    Wrong,
    /// The address has sent too many wrong tokens.
    TooMany,
}

/// Finds the visitor of a request.
pub(crate) struct Gatekeeper {
    auth: Auth,
    wrong: Mutex<HashMap<Option<IpAddr>, (u32, Instant)>>,
    /// All wrong tokens.
    wrong_count: AtomicU64,
}

impl Gatekeeper {
    pub(crate) fn new(auth: Auth) -> Self {
        Self { auth, wrong: Mutex::default(), wrong_count: AtomicU64::new(0) }
    }

    pub(crate) fn is_by_token(&self) -> bool {
        matches!(self.auth, Auth::Tokens(_))
    }

    pub(crate) fn visitor(&self, head: &Parts, from: Option<IpAddr>) -> Result<Visitor, Denied> {
        let tokens = match &self.auth {
            Auth::Program(authorize) => return authorize(head).ok_or(Denied::Missing),
            Auth::Tokens(tokens) => tokens,
        };
        let Some(sent) = bearer(head) else { return Err(Denied::Missing) };
        // All are compared, so that the time does not reveal which one it is.
        let found = tokens.iter().fold(None, |found, token| {
            if is_same(sent, &token.secret) { Some(token) } else { found }
        });
        found.map(|token| token.visitor.clone()).ok_or_else(|| self.note_wrong(from))
    }

    /// The number of wrong tokens that were sent, also beyond the limit.
    pub(crate) fn wrong_count(&self) -> u64 {
        self.wrong_count.load(Ordering::Relaxed)
    }

    fn note_wrong(&self, from: Option<IpAddr>) -> Denied {
        self.wrong_count.fetch_add(1, Ordering::Relaxed);
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() >= ADDRESSES_MAX {
            wrong.clear();
        }
        let entry = wrong.entry(from).or_insert((0, Instant::now()));
        if entry.1.elapsed() >= WINDOW {
            *entry = (0, Instant::now());
        }
        if entry.0 >= WRONG_MAX {
            return Denied::TooMany;
        }
        entry.0 += 1;
        Denied::Wrong
    }
}

fn bearer(head: &Parts) -> Option<&str> {
    let value = head.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Compares in a time that depends on the lengths only.
fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// Returns 128 random bits as text.
///
/// # Errors
///
/// When the system gives none.
pub(crate) fn random_text() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(authorization: &str) -> Parts {
        let request = axum::http::Request::builder().header(AUTHORIZATION, authorization);
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_token_is_known_only_as_a_whole() {
        let token = |secret: &str, visitor| Token { secret: secret.to_owned(), visitor };
        let tokens = vec![
            token("0123456789abcdef", Visitor::operator("ops")),
            token("fedcba9876543210", Visitor::viewer("wall")),
        ];
        let keeper = Gatekeeper::new(Auth::Tokens(tokens));
        let visitor = |text: &str| keeper.visitor(&head(text), None);
        assert_eq!(visitor("Bearer 0123456789abcdef"), Ok(Visitor::operator("ops")));
        assert_eq!(visitor("bearer  fedcba9876543210"), Ok(Visitor::viewer("wall")));
        for wrong in ["Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer ", "Bearer é"]
        {
            assert!(visitor(wrong).is_err(), "{wrong}");
        }
        assert_eq!(visitor("Basic 0123456789abcdef"), Err(Denied::Missing));
    }

    #[test]
    fn who_guesses_too_often_has_to_wait_and_who_knows_the_token_does_not() {
        let secret = "0123456789abcdef".to_owned();
        let token = Token { secret, visitor: Visitor::operator("ops") };
        let keeper = Gatekeeper::new(Auth::Tokens(vec![token]));
        let (here, there) = (Some([127, 0, 0, 1].into()), Some([127, 0, 0, 2].into()));
        for _ in 0..WRONG_MAX {
            assert_eq!(keeper.visitor(&head("Bearer x"), here), Err(Denied::Wrong));
        }
        assert_eq!(keeper.visitor(&head("Bearer x"), here), Err(Denied::TooMany));
        assert_eq!(keeper.visitor(&head("Bearer x"), there), Err(Denied::Wrong));
        assert!(keeper.visitor(&head("Bearer 0123456789abcdef"), here).is_ok());
    }

    #[test]
    fn random_texts_differ_and_are_long() {
        let (one, other) = (random_text().unwrap(), random_text().unwrap());
        assert_ne!(one, other);
        assert!(one.len() >= TOKEN_BYTES_MIN);
    }
}
