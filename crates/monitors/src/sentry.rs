//! Sentry Crons.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::monitor::Monitor;
use crate::ping::{Phase, Ping, Request, escaped, slug};
use crate::schedule::{Expected, expected};

/// Sentry Crons: <https://sentry.io>, or a server of one's own.
///
/// Each ping carries the schedule of its task, so that monitors are made and changed with the code: cron expressions
/// that mean the same in a crontab, with their zone, and periods of whole minutes. Of another schedule Sentry knows
/// only what is set there.
///
/// A run that is cancelled after its start was sent is an error, because there is no other word for it and the run
/// would be reported as too long.
///
/// ```
/// use scheduler_monitors::{Monitors, Sentry};
/// use std::time::Duration;
///
/// let sentry = Sentry::new("https://public@o0.ingest.sentry.io/1")?
///     .environment("production")
///     .max_runtime(Duration::from_secs(600));
/// let monitors = Monitors::builder().tagged("nightly", sentry).start()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Sentry {
    /// The parts of the address before and after the name of the monitor.
    base: String,
    key: String,
    monitor: Option<String>,
    environment: Option<String>,
    settings: Map<String, Value>,
}

impl Sentry {
    /// By the DSN of a project: `https://<public key>@<host>/<project id>`.
    ///
    /// # Errors
    ///
    /// When the text is no DSN.
    pub fn new(dsn: &str) -> Result<Self, DsnError> {
        let (scheme, rest) =
            dsn.trim().split_once("://").ok_or(DsnError("it has no `https://`"))?;
        if !matches!(scheme, "http" | "https") {
            return Err(DsnError("it is neither `https` nor `http`"));
        }
        let (key, rest) = rest.split_once('@').ok_or(DsnError("it has no key before an `@`"))?;
        // An old DSN has a secret after the public key.
        let key = key.split(':').next().unwrap_or_default();
        let (place, project) = rest.rsplit_once('/').ok_or(DsnError("it has no project"))?;
        let is_project = !project.is_empty() && project.bytes().all(|byte| byte.is_ascii_digit());
        if key.is_empty() || place.is_empty() || !is_project {
            return Err(DsnError("key, host or the number of the project is missing"));
        }
        let (host, path) = place
            .split_once('/')
            .map_or((place, String::new()), |(host, path)| (host, format!("/{path}")));
        Ok(Self {
            base: format!("{scheme}://{host}{path}/api/{project}/cron"),
            key: key.to_owned(),
            monitor: None,
            environment: None,
            settings: Map::new(),
        })
    }

    /// The slug of the monitor, in place of the name of the task.
    #[must_use]
    pub fn monitor(mut self, slug: impl Into<String>) -> Self {
        self.monitor = Some(slug.into());
        self
    }

    /// The environment that each ping names.
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>) -> Self {
        self.environment = Some(name.into());
        self
    }

    /// The delay of a start that counts as missed; in whole minutes, at least one.
    #[must_use]
    pub fn checkin_margin(self, margin: Duration) -> Self {
        self.setting("checkin_margin", minutes(margin))
    }

    /// The time that a run may take before it counts as failed; in whole minutes, at least one.
    #[must_use]
    pub fn max_runtime(self, length: Duration) -> Self {
        self.setting("max_runtime", minutes(length))
    }

    /// After how many failures in a row an issue is opened.
    #[must_use]
    pub fn failure_issue_threshold(self, count: u32) -> Self {
        self.setting("failure_issue_threshold", count.into())
    }

    /// After how many successes in a row the issue is resolved.
    #[must_use]
    pub fn recovery_threshold(self, count: u32) -> Self {
        self.setting("recovery_threshold", count.into())
    }

    fn setting(mut self, name: &str, value: u64) -> Self {
        self.settings.insert(name.to_owned(), value.into());
        self
    }

    /// The schedule as Sentry takes it; none where it would be wrong.
    fn config(&self, ping: &Ping) -> Option<Value> {
        let schedule = match expected(&ping.task)? {
            Expected::Crontab(value) => json!({ "type": "crontab", "value": value }),
            Expected::Minutes(value) => {
                json!({ "type": "interval", "value": value, "unit": "minute" })
            }
        };
        let mut config = self.settings.clone();
        config.insert("schedule".to_owned(), schedule);
        config.insert("timezone".to_owned(), ping.task.zone.name().into());
        Some(config.into())
    }
}

fn minutes(length: Duration) -> u64 {
    length.as_secs().div_ceil(60).max(1)
}

impl Monitor for Sentry {
    fn name(&self) -> &str {
        "sentry"
    }

    fn request(&self, ping: &Ping) -> Option<Request> {
        let status = match ping.phase {
            Phase::Started => "in_progress",
            Phase::Succeeded => "ok",
            Phase::Failed | Phase::Cancelled => "error",
        };
        let monitor = self.monitor.clone().unwrap_or_else(|| slug(&ping.task.name));
        let id = ping.run.simple().to_string();
        let (base, monitor, key) = (&self.base, escaped(&monitor), escaped(&self.key));
        let mut url = format!("{base}/{monitor}/{key}/?status={status}&check_in_id={id}");
        let took = ping.took.map(|took| took.as_secs_f64());
        if let Some(took) = took {
            url.push_str(&format!("&duration={took:.3}"));
        }
        if let Some(environment) = &self.environment {
            url.push_str(&format!("&environment={}", escaped(environment)));
        }
        let Some(config) = self.config(ping) else { return Some(Request::get(url)) };
        let mut body = json!({ "status": status, "check_in_id": id, "monitor_config": config });
        if let Some(took) = took {
            body["duration"] = took.into();
        }
        if let Some(environment) = &self.environment {
            body["environment"] = environment.clone().into();
        }
        Some(Request::post(url, "application/json", body.to_string()))
    }
}

/// Does not show the key.
impl fmt::Debug for Sentry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentry").field("monitor", &self.monitor).finish_non_exhaustive()
    }
}

/// Why a text is no DSN. Does not show it, because it holds a key.
///
/// ```
/// use scheduler_monitors::Sentry;
///
/// let error = Sentry::new("o0.ingest.sentry.io/1").unwrap_err();
/// assert!(error.to_string().starts_with("this is no DSN of Sentry: it has no `https://`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsnError(&'static str);

impl fmt::Display for DsnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this is no DSN of Sentry: {}\nhelp: copy it from the project's settings, Client Keys: https://<key>@<host>/<project>",
            self.0
        )
    }
}

impl Error for DsnError {}
