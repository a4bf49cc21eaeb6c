//! The services, and the requests that are sent to them.

use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::{RuleKind, TaskFacts};
use scheduler_expr::{CronExpression, CronField};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Shows no address and no key: they are secrets.
macro_rules! opaque {
    ($($name:ident($($field:ident),*))*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    )*};
}

/// The longest message that Cronitor takes.
const CRONITOR_MESSAGE_BYTES_MAX: usize = 2_000;

opaque! { Healthchecks(is_project) Cronitor(monitor) Sentry(monitor) }

/// Methods of a builder that set a text.
macro_rules! set {
    ($($(#[$doc:meta])* $name:ident: $field:ident)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, text: impl Into<String>) -> Self {
            self.$field = Some(text.into());
            self
        }
    )*};
}

/// Adds `&name=value` to an address.
fn add(url: &mut String, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        url.push_str(&format!("&{name}={}", escaped(&value.to_string())));
    }
}

/// [Healthchecks](https://healthchecks.io), there or on a server of one's own.
#[derive(Clone)]
pub struct Healthchecks {
    base: String,
    is_project: bool,
}

impl Healthchecks {
    /// One check, by its ping URL.
    #[must_use]
    pub fn check(url: impl Into<String>) -> Self {
        Self { base: url.into().trim_end_matches('/').to_owned(), is_project: false }
    }

    /// A check for each task, by the ping URL of the project with its ping key. Missing ones are made.
    #[must_use]
    pub fn project(url: impl Into<String>) -> Self {
        Self { is_project: true, ..Self::check(url) }
    }
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
        let (base, run) = (&self.base, ping.run);
        let url = match self.is_project {
            true => format!("{base}/{}{signal}?rid={run}&create=1", slug(&ping.task.name)),
            false => format!("{base}{signal}?rid={run}"),
        };
        Some(Request::post(url, "text/plain; charset=utf-8", ping.text().unwrap_or_default()))
    }
}

/// [Cronitor](https://cronitor.io), by its telemetry API.
#[derive(Clone)]
pub struct Cronitor {
    base: String,
    monitor: Option<String>,
    environment: Option<String>,
    host: Option<String>,
}

impl Cronitor {
    /// With the key of the telemetry API. The monitor of a task has its name.
    #[must_use]
    pub fn new(api_key: &str) -> Self {
        let base = format!("https://cronitor.link/p/{}", escaped(api_key));
        Self { base, monitor: None, environment: None, host: None }
    }

    set! {
        /// The key of the monitor, instead of the name of the task.
        monitor: monitor
        /// The environment.
        environment: environment
        /// The name of this machine.
        host: host
    }

    /// Another address than `https://cronitor.link/p/<key>`.
    #[must_use]
    pub fn at(self, url: &str) -> Self {
        Self { base: url.trim_end_matches('/').to_owned(), ..self }
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
        let key = self.monitor.clone().unwrap_or_else(|| slug(&ping.task.name));
        let mut url = format!("{}/{}?state={state}&series={}", self.base, escaped(&key), ping.run);
        if let Some(took) = ping.took {
            url.push_str(&format!("&metric=duration:{:.3}", took.as_secs_f64()));
        }
        let message = ping.text().map(|text| cut(text, CRONITOR_MESSAGE_BYTES_MAX));
        add(&mut url, "message", message);
        add(&mut url, "env", self.environment.as_ref());
        add(&mut url, "host", self.host.as_ref());
        Some(Request::get(url))
    }
}

/// [Sentry Crons](https://docs.sentry.io/product/crons/). Monitors are made and kept up to date by the pings.
#[derive(Clone)]
pub struct Sentry {
    base: String,
    key: String,
    monitor: Option<String>,
    environment: Option<String>,
    settings: Map<String, Value>,
}

/// Why a text is no DSN.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no DSN of Sentry: {0}\nhelp: copy it from the project's settings, Client Keys: https://<key>@<host>/<project>"
)]
pub struct DsnError(&'static str);

impl fmt::Debug for DsnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Sentry {
    /// With the DSN of a project.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn new(dsn: &str) -> Result<Self, DsnError> {
        let (scheme, rest) =
            dsn.trim().split_once("://").ok_or(DsnError("it has no `https://`"))?;
        if !matches!(scheme, "http" | "https") {
            return Err(DsnError("it is neither `https` nor `http`"));
        }
        let (key, rest) = rest.split_once('@').ok_or(DsnError("it has no key before an `@`"))?;
        // An old DSN has a secret after the public key.
        let key = key.split(':').next().unwrap_or_default().to_owned();
        let (place, project) = rest.rsplit_once('/').ok_or(DsnError("it has no project"))?;
        let is_project = !project.is_empty() && project.bytes().all(|byte| byte.is_ascii_digit());
        if key.is_empty() || place.is_empty() || !is_project {
            return Err(DsnError("key, host or the number of the project is missing"));
        }
        let base = format!("{scheme}://{place}/api/{project}/cron");
        Ok(Self { base, key, monitor: None, environment: None, settings: Map::new() })
    }

    set! {
        /// The slug of the monitor, instead of the name of the task.
        monitor: monitor
        /// The environment.
        environment: environment
    }

    /// The time by which a start may be late.
    #[must_use]
    pub fn checkin_margin(self, margin: Duration) -> Self {
        self.setting("checkin_margin", minutes(margin))
    }

    /// The time that a run may take.
    #[must_use]
    pub fn max_runtime(self, length: Duration) -> Self {
        self.setting("max_runtime", minutes(length))
    }

    /// After how many failures there is an issue.
    #[must_use]
    pub fn failure_issue_threshold(self, count: u32) -> Self {
        self.setting("failure_issue_threshold", count.into())
    }

    /// After how many successes it is resolved.
    #[must_use]
    pub fn recovery_threshold(self, count: u32) -> Self {
        self.setting("recovery_threshold", count.into())
    }

    fn setting(mut self, name: &str, value: u64) -> Self {
        self.settings.insert(name.to_owned(), value.into());
        self
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
        add(&mut url, "duration", took.map(|took| format!("{took:.3}")));
        add(&mut url, "environment", self.environment.as_ref());
        let Some(schedule) = expected(&ping.task) else { return Some(Request::get(url)) };
        let mut config = self.settings.clone();
        config.insert("schedule".to_owned(), schedule);
        config.insert("timezone".to_owned(), ping.task.zone.name().into());
        let mut body = json!({ "status": status, "check_in_id": id, "monitor_config": config });
        let fields = [
            ("duration", took.map(Value::from)),
            ("environment", self.environment.clone().map(Value::from)),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                body[name] = value;
            }
        }
        Some(Request::post(url, "application/json", body.to_string()))
    }
}

/// The schedule that Sentry expects, where it can say it.
fn expected(task: &TaskFacts) -> Option<Value> {
    if task.kind == RuleKind::Cron {
        // A rule reads `0 0 9 * * MON-FRI (09:00, Monday to Friday) in Europe/Berlin`.
        let source = task.rule.split(" (").next()?;
        let value = crontab(&CronExpression::parse(source).ok()?)?;
        return Some(json!({ "type": "crontab", "value": value }));
    }
    let seconds = task.period.filter(|period| period.subsec_nanos() == 0)?.as_secs();
    let is_whole = seconds > 0 && seconds.is_multiple_of(60);
    is_whole.then(|| json!({ "type": "interval", "value": seconds / 60, "unit": "minute" }))
}

/// The five fields that mean the same in a crontab, but for the second; none if there are none.
fn crontab(cron: &CronExpression) -> Option<String> {
    let restricts = |field| !cron.is_any(field);
    // In a crontab either of two day fields is enough.
    let both_days = restricts(CronField::DayOfMonth) && restricts(CronField::DayOfWeek);
    let is_one_second = cron.values(CronField::Second).len() == 1;
    if both_days || !is_one_second || !cron.has_plain_days() {
        return None;
    }
    let text = cron.to_string();
    let mut fields: Vec<String> = text.split(' ').skip(1).map(str::to_owned).collect();
    // A step in the whole week begins with Sunday there.
    if fields.last()?.starts_with("*/") {
        let days = cron.values(CronField::DayOfWeek).map(|day| (day % 7).to_string());
        *fields.last_mut()? = days.collect::<Vec<_>>().join(",");
    }
    Some(fields.join(" "))
}

/// The longest message of a failure.
pub(crate) const MESSAGE_BYTES_MAX: usize = 10_000;

/// A service that gets the news of runs.
///
/// It only says what is to be sent: the worker of its route sends it, paces it, and tries it again.
pub trait Monitor: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &str;

    /// The request for a ping; none if the service is not told about it.
    fn request(&self, ping: &Ping) -> Option<Request>;
}

impl<M: Monitor + ?Sized> Monitor for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn request(&self, ping: &Ping) -> Option<Request> {
        (**self).request(ping)
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Its first attempt has started.
    Started,
    /// It has succeeded.
    Succeeded,
    /// Its last attempt has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Phase {
    /// The name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// News of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ping {
    /// The task.
    pub task: Arc<TaskFacts>,
    /// The identity of the run: the same for its start and its end.
    pub run: Uuid,
    /// Its progress.
    pub phase: Phase,
    /// The error and its causes, if it has failed.
    pub message: Option<Arc<str>>,
    /// Its length, at its end.
    pub took: Option<Duration>,
    /// When this happened.
    pub at: DateTime<Utc>,
}

impl Ping {
    /// The text for people.
    pub(crate) fn text(&self) -> Option<&str> {
        let cancelled = (self.phase == Phase::Cancelled).then(|| self.phase.name());
        self.message.as_deref().or(cancelled)
    }
}

/// A request over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The address, which may be a secret.
    pub url: String,
    /// With `POST`: the type of the body, and the body. `GET` without.
    pub body: Option<(&'static str, String)>,
}

impl Request {
    /// A `GET`.
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), body: None }
    }

    /// A `POST`.
    #[must_use]
    pub fn post(url: impl Into<String>, kind: &'static str, body: impl Into<String>) -> Self {
        Self { url: url.into(), body: Some((kind, body.into())) }
    }
}

opaque! { Request(body) }

/// Shortens a text to so many bytes at most, between two characters.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// A text as part of a query: everything but letters, digits and `-._~` is escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(byte.into());
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// The name of a task as the services write names: `shop::jobs::report` is `shop-jobs-report`.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars() {
        match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9' | '_') => slug.push(letter),
            _ if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
            _ => {}
        }
    }
    slug.truncate(SLUG_MAX);
    slug.trim_end_matches('-').to_owned()
}

/// The greatest length of the name of a monitor, for the strictest of the services.
const SLUG_MAX: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let cron = CronExpression::parse(text).unwrap();
        assert_eq!(crontab(&cron).as_deref(), expected, "{text}");
    }

    #[test]
    fn an_expression_becomes_a_line_of_a_crontab_where_that_says_the_same() {
        check("0 0 9 * * MON-FRI", Some("0 9 * * MON-FRI"));
        check("30 */15 * 1,15 * ?", Some("*/15 * 1,15 * *"));
        check("0 0 0 * * */2", Some("0 0 * * 1,3,5,0"));
        check("*/10 * * * * *", None);
        check("0 0 0 13 * FRI", None);
        check("0 0 0 L * *", None);
        check("0 0 0 * * FRI#2", None);
    }
}

#[cfg(test)]
mod tests_of_ping {
    use super::*;

    #[test]
    fn names_become_those_of_the_services() {
        assert_eq!(slug("shop::jobs::daily_report"), "shop-jobs-daily_report");
        assert_eq!(slug("Über::Größe!"), "ber-gr-e");
        assert_eq!(slug(&"x".repeat(80)).len(), SLUG_MAX);
    }

    #[test]
    fn queries_have_no_special_characters() {
        assert_eq!(escaped("a b&c=ä/100%"), "a%20b%26c%3D%C3%A4%2F100%25");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((cut("aää", 4), cut("aää", 9)), ("aä", "aää"));
    }
}
