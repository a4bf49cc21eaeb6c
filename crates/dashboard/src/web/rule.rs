//! The rule that a visitor has written.

use std::time::Duration;

use scheduler::{Schedule, TaskControl, Zone};
use scheduler_api::{Preview, RuleRequest};

use crate::app::App;
use crate::problem::Problem;
use crate::view;

/// The greatest length of a text of a rule.
const TEXT_BYTES_MAX: usize = 500;

/// The shortest period of a rule by hand. A shorter one is a slip, and takes a whole thread.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// A rule that a visitor has written.
#[derive(Clone, Debug)]
pub(crate) struct Written(pub(super) RuleRequest);

impl Written {
    /// The schedule for a task, and what it would be with its next fire times. Without a zone it has the present one of the
    /// task.
    ///
    /// # Errors
    ///
    /// The fault of the rule, also for a durable task.
    pub(super) fn of_task(
        self,
        app: &App,
        task: &TaskControl,
        count: usize,
    ) -> Result<(Schedule, Preview), Problem> {
        let (zone, schedule) = self.schedule(app, task)?;
        let preview =
            task.preview(schedule.clone(), count).map_err(|error| Problem::of_rule(&error))?;
        Ok((schedule, view::preview(task.name(), &preview, zone)))
    }

    fn schedule(self, app: &App, task: &TaskControl) -> Result<(Zone, Schedule), Problem> {
        let Self(rule) = self;
        let texts = [
            &rule.cron,
            &rule.zone,
            &rule.fixed_rate,
            &rule.fixed_delay,
            &rule.initial_delay,
            &rule.at,
        ];
        for text in texts.into_iter().flatten() {
            // A placeholder would show a visitor the settings of the program.
            if text.contains("${") {
                return Err(Problem::bad_request("placeholders such as `${key}` are for the code"));
            }
            if text.len() > TEXT_BYTES_MAX {
                return Err(Problem::bad_request("the text is too long for a rule"));
            }
        }
        for length in [&rule.fixed_rate, &rule.fixed_delay].into_iter().flatten() {
            // One that is no length is refused with its place, where the rule is read.
            if scheduler_expr::parse_period(length, None).is_ok_and(|length| length < PERIOD_MIN) {
                return Err(Problem::bad_request(
                    "a rule by hand runs at most once in a millisecond",
                ));
            }
        }
        let present = view::row(app, &task.snapshot()).zone;
        let zone = present.parse().unwrap_or(Zone::UTC);
        let mut schedule = match (rule.cron, rule.fixed_rate, rule.fixed_delay, rule.at) {
            (Some(cron), None, None, None) => {
                let zone = rule.zone.filter(|zone| !zone.is_empty());
                Schedule::cron(cron).zone(zone.unwrap_or(present))
            }
            (None, Some(period), None, None) => Schedule::fixed_rate(period),
            (None, None, Some(delay), None) => Schedule::fixed_delay(delay),
            (None, None, None, Some(at)) => Schedule::at(at),
            _ => {
                let detail = "say one rule: `cron`, `fixedRate`, `fixedDelay` or `at`";
                return Err(Problem::bad_request(detail));
            }
        };
        if let Some(delay) = rule.initial_delay {
            schedule = schedule.initial_delay(delay);
        }
        Ok((zone, schedule))
    }
}
