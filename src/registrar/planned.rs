//! One task as planned: what the pool is given, and what people are told of it.

use std::error::Error;
use std::fmt;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Body;
use scheduler_core::MisfirePolicy;
use scheduler_core::OnError;
use scheduler_core::Task;
use scheduler_core::trigger::CronTrigger;
use scheduler_core::trigger::Zone;
use scheduler_expr::Attribute;
use scheduler_expr::CronExpression;
use scheduler_expr::DurationUnit;
use scheduler_expr::parse_delay;
use scheduler_expr::parse_period;

use crate::entry::Entry;
use crate::entry::Location;
use crate::inject::Call;
use crate::run::Cause;
use crate::run::Facts;
use crate::run::Run;
use crate::run::TaskError;

/// A task that can be submitted, with the facts that the banner and messages show.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) name: &'static str,
    pub(crate) location: Location,
    pub(crate) rhythm: Rhythm,
    call: Call,
}

/// When the task fires, as planned.
#[derive(Debug)]
pub(crate) enum Rhythm {
    Cron(Box<CronTrigger>),
    FixedRate { period: Duration, initial_delay: Duration },
    FixedDelay { delay: Duration, initial_delay: Duration },
    Once { delay: Duration },
}

impl Planned {
    pub(super) fn new(entry: &Entry, call: Call, zone: Zone) -> Result<Self, String> {
        Ok(Self {
            name: entry.name(),
            location: entry.location(),
            rhythm: rhythm(entry, zone)?,
            call,
        })
    }

    /// The first fire time when the scheduler starts at `now`; none when there is none.
    pub(crate) fn first_fire_time(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match &self.rhythm {
            Rhythm::Cron(trigger) => trigger.next_after(now),
            Rhythm::FixedRate { initial_delay: delay, .. }
            | Rhythm::FixedDelay { initial_delay: delay, .. }
            | Rhythm::Once { delay } => {
                let delay = chrono::TimeDelta::from_std(*delay).ok()?;
                now.checked_add_signed(delay)
            }
        }
    }

    /// The task for the pool. A failed run is reported, and the schedule goes on: Spring's rule.
    pub(crate) fn task(&self) -> Task<()> {
        let body = body(self.name.into(), self.call.clone());
        let task = match &self.rhythm {
            Rhythm::Cron(trigger) => Task::on_trigger(CronTrigger::clone(trigger), body),
            Rhythm::FixedRate { period, initial_delay } => Task::at_fixed_rate(*period, body)
                .initial_delay(*initial_delay)
                .misfire(MisfirePolicy::RunOnce),
            Rhythm::FixedDelay { delay, initial_delay } => {
                Task::with_fixed_delay(*delay, body).initial_delay(*initial_delay)
            }
            Rhythm::Once { delay } => Task::once_fallible(body).initial_delay(*delay),
        };
        task.name(self.name).on_error(OnError::Continue)
    }
}

fn rhythm(entry: &Entry, zone: Zone) -> Result<Rhythm, String> {
    let unit = entry.attribute(Attribute::TimeUnit).and_then(unit);
    let initial_delay = || {
        let text = entry.attribute(Attribute::InitialDelay).unwrap_or("0s");
        parse_delay(text, unit).map_err(|error| with_help("initial_delay", &error, error.help()))
    };
    if let Some(expression) = entry.attribute(Attribute::Cron) {
        return cron(expression, entry.attribute(Attribute::Zone), zone);
    }
    if let Some(period) = entry.attribute(Attribute::FixedRate) {
        let period = parse_period(period, unit)
            .map_err(|error| with_help("fixed_rate", &error, error.help()))?;
        return Ok(Rhythm::FixedRate { period, initial_delay: initial_delay()? });
    }
    if let Some(delay) = entry.attribute(Attribute::FixedDelay) {
        let delay = parse_period(delay, unit)
            .map_err(|error| with_help("fixed_delay", &error, error.help()))?;
        return Ok(Rhythm::FixedDelay { delay, initial_delay: initial_delay()? });
    }
    Ok(Rhythm::Once { delay: initial_delay()? })
}

fn unit(word: &str) -> Option<DurationUnit> {
    Attribute::parse_unit(word).ok()
}

fn cron(expression: &str, zone: Option<&str>, default: Zone) -> Result<Rhythm, String> {
    let zone = match zone {
        None => default,
        Some(name) => name.parse().map_err(|error: scheduler_expr::ParseZoneError| {
            with_help("zone", &error, error.help())
        })?,
    };
    let expression: CronExpression =
        expression.parse().map_err(|error: scheduler_expr::ParseCronError| {
            with_help("cron", &format!("{error}\n{}", error.caret()), error.help())
        })?;
    if let Some(never) = expression.never_fires() {
        return Err(with_help("cron", &format!("{never}\n{}", never.caret()), None));
    }
    Ok(Rhythm::Cron(Box::new(CronTrigger::new(expression, zone))))
}

fn with_help(attribute: &str, error: &dyn fmt::Display, help: Option<&str>) -> String {
    let mut text = format!("`{attribute}`: {error}");
    if let Some(help) = help {
        let _ = write!(text, "\nhelp: {help}");
    }
    text
}

fn body(task: Arc<str>, call: Call) -> Body {
    match call {
        Call::Sync(call) => Body::new(move || call(&present_run(&task)).map_err(Chain)),
        Call::Async(begin) => Body::new_async(move || {
            let run = begin(&present_run(&task));
            async move { run.await.map_err(Chain) }
        }),
    }
}

fn present_run(task: &Arc<str>) -> Run {
    let run = scheduler_core::Run::current();
    let (number, fire_time, started_at) = run.map_or_else(
        || (0, DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH),
        |run| (run.number(), run.fire_time(), run.started_at()),
    );
    let (task, cause) = (Arc::clone(task), Cause::Schedule);
    Run::new(Facts { task, number, attempt: 1, cause, fire_time, started_at })
}

/// An error shown with its causes, in one line.
struct Chain(TaskError);

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, "; caused by: {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
