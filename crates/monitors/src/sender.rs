//! Sends one request, with a limit for everything.

use std::time::Duration;

use ureq::http::{Response, Uri, header};
use ureq::{Agent, Body};

use crate::ping::{Method, Request};

/// The longest time of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The most redirects that a request follows.
const REDIRECTS_MAX: usize = 3;

/// Sends requests, and keeps connections.
#[derive(Debug)]
pub(crate) struct Sender(Agent);

/// The reason why a service did not take a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    /// The next try may succeed.
    pub(crate) is_temporary: bool,
    /// The service asked for this pause.
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal that no further try changes.
    pub(crate) fn lasting(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_temporary: false, retry_after: None }
    }
}

impl Default for Sender {
    fn default() -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            // A redirect to another host would carry the secret address there: `send` follows them itself.
            .max_redirects(0)
            .user_agent(concat!("scheduler-monitors/", env!("CARGO_PKG_VERSION")))
            .build();
        Self(config.into())
    }
}

impl Sender {
    /// Sends a request, and follows redirects within its host. Only the head of the answer is read.
    pub(crate) fn send(&self, request: &Request) -> Result<(), Refusal> {
        let mut request = request.clone();
        for _ in 0..=REDIRECTS_MAX {
            let response = self.call(&request).map_err(|error| refusal(&error))?;
            let status = response.status();
            if status.is_success() {
                return Ok(());
            }
            if !status.is_redirection() {
                let status = status.as_u16();
                return Err(Refusal {
                    reason: format!("it answered {status}"),
                    is_temporary: status == 408 || status == 429 || status >= 500,
                    retry_after: retry_after(&response),
                });
            }
            let Some(url) = redirect(&request.url, &response) else {
                return Err(Refusal::lasting("it redirects to another host"));
            };
            request = match status.as_u16() {
                307 | 308 => Request { url, ..request },
                _ => Request::get(url),
            };
        }
        Err(Refusal::lasting(format!("it redirects more than {REDIRECTS_MAX} times")))
    }

    fn call(&self, request: &Request) -> Result<Response<Body>, ureq::Error> {
        match request.method {
            Method::Get => self.0.get(&request.url).call(),
            Method::Post => self
                .0
                .post(&request.url)
                .header(header::CONTENT_TYPE, request.content_type)
                .send(request.body.as_bytes()),
        }
    }
}

/// The pause that a service asks for in seconds.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse();
    seconds.ok().map(Duration::from_secs)
}

/// The address of a redirect if it has the scheme, host and port of the request.
fn redirect(from: &str, response: &Response<Body>) -> Option<String> {
    let target = response.headers().get(header::LOCATION)?.to_str().ok()?;
    let from: Uri = from.parse().ok()?;
    let to: Uri = target.parse().ok()?;
    match to.authority() {
        Some(authority) if to.scheme() == from.scheme() && Some(authority) == from.authority() => {
            Some(target.to_owned())
        }
        None if target.starts_with('/') => {
            Some(format!("{}://{}{target}", from.scheme_str()?, from.authority()?))
        }
        _ => None,
    }
}

fn refusal(error: &ureq::Error) -> Refusal {
    let is_temporary = !matches!(error, ureq::Error::BadUri(_) | ureq::Error::Http(_));
    Refusal { reason: reason(error), is_temporary, retry_after: None }
}

/// The error without the address, which is a secret.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => "its address is not a URL".to_owned(),
        ureq::Error::Timeout(_) => format!("it did not answer within {TIMEOUT:?}"),
        ureq::Error::HostNotFound => "its host is not known".to_owned(),
        ureq::Error::Io(error) => format!("no connection: {error}"),
        ureq::Error::TlsRequired => "`https` needs the feature `tls`".to_owned(),
        other => format!("no answer: {other}"),
    }
}
