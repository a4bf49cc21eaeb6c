//! The banner: one line on the scheduler, one per task with its rule, its next run and its zone.

use std::fmt;

use chrono::DateTime;
use chrono::Utc;

use super::words::duration;
use super::words::instant;
use super::words::on_one_line;
use crate::registrar::Plan;
use crate::registrar::Planned;
use crate::registrar::Rhythm;

/// The text that is said when the scheduler starts.
#[derive(Debug)]
pub(crate) struct Banner<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) now: DateTime<Utc>,
    pub(crate) threads: usize,
    pub(crate) prefix: &'a str,
}

impl fmt::Display for Banner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        if self.plan.tasks.is_empty() {
            return f.write_str(NO_TASKS);
        }
        let rows: Vec<[String; 3]> = self.plan.tasks.iter().map(|task| self.row(task)).collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let (name, rule) = (width(0), width(1));
        for [task, words, next] in &rows {
            write!(f, "\n  {task:name$}  {words:rule$}  {next}")?;
        }
        Ok(())
    }
}

impl Banner<'_> {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.plan.tasks.len();
        let (zone, offset) = (self.plan.zone.name(), self.plan.zone.offset_at(self.now));
        let (threads, prefix) = (self.threads, self.prefix);
        write!(f, "scheduler {}  ", env!("CARGO_PKG_VERSION"))?;
        write!(f, "{tasks} task{} · ", if tasks == 1 { "" } else { "s" })?;
        match threads {
            1 => write!(f, "1 thread ({prefix}1)")?,
            _ => write!(f, "{threads} threads ({prefix}1 … {prefix}{threads})")?,
        }
        write!(f, " · zone {zone} (UTC{offset})")
    }

    fn row(&self, task: &Planned) -> [String; 3] {
        [on_one_line(task.name), self.rule(task), self.next(task)]
    }

    fn rule(&self, task: &Planned) -> String {
        let (rule, initial_delay) = match &task.rhythm {
            Rhythm::Cron(trigger) => {
                return format!("{trigger} in {}", trigger.zone().name());
            }
            Rhythm::FixedRate { period, initial_delay } => {
                (format!("every {}", duration(*period)), initial_delay)
            }
            Rhythm::FixedDelay { delay, initial_delay } => {
                (format!("{} after each run", duration(*delay)), initial_delay)
            }
            Rhythm::Once { delay } => return format!("once, after {}", duration(*delay)),
        };
        if initial_delay.is_zero() {
            return rule;
        }
        format!("{rule}, first after {}", duration(*initial_delay))
    }

    fn next(&self, task: &Planned) -> String {
        let zone = match &task.rhythm {
            Rhythm::Cron(trigger) => trigger.zone(),
            _ => self.plan.zone,
        };
        match task.first_fire_time(self.now) {
            None => "next: never".to_owned(),
            Some(next) if next <= self.now => "next: now".to_owned(),
            Some(next) => {
                let left = (next - self.now).to_std().unwrap_or_default();
                format!("next: {}, in {}", instant(next, zone), duration(left))
            }
        }
    }
}

const NO_TASKS: &str = "
WARN  no scheduled tasks found
      note: tasks in another crate are linked only if the crate is mentioned: add `use jobs as _;` to main.rs
      note: a file is compiled only if it is declared: is there a `mod jobs;`?
      help: annotate a function: #[scheduled(fixed_rate = \"1s\")] fn tick() {}";
