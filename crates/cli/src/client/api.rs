//! Requests to the JSON API, their arguments, refusals and times.

use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_api::{Info, JobFilter, ProblemDetails};
use scheduler_core::trigger::Zone;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, RequestBuilder};

use crate::context::{Context, Look};
use crate::error::{CliError, named};
use crate::times;

/// The address of a dashboard unless another is given.
const HERE: &str = "http://127.0.0.1:9095";

const PATH: &str = "/api/v1";

/// The time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The greatest length of an answer.
const BYTES_MAX: u64 = 16 << 20;

/// The address of the program, and the token of the visitor.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// The address of the dashboard; otherwise $SCHEDULER_URL, or this machine. The link that it prints has the token in it: better in the
    /// variable, where other users do not see it
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The token; better in $SCHEDULER_TOKEN, where other users do not see it
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

/// A program that is asked.
#[derive(Debug)]
pub(crate) struct Api {
    agent: Agent,
    base: String,
    /// The token of the header.
    token: Option<String>,
}

impl Api {
    pub(crate) fn new(server: &ServerArgs, ctx: &Context<'_>) -> Result<Self, CliError> {
        let flag_or_variable =
            |flag: &Option<String>, name| flag.clone().or_else(|| (ctx.variable)(name));
        let url = flag_or_variable(&server.url, "SCHEDULER_URL").unwrap_or_else(|| HERE.to_owned());
        let (url, in_link) = match url.split_once('#') {
            Some((url, fragment)) => (url, fragment.strip_prefix("token=").map(str::to_owned)),
            None => (&*url, None),
        };
        let is_address = url.starts_with("http://") || url.starts_with("https://");
        if !is_address {
            return Err(CliError::unable("the address has no `http://` or `https://` before it")
                .help("write for example --url http://127.0.0.1:9095"));
        }
        let base = url.trim_end_matches('/').trim_end_matches(PATH).trim_end_matches('/');
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // The token is for this address only.
            .max_redirects(0)
            .user_agent(concat!("scheduler-cli/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            agent: config.into(),
            base: base.to_owned(),
            token: server.token.clone().or(in_link).or_else(|| (ctx.variable)("SCHEDULER_TOKEN")),
        })
    }

    /// The address, without a token.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Asks for something: as a type of the API, or as the `Value` that came.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.read(self.ask(path))
    }

    /// As [`get`](Self::get); none where the program has no such thing.
    pub(crate) fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, CliError> {
        match self.ask(path) {
            Ok(response) if response.status() == StatusCode::NOT_FOUND => Ok(None),
            result => self.read(result).map(Some),
        }
    }

    /// The zone of the program, in which times are shown that belong to no task.
    pub(super) fn zone(&self) -> Result<Zone, CliError> {
        Ok(zone_of(&self.get::<Info>("/info")?.zone))
    }

    fn ask(&self, path: &str) -> Result<Response<ureq::Body>, ureq::Error> {
        self.authorized(self.agent.get(self.address(path))).call()
    }

    pub(super) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        // The types of the API can always be written.
        let body = serde_json::to_vec(body).unwrap_or_default();
        let request = self.authorized(self.agent.post(self.address(path)));
        let request = request.header("content-type", "application/json");
        self.read(request.send(&body))
    }

    fn address(&self, path: &str) -> String {
        format!("{}{PATH}{path}", self.base)
    }

    fn authorized<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        result: Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<T, CliError> {
        let mut response = result.map_err(|error| self.no_answer(&error))?;
        let status = response.status();
        let text = response.body_mut().with_config().limit(BYTES_MAX).read_to_string();
        let text = text.map_err(|error| self.no_answer(&error))?;
        if status.is_success() {
            serde_json::from_str(&text).map_err(|_| self.is_another(status))
        } else {
            Err(self.refusal(status, serde_json::from_str(&text).ok()))
        }
    }

    /// Reads a part of an answer as a type of the API.
    pub(crate) fn typed<T: DeserializeOwned>(&self, answer: Value) -> Result<T, CliError> {
        serde_json::from_value(answer).map_err(|_| self.is_another(StatusCode::OK))
    }

    fn no_answer(&self, error: &ureq::Error) -> CliError {
        if matches!(error, ureq::Error::Timeout(_)) {
            let what = format!("no answer from {} within {} s", self.base, PATIENCE.as_secs());
            return CliError::unable(what)
                .help("the program hangs, or something between drops what it sends");
        }
        let fault = CliError::unable(format!(
            "no answer from {}: {}",
            self.base,
            plain(&error.to_string())
        ));
        // The first bytes of a plain answer are no record of TLS.
        if self.base.starts_with("https://") && error.to_string().contains("InvalidContentType") {
            return fault.help("it seems to speak HTTP without TLS: write http://");
        }
        fault.help("is the program running, with a dashboard? --url or SCHEDULER_URL say where")
    }

    fn is_another(&self, status: StatusCode) -> CliError {
        let what =
            format!("what answers at {} has no tasks: it said {}", self.base, status.as_u16());
        CliError::unable(what).help("the address is that of the dashboard, without what follows it")
    }

    /// The refusal in the words of the program.
    fn refusal(&self, status: StatusCode, problem: Option<ProblemDetails>) -> CliError {
        let Some(detail) =
            problem.map(|problem| problem.detail).filter(|detail| !detail.is_empty())
        else {
            return match status {
                StatusCode::NOT_FOUND => {
                    CliError::no(format!("{} has no such thing (404)", self.base))
                }
                _ => self.is_another(status),
            };
        };
        let (detail, help) = match detail.split_once("\nhelp: ") {
            Some((detail, help)) => (detail, Some(help)),
            None => (&*detail, None),
        };
        let (what, place) = detail.split_once('\n').unwrap_or((detail, ""));
        let is_passing = status.is_server_error()
            || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
        let fault = if is_passing { CliError::unable } else { CliError::no }(plain(what));
        let fault = fault.below(&place.lines().map(plain).collect::<Vec<_>>());
        match (status, help) {
            (StatusCode::UNAUTHORIZED, _) => {
                fault.help("give the token: SCHEDULER_TOKEN=… or --token, or --url with the link that the program prints")
            }
            (_, Some(help)) => help.lines().fold(fault, |fault, help| fault.help(plain(help))),
            (_, None) => fault,
        }
    }
}

/// Asks for something, and shows it.
pub(super) fn ask<T: DeserializeOwned>(
    path: &str,
    client: &ClientArgs,
    shown: impl FnOnce(&T, Look, &Api) -> Result<String, CliError>,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let api = Api::new(&client.server, ctx)?;
    if client.json {
        return ctx.say(api.get::<Value>(path)?);
    }
    let text = shown(&api.get(path)?, ctx.look(), &api)?;
    ctx.write(&text)
}

/// A request as the query of an address, with the names that it has in JSON.
pub(super) fn query(request: &impl Serialize) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(request) else { return String::new() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", escaped(&text(value))));
    pairs.collect::<Vec<_>>().join("&")
}

/// A name as a part of a path: everything but letters, digits and `-._~` is escaped.
pub(crate) fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(byte.into());
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// The zone of that name; UTC if the program knows one that is not known here.
pub(super) fn zone_of(name: &str) -> Zone {
    name.parse().unwrap_or(Zone::UTC)
}

/// An instant of the API, which may be absent.
pub(super) fn instant(at: &Option<String>) -> Option<DateTime<Utc>> {
    at.as_ref()?.parse().ok()
}

/// An instant as people read it: `Mon 2026-03-30 09:00 +02:00`.
pub(super) fn local(at: &str, zone: Zone) -> String {
    at.parse().map_or_else(|_| plain(at), |at| times::local(at, zone))
}

/// An instant that may be absent, as people read it.
pub(super) fn time(at: &Option<String>, zone: Zone) -> String {
    at.as_deref().map(|at| local(at, zone)).unwrap_or_default()
}

/// The form of the times of one table: all have their seconds, unless these are zero in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeFormat {
    zone: Zone,
    has_seconds: bool,
}

impl TimeFormat {
    pub(super) fn of<'a>(zone: Zone, times: impl IntoIterator<Item = &'a str>) -> Self {
        let mut times = times.into_iter().filter_map(|at| at.parse::<DateTime<Utc>>().ok());
        Self { zone, has_seconds: times.any(|at| at.timestamp() % 60 != 0) }
    }

    pub(super) fn local(self, at: &str) -> String {
        let text = |at| times::local_to(at, self.zone, self.has_seconds);
        at.parse().map_or_else(|_| plain(at), text)
    }

    pub(super) fn time(self, at: &Option<String>) -> String {
        at.as_deref().map(|at| self.local(at)).unwrap_or_default()
    }
}

/// A text of a program on one line, without anything that a terminal would obey, or that makes names look alike.
pub(crate) fn plain(text: &str) -> String {
    let is_odd = |letter: char| {
        let is_between = |first: char, last: char| (first..=last).contains(&letter);
        letter.is_control()
            || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
            || is_between('\u{200b}', '\u{200f}')
            || is_between('\u{2028}', '\u{202e}')
            || is_between('\u{2060}', '\u{206f}')
    };
    let shown = |letter| match letter {
        '\n' => ' ',
        _ if is_odd(letter) => '\u{fffd}',
        _ => letter,
    };
    text.chars().map(shown).collect()
}

/// A program, and the form of the answer.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    pub(super) server: ServerArgs,
    /// Answer in JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// A task of a program.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TaskArgs {
    /// The task, in full or by an unambiguous end of its name
    pub(super) name: String,
    #[command(flatten)]
    pub(super) client: ClientArgs,
}

/// The filter of jobs.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FilterArgs {
    /// Of this state: ready, running, done, parked or cancelled
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Of this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// In this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// In this partition
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// With this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Made by this schedule
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// With this text in the error; `*` stands for any text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
}

impl FilterArgs {
    pub(super) fn filter(&self) -> JobFilter {
        let Self { state, task, queue, partition, key, schedule, error } = self.clone();
        JobFilter { state, task, queue, partition, key, schedule, error, ..JobFilter::default() }
    }

    pub(super) fn has_state(&self) -> bool {
        self.state.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filter() == JobFilter::default()
    }

    /// The conditions, for a question.
    pub(super) fn in_words(&self) -> String {
        let conditions = [
            ("state", &self.state),
            ("task", &self.task),
            ("queue", &self.queue),
            ("partition", &self.partition),
            ("key", &self.key),
            ("schedule", &self.schedule),
            ("error", &self.error),
        ];
        let words = conditions.iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        let words: Vec<String> = words.map(|(name, text)| format!("{name} {text:?}")).collect();
        format!("with {}", words.join(", "))
    }
}

/// A length of time that is longer than zero.
pub(super) fn duration(text: &str) -> Result<std::time::Duration, CliError> {
    scheduler_expr::parse_period(text, None).map_err(|error| {
        let fault = CliError::unable(format!("{} is no length of time: {error}", named(text)));
        fault.help(error.help().unwrap_or("write for example `1h`, `30m` or `90s`"))
    })
}
