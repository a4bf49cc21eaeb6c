//! The settings of a dashboard.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::access::{Auth, Role, Visitor};
use crate::audit::OnAction;

pub(crate) type ShowsPayload = dyn Fn(&Visitor, &str) -> bool + Send + Sync;
pub(crate) type IsProxy = dyn Fn(IpAddr) -> bool + Send + Sync;
pub(crate) type Redact = dyn Fn(&str) -> String + Send + Sync;

/// See the setters of [`Dashboard`](crate::Dashboard).
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) title: String,
    pub(crate) auth: Auth,
    pub(crate) is_read_only: bool,
    pub(crate) hosts: Vec<String>,
    pub(crate) allows_any_host: bool,
    /// Decides which addresses are proxies that name their clients.
    pub(crate) is_proxy: Option<Arc<IsProxy>>,
    pub(crate) has_public_metrics: bool,
    pub(crate) grace: Option<Duration>,
    pub(crate) redact: Option<Arc<Redact>>,
    pub(crate) on_action: Option<Arc<OnAction>>,
    /// Decides who sees the payloads of a task's jobs.
    pub(crate) shows_payload: Arc<ShowsPayload>,
    /// Fields of payloads that are hidden from all visitors.
    pub(crate) hidden_fields: Vec<String>,
}

impl Options {
    pub(crate) fn new() -> Self {
        Self {
            title: program_name().unwrap_or_else(|| "scheduler".to_owned()),
            auth: Auth::Tokens(Vec::new()),
            is_read_only: false,
            hosts: Vec::new(),
            allows_any_host: false,
            is_proxy: None,
            has_public_metrics: false,
            grace: None,
            redact: None,
            on_action: None,
            shows_payload: Arc::new(|visitor, _| visitor.role() >= Role::Operator),
            hidden_fields: Vec::new(),
        }
    }

    /// A text of a failure, a note or a payload, as the dashboard may show it.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.redact.as_ref().map_or_else(|| text.to_owned(), |redact| redact(text))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("Options");
        options.field("title", &self.title).field("is_read_only", &self.is_read_only);
        match &self.auth {
            Auth::Tokens(tokens) => options.field("tokens", tokens),
            Auth::Program(_) => options.field("authorize", &true),
        };
        options.field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

fn program_name() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    Some(path.file_stem()?.to_str()?.to_owned())
}
