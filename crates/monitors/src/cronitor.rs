//! Cronitor.

use std::fmt;

use crate::monitor::Monitor;
use crate::ping::{Phase, Ping, Request, cut, escaped, slug};

/// The greatest length of a message.
const MESSAGE_BYTES_MAX: usize = 2_000;

/// Cronitor: <https://cronitor.io>.
///
/// A monitor is made there by its first ping. A run that is cancelled after its start was sent is a
/// failure, because there is no other word for it and the run would be reported as too long.
///
/// ```
/// use scheduler_monitors::{Cronitor, Monitors};
///
/// let monitors = Monitors::builder().all(Cronitor::new("api-key").environment("production")).start()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Cronitor {
    base: String,
    key: Option<String>,
    environment: Option<String>,
    host: Option<String>,
}

impl Cronitor {
    /// By the key of its telemetry API. Each task has the monitor that has its name.
    #[must_use]
    pub fn new(api_key: &str) -> Self {
        let base = format!("https://cronitor.link/p/{}", escaped(api_key));
        Self { base, key: None, environment: None, host: None }
    }

    /// The key of the monitor, in place of the name of the task.
    #[must_use]
    pub fn monitor(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The environment that each ping names.
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>) -> Self {
        self.environment = Some(name.into());
        self
    }

    /// The host that each ping names.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.host = Some(name.into());
        self
    }

    /// The part of the address before the key of the monitor, for example of a proxy.
    #[must_use]
    pub fn at(mut self, url: &str) -> Self {
        url.trim_end_matches('/').clone_into(&mut self.base);
        self
    }
}

impl Monitor for Cronitor {
    fn name(&self) -> &str {
        "cronitor"
    }

    fn request(&self, ping: &Ping) -> Option<Request> {
        let state = match ping.phase {
            Phase::Started => "run",
            Phase::Succeeded => "complete",
            Phase::Failed | Phase::Cancelled => "fail",
        };
        let key = self.key.clone().unwrap_or_else(|| slug(&ping.task.name));
        let mut url = format!("{}/{}?state={state}&series={}", self.base, escaped(&key), ping.run);
        if let Some(took) = ping.took {
            url.push_str(&format!("&metric=duration:{:.3}", took.as_secs_f64()));
        }
        if let Some(mut message) = ping.text().map(str::to_owned) {
            cut(&mut message, MESSAGE_BYTES_MAX);
            url.push_str(&format!("&message={}", escaped(&message)));
        }
        for (name, value) in [("env", &self.environment), ("host", &self.host)] {
            if let Some(value) = value {
                url.push_str(&format!("&{name}={}", escaped(value)));
            }
        }
        Some(Request::get(url))
    }
}

/// Does not show the key.
impl fmt::Debug for Cronitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cronitor").field("monitor", &self.key).finish_non_exhaustive()
    }
}
