//! The rights of requests: visitors by their tokens, and names of hosts.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Version};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use crate::problem::Problem;

/// The number of wrong tokens that an address may send in a minute; further answers to it are slow.
const WRONG_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// The time between two slow answers.
const SLOW: Duration = Duration::from_secs(1);
/// The longest wait for a slow answer. One that would wait longer is refused at once, and its token is not looked at.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// The greatest number of addresses that are known; then all are forgotten.
const ADDRESSES_MAX: usize = 1_024;
/// A token that is shorter could be guessed.
const TOKEN_BYTES_MIN: usize = 16;
/// A right token of this length never waits: no number of guesses finds one, and one who guesses locks none out.
const UNGUESSABLE_BYTES: usize = 32;

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
type Authorize = dyn Fn(&Parts) -> Option<Visitor> + Send + Sync;

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

/// The visitor who is let in, or why not.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Authentication {
    pub(crate) visitor: Result<Visitor, Denied>,
    /// The time to wait before the answer, whichever it is: otherwise a guess would cost nothing.
    pub(crate) after: Duration,
    /// True once in a minute, for an address that has just sent too many wrong tokens.
    pub(crate) is_guessed: bool,
}

impl Authentication {
    fn at_once(visitor: Result<Visitor, Denied>) -> Self {
        Self { visitor, after: Duration::ZERO, is_guessed: false }
    }
}

/// An address that sends tokens.
#[derive(Debug)]
struct Sender {
    /// The wrong tokens of this minute.
    wrong: u32,
    since: Instant,
    /// When the last slow answer is given.
    slow_until: Instant,
    /// Visitors whose tokens came from here; they never wait.
    known: Vec<Arc<str>>,
}

impl Sender {
    fn new(now: Instant) -> Self {
        Self { wrong: 0, since: now, slow_until: now, known: Vec::new() }
    }

    fn decide(&mut self, found: Option<&Token>, now: Instant) -> Authentication {
        if now.duration_since(self.since) >= WINDOW {
            (self.wrong, self.since) = (0, now);
        }
        let is_let_in = |token: &&Token| {
            token.secret.len() >= UNGUESSABLE_BYTES || self.known.contains(&token.visitor.name)
        };
        if let Some(token) = found.filter(is_let_in) {
            return Authentication::at_once(Ok(token.visitor.clone()));
        }
        let is_over = self.wrong >= WRONG_MAX;
        let after = if is_over { self.slow_until.max(now) + SLOW - now } else { Duration::ZERO };
        if after > WAIT_MAX {
            return Authentication::at_once(Err(Denied::TooMany));
        }
        self.slow_until = now + after;
        let Some(Token { visitor, .. }) = found else {
            self.wrong = self.wrong.saturating_add(1);
            let denied = if is_over { Denied::TooMany } else { Denied::Wrong };
            return Authentication {
                visitor: Err(denied),
                after,
                is_guessed: self.wrong == WRONG_MAX,
            };
        };
        self.known.push(Arc::clone(&visitor.name));
        Authentication { visitor: Ok(visitor.clone()), after, is_guessed: false }
    }
}

/// Finds the visitor of a request.
pub(crate) struct Authenticator {
    auth: Auth,
    senders: Mutex<HashMap<Option<IpAddr>, Sender>>,
    /// All wrong tokens.
    wrong_count: AtomicU64,
}

impl Authenticator {
    pub(crate) fn new(auth: Auth) -> Self {
        Self { auth, senders: Mutex::default(), wrong_count: AtomicU64::new(0) }
    }

    pub(crate) fn is_by_token(&self) -> bool {
        matches!(self.auth, Auth::Tokens(_))
    }

    pub(crate) fn visitor(&self, head: &Parts, from: Option<IpAddr>) -> Authentication {
        let tokens = match &self.auth {
            Auth::Program(authorize) => {
                return Authentication::at_once(authorize(head).ok_or(Denied::Missing));
            }
            Auth::Tokens(tokens) => tokens,
        };
        let Some(sent) = bearer(head) else { return Authentication::at_once(Err(Denied::Missing)) };
        // All are compared, so that the time does not reveal which one it is.
        let found = tokens.iter().fold(None, |found, token| {
            if is_same(sent, &token.secret) { Some(token) } else { found }
        });
        if found.is_none() {
            self.wrong_count.fetch_add(1, Ordering::Relaxed);
        }
        let now = Instant::now();
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.len() >= ADDRESSES_MAX && !senders.contains_key(&from) {
            senders.clear();
        }
        let sender = senders.entry(from).or_insert_with(|| Sender::new(now));
        sender.decide(found, now)
    }

    /// The number of wrong tokens that were sent, also beyond the limit.
    pub(crate) fn wrong_count(&self) -> u64 {
        self.wrong_count.load(Ordering::Relaxed)
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

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The names that are allowed.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    is_any_allowed: bool,
    /// With or without a port; without, all ports are allowed.
    names: Vec<String>,
    /// The port of addresses as names, where the server listens on all addresses.
    any_address_at: Option<u16>,
}

impl Hosts {
    /// For a server of the program: loopback names with any port, and what the program allows.
    pub(crate) fn mounted(allowed: &[String], is_any_allowed: bool) -> Self {
        let loopback = LOOPBACK.map(str::to_owned);
        let names = loopback.into_iter().chain(allowed.iter().cloned()).collect();
        Self { is_any_allowed, names, any_address_at: None }
    }

    /// For a server of our own at an address.
    pub(crate) fn served(address: SocketAddr, allowed: &[String], is_any_allowed: bool) -> Self {
        let host_name = SocketAddr::new(address.ip(), 0).to_string();
        let host_name = host_name.trim_end_matches(":0");
        let names = LOOPBACK.into_iter().chain([host_name]);
        let port = address.port();
        let names = names.flat_map(|name| {
            let bare = (port == 80).then(|| format!("{name}:80"));
            bare.into_iter().chain([format!("{name}:{port}")])
        });
        let names = names.chain(allowed.iter().cloned()).collect();
        let any_address_at = address.ip().is_unspecified().then_some(port);
        Self { is_any_allowed, names, any_address_at }
    }

    /// Returns the host of a request if it is allowed.
    pub(crate) fn check(&self, head: &Parts) -> Result<String, Problem> {
        let host = host_of(head)?;
        if self.is_any_allowed || self.allows(&host) {
            return Ok(host);
        }
        let shown: String = host.chars().filter(|letter| !letter.is_control()).take(100).collect();
        let help = format!("help: Dashboard::new().allow_host({shown:?})");
        Err(Problem::forbidden(format!("the host {shown:?} is not allowed\n{help}")))
    }

    fn allows(&self, host: &str) -> bool {
        let (name, port) = split(host);
        // A name cannot be an address, so that no name server can make it point elsewhere.
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if is_address && self.any_address_at.is_some_and(|ours| port.unwrap_or(80) == ours) {
            return true;
        }
        self.names.iter().any(|allowed| match split(allowed) {
            (allowed, None) => allowed.eq_ignore_ascii_case(name),
            (allowed, at) => {
                let port = port.or(Some(80));
                allowed.eq_ignore_ascii_case(name) && port == at
            }
        })
    }
}

/// The host of a request: one, and the same in all places.
fn host_of(head: &Parts) -> Result<String, Problem> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    if second.is_some() {
        return Err(Problem::bad_request("the request has two Host headers"));
    }
    let text = first.map(|host| host.to_str().map(str::to_owned)).transpose();
    let text = text.map_err(|_| Problem::bad_request("the Host header is no text"))?;
    let target = head.uri.authority().map(ToString::to_string);
    match (text, target) {
        (Some(host), Some(target)) if host != target => {
            Err(Problem::bad_request("the target of the request and its Host header differ"))
        }
        (Some(host), _) if !host.is_empty() => Ok(host),
        (None, Some(target)) if head.version >= Version::HTTP_2 => Ok(target),
        _ => Err(Problem::bad_request("the request has no Host header")),
    }
}

/// Returns true if nothing says that a proxy has passed a request on: it is for this machine by name, and has no header of
/// proxies.
pub(crate) fn is_direct(headers: &HeaderMap, host: &str) -> bool {
    let (name, _) = split(host);
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_loopback = address
        .map_or(name.eq_ignore_ascii_case("localhost"), |ip| ip.to_canonical().is_loopback());
    let is_passed_on = |name: &str| {
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded-")
    };
    is_loopback && !headers.keys().any(|name| is_passed_on(name.as_str()))
}

/// The name, and the port if there is one. A port that is no number belongs to the name.
fn split(host: &str) -> (&str, Option<u16>) {
    let Some((name, port)) = host.rsplit_once(':') else { return (host, None) };
    if name.starts_with('[') && !name.ends_with(']') {
        return (host, None);
    }
    let is_number = port.chars().all(|letter| letter.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_number => (name, Some(port)),
        _ => (host, None),
    }
}

/// Returns whether a page of another site may have made the request.
pub(crate) fn is_cross_origin(headers: &HeaderMap, host: &str) -> bool {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return true;
    }
    let mut origins = headers.get_all("origin").iter();
    origins.any(|origin| {
        let origin = origin.to_str().unwrap_or("null");
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        !site.is_some_and(|site| site.eq_ignore_ascii_case(host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn head(authorization: &str) -> Parts {
        let request = Request::builder().header(AUTHORIZATION, authorization);
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_token_is_known_only_as_a_whole() {
        let token = |secret: &str, visitor| Token { secret: secret.to_owned(), visitor };
        let tokens = vec![
            token("0123456789abcdef", Visitor::operator("ops")),
            token("fedcba9876543210", Visitor::viewer("wall")),
        ];
        let authenticator = Authenticator::new(Auth::Tokens(tokens));
        let visitor = |text: &str| authenticator.visitor(&head(text), None).visitor;
        assert_eq!(visitor("Bearer 0123456789abcdef"), Ok(Visitor::operator("ops")));
        assert_eq!(visitor("bearer  fedcba9876543210"), Ok(Visitor::viewer("wall")));
        for wrong in ["Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer ", "Bearer é"]
        {
            assert!(visitor(wrong).is_err(), "{wrong}");
        }
        assert_eq!(visitor("Basic 0123456789abcdef"), Err(Denied::Missing));
    }

    #[tokio::test(start_paused = true)]
    async fn who_guesses_too_often_gets_slow_answers_and_who_is_known_does_not() {
        let token = |secret: &str, name| Token {
            secret: secret.to_owned(),
            visitor: Visitor::operator(name),
        };
        let tokens = vec![token("0123456789abcdef", "ops"), token("fedcba9876543210", "new")];
        let authenticator = Authenticator::new(Auth::Tokens(tokens));
        let (here, there) = (Some([127, 0, 0, 1].into()), Some([127, 0, 0, 2].into()));
        let send =
            |token: &str, from| authenticator.visitor(&head(&format!("Bearer {token}")), from);
        let denied = |denied, after, is_guessed| Authentication {
            visitor: Err(denied),
            after: Duration::from_secs(after),
            is_guessed,
        };
        let ops = Authentication::at_once(Ok(Visitor::operator("ops")));
        assert_eq!(send("0123456789abcdef", here), ops);
        for number in 1..=WRONG_MAX {
            let is_last = number == WRONG_MAX;
            assert_eq!(send("x", here), denied(Denied::Wrong, 0, is_last), "{number}");
        }
        // One answer a second, whether the token is right or wrong.
        assert_eq!(send("x", here), denied(Denied::TooMany, 1, false));
        let right = send("fedcba9876543210", here);
        assert_eq!(
            (right.visitor, right.after),
            (Ok(Visitor::operator("new")), Duration::from_secs(2))
        );
        (3..=10).for_each(|after| {
            assert_eq!(send("x", here), denied(Denied::TooMany, after, false));
        });
        assert_eq!(send("x", here), denied(Denied::TooMany, 0, false), "it is not looked at");
        // Those who came before, and other addresses, do not wait.
        assert_eq!(send("0123456789abcdef", here), ops);
        assert_eq!(send("x", there), denied(Denied::Wrong, 0, false));
        assert_eq!(send("0123456789abcdef", there), ops);
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(send("x", here), denied(Denied::TooMany, 8, false));
        tokio::time::advance(WINDOW).await;
        assert_eq!(send("x", here), denied(Denied::Wrong, 0, false));
    }

    #[test]
    fn a_right_token_that_would_wait_too_long_is_refused_unless_it_cannot_be_guessed() {
        let now = Instant::now();
        let mut sender = Sender::new(now);
        (0..20).for_each(|_| drop(sender.decide(None, now)));
        let visitor = Visitor::operator("ops");
        let token = |secret: &str| Token { secret: secret.to_owned(), visitor: visitor.clone() };
        let right = sender.decide(Some(&token("0123456789abcdef")), now);
        assert_eq!(right, Authentication::at_once(Err(Denied::TooMany)));
        // One that no number of guesses finds is not locked out by them.
        let long = sender.decide(Some(&token("0123456789abcdef0123456789abcdef")), now);
        assert_eq!(long, Authentication::at_once(Ok(visitor)));
    }

    #[test]
    fn random_texts_differ_and_are_long() {
        let (one, other) = (random_text().unwrap(), random_text().unwrap());
        assert_ne!(one, other);
        assert!(one.len() >= TOKEN_BYTES_MIN);
    }

    fn head_of(host: &[&str]) -> Parts {
        let mut request = Request::builder().uri("/");
        for host in host {
            request = request.header(HOST, *host);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_names_of_the_list_are_allowed() {
        let served = Hosts::served(([127, 0, 0, 1], 9095).into(), &["ops.example".into()], false);
        for good in
            ["127.0.0.1:9095", "localhost:9095", "LOCALHOST:9095", "[::1]:9095", "ops.example:1"]
        {
            assert!(served.check(&head_of(&[good])).is_ok(), "{good}");
        }
        for bad in [
            "evil.example",
            "evil.example:9095",
            "127.0.0.1.evil.example:9095",
            "localhost.:9095",
            "127.0.0.1:9096",
            "127.0.0.1",
            "localhost:9095:9095",
            "localhost:+9095",
            "10.0.0.1:9095",
            "",
        ] {
            assert!(served.check(&head_of(&[bad])).is_err(), "{bad}");
        }
        assert!(served.check(&head_of(&[])).is_err());
        assert!(served.check(&head_of(&["localhost:9095", "localhost:9095"])).is_err());
    }

    #[test]
    fn on_all_addresses_an_address_is_a_good_name_and_a_foreign_name_is_not() {
        let served = Hosts::served(([0, 0, 0, 0], 9095).into(), &[], false);
        assert!(served.check(&head_of(&["10.1.2.3:9095"])).is_ok());
        assert!(served.check(&head_of(&["[fe80::1]:9095"])).is_ok());
        assert!(served.check(&head_of(&["10.1.2.3:9096"])).is_err());
        assert!(served.check(&head_of(&["evil.example:9095"])).is_err());
        let mounted = Hosts::mounted(&["ops.example:8443".into()], false);
        assert!(mounted.check(&head_of(&["localhost:1"])).is_ok());
        assert!(mounted.check(&head_of(&["ops.example:8443"])).is_ok());
        assert!(mounted.check(&head_of(&["ops.example"])).is_err());
    }

    #[test]
    fn the_browser_says_where_a_request_comes_from() {
        let foreign = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            is_cross_origin(&headers, "localhost:9095")
        };
        assert!(!is_cross_origin(&HeaderMap::new(), "localhost:9095"), "no browser");
        assert!(!foreign("origin", "http://localhost:9095"));
        assert!(!foreign("origin", "https://localhost:9095"));
        assert!(!foreign("sec-fetch-site", "same-origin"));
        for origin in ["http://evil.example", "null", "localhost:9095", "http://localhost:9096"] {
            assert!(foreign("origin", origin), "{origin}");
        }
        assert!(foreign("sec-fetch-site", "cross-site"));
        assert!(foreign("sec-fetch-site", "same-site"));
    }
}
