//! Sends one request, with a limit for everything.

use std::time::Duration;

use ureq::Agent;

use crate::ping::{Method, Request};

/// How long a request may take in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends requests, and keeps connections.
#[derive(Debug)]
pub(crate) struct Sender(Agent);

/// Why a request was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    /// Whether it may be taken the next time.
    pub(crate) is_passing: bool,
}

impl Default for Sender {
    fn default() -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(3)
            .user_agent(concat!("scheduler-monitors/", env!("CARGO_PKG_VERSION")))
            .build();
        Self(config.into())
    }
}

impl Sender {
    /// Sends a request. What is answered is not read, but for the status.
    pub(crate) fn send(&self, request: &Request) -> Result<(), Refusal> {
        let result = match request.method {
            Method::Get => self.0.get(&request.url).call(),
            Method::Post => self
                .0
                .post(&request.url)
                .header("content-type", request.content_type)
                .send(request.body.as_bytes()),
        };
        match result {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => {
                let status = response.status().as_u16();
                let is_passing = status == 408 || status == 429 || status >= 500;
                Err(Refusal { reason: format!("it answered {status}"), is_passing })
            }
            // The error is shown without the address, which is a secret.
            Err(error) => {
                let reason = reason(&error);
                let is_passing = !matches!(error, ureq::Error::BadUri(_) | ureq::Error::Http(_));
                Err(Refusal { reason, is_passing })
            }
        }
    }
}

fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => "its address is none".to_owned(),
        ureq::Error::Timeout(_) => format!("it did not answer within {PATIENCE:?}"),
        ureq::Error::HostNotFound => "its host is not known".to_owned(),
        ureq::Error::Io(error) => format!("no connection: {error}"),
        ureq::Error::TlsRequired => "`https` needs the feature `tls`".to_owned(),
        other => format!("no answer: {other}"),
    }
}
