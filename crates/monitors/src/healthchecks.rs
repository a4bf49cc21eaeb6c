//! Healthchecks, hosted or one's own.

use std::fmt;

use crate::monitor::Monitor;
use crate::ping::{Phase, Ping, Request, slug};

/// Healthchecks: <https://healthchecks.io>, or a server of one's own.
///
/// A start is sent as `/start`, a failure as `/fail` with its text, and a cancelled run as `/log`, which changes
/// nothing. The end of a run has the `rid` of its start, so that overlapping runs are distinguished.
///
/// ```
/// use scheduler_monitors::{Healthchecks, Monitors};
///
/// let monitors = Monitors::builder()
///     .task("purge", Healthchecks::check("https://hc-ping.com/00000000-0000-0000-0000-000000000000"))
///     .start()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Healthchecks {
    base: String,
    is_project: bool,
}

impl Healthchecks {
    /// One check, by its ping URL: `https://hc-ping.com/<uuid>`, or `https://hc-ping.com/<ping key>/<slug>`.
    #[must_use]
    pub fn check(url: impl Into<String>) -> Self {
        Self { base: trimmed(url), is_project: false }
    }

    /// A project, by the URL of its ping key: `https://hc-ping.com/<ping key>`. Each task has the check that has its
    /// name, and one is made if there is none.
    ///
    /// A check that is made this way expects a run each day. Set its schedule there.
    #[must_use]
    pub fn project(url: impl Into<String>) -> Self {
        Self { base: trimmed(url), is_project: true }
    }
}

fn trimmed(url: impl Into<String>) -> String {
    let mut url = url.into();
    url.truncate(url.trim_end_matches('/').len());
    url
}

impl Monitor for Healthchecks {
    fn name(&self) -> &str {
        "healthchecks"
    }

    fn request(&self, ping: &Ping) -> Option<Request> {
        let signal = match ping.phase {
            Phase::Started => "/start",
            Phase::Succeeded => "",
            Phase::Failed => "/fail",
            Phase::Cancelled => "/log",
        };
        let base = &self.base;
        let check = match self.is_project {
            true => format!("{base}/{}", slug(&ping.task.name)),
            false => base.clone(),
        };
        let create = if self.is_project { "&create=1" } else { "" };
        let url = format!("{check}{signal}?rid={}{create}", ping.run);
        Some(Request::post(url, "text/plain; charset=utf-8", ping.text().unwrap_or_default()))
    }
}

/// Does not show the URL, which is a secret.
impl fmt::Debug for Healthchecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Healthchecks").field("is_project", &self.is_project).finish_non_exhaustive()
    }
}
