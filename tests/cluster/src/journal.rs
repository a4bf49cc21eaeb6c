//! The journal of a process: runs and events, line by line.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::Mutex;

/// Microseconds by the clock since boot, which all processes of a machine share.
#[must_use]
pub fn boot_micros() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
}

/// The wall clock of this process at an instant of the clock since boot, in microseconds since the Unix epoch.
#[must_use]
pub fn wall_at(boot: i64) -> i64 {
    loop {
        let before = boot_micros();
        let wall = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        // Read again if this process had no processor between both clocks.
        if boot_micros() - before < 1_000 {
            return wall.tv_sec * 1_000_000 + wall.tv_nsec / 1_000 - (before - boot);
        }
    }
}

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A run begins.
    Begin {
        /// The task.
        task: String,
        /// The job.
        job: String,
        /// The tick, in microseconds since the Unix epoch; 0 if there is none.
        tick: i64,
        /// The attempt.
        attempt: u32,
        /// The fence.
        fence: u64,
        /// The number of ticks before it that were missed.
        missed: u64,
    },
    /// A run ends.
    End {
        /// The job.
        job: String,
        /// The fence.
        fence: u64,
        /// The end.
        outcome: Outcome,
    },
    /// Something else that a test looks for: an event, or an identity that was enqueued.
    Note {
        /// The kind.
        kind: String,
        /// Its details, without spaces.
        text: String,
    },
}

/// The end of a run, as its body saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It returned.
    Done,
    /// It returned an error.
    Failed,
    /// It saw that it was lost, or was asked to stop.
    Stopped,
}

/// One run of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The process.
    pub process: String,
    /// The task.
    pub task: String,
    /// The job.
    pub job: String,
    /// The tick, in microseconds since the Unix epoch; 0 if there is none.
    pub tick: i64,
    /// The attempt.
    pub attempt: u32,
    /// The fence.
    pub fence: u64,
    /// The number of ticks before it that were missed.
    pub missed: u64,
    /// When it began, by the clock since boot.
    pub began: i64,
    /// When it ended, and how; none if it never did.
    pub end: Option<(i64, Outcome)>,
}

/// The journal that a process writes.
#[derive(Debug)]
pub struct Journal {
    file: Mutex<File>,
}

impl Journal {
    /// Appends to a file.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// Writes a line, in one call.
    ///
    /// # Panics
    ///
    /// If it cannot be written: a test that reads journals proves nothing then.
    pub fn write(&self, line: &Line) {
        let text = format!("{} {line}\n", boot_micros());
        let mut file = self.file.lock().expect("no writer panics");
        file.write_all(text.as_bytes()).expect("the journal can be written");
    }

    /// Reads the lines of a journal with their times. Without a line feed the last one does not count: its process was
    /// killed as it wrote it, or writes it now.
    ///
    /// # Panics
    ///
    /// On a line that is not one of ours.
    #[must_use]
    pub fn read(path: &Path) -> Vec<(i64, Line)> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().map(|line| {
            let (at, rest) = line.split_once(' ').expect("a time and the rest");
            (at.parse().expect("a time"), rest.parse().expect("a line"))
        });
        lines.collect()
    }

    /// The runs in a journal, in the order in which they began.
    #[must_use]
    pub fn runs(process: &str, lines: &[(i64, Line)]) -> Vec<Run> {
        let mut ends = BTreeMap::new();
        for (at, line) in lines {
            if let Line::End { job, fence, outcome } = line {
                ends.insert((job.clone(), *fence), (*at, *outcome));
            }
        }
        let runs = lines.iter().filter_map(|(at, line)| match line {
            Line::Begin { task, job, tick, attempt, fence, missed } => Some(Run {
                process: process.to_owned(),
                task: task.clone(),
                job: job.clone(),
                tick: *tick,
                attempt: *attempt,
                fence: *fence,
                missed: *missed,
                began: *at,
                end: ends.get(&(job.clone(), *fence)).copied(),
            }),
            _ => None,
        });
        runs.collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin { task, job, tick, attempt, fence, missed } => {
                write!(f, "begin {task} {job} {tick} {attempt} {fence} {missed}")
            }
            Self::End { job, fence, outcome } => write!(f, "end {job} {fence} {outcome:?}"),
            Self::Note { kind, text } => write!(f, "note {kind} {text}"),
        }
    }
}

impl FromStr for Line {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let parts: Vec<&str> = line.split(' ').collect();
        let bad = || format!("`{line}` is no line of a journal");
        let number = |text: &str| text.parse().map_err(|_| bad());
        Ok(match *parts {
            ["begin", task, job, tick, attempt, fence, missed] => Self::Begin {
                task: task.to_owned(),
                job: job.to_owned(),
                tick: tick.parse().map_err(|_| bad())?,
                attempt: attempt.parse().map_err(|_| bad())?,
                fence: number(fence)?,
                missed: number(missed)?,
            },
            ["end", job, fence, outcome] => Self::End {
                job: job.to_owned(),
                fence: number(fence)?,
                outcome: match outcome {
                    "Done" => Outcome::Done,
                    "Failed" => Outcome::Failed,
                    "Stopped" => Outcome::Stopped,
                    _ => return Err(bad()),
                },
            },
            ["note", kind, text] => Self::Note { kind: kind.to_owned(), text: text.to_owned() },
            _ => return Err(bad()),
        })
    }
}

/// The runs of a task by their tick.
#[must_use]
pub fn by_tick(runs: &[Run], task: &str) -> BTreeMap<i64, Vec<Run>> {
    let mut ticks = BTreeMap::<i64, Vec<Run>>::new();
    for run in runs.iter().filter(|run| run.task == task && run.tick != 0) {
        ticks.entry(run.tick).or_default().push(run.clone());
    }
    ticks
}

/// The whole second of a tick.
#[must_use]
pub fn second_of(tick: i64) -> i64 {
    tick.div_euclid(1_000_000)
}

/// Returns two runs that were in progress at the same time, if there are any. Runs that never ended do not count.
#[must_use]
pub fn overlapping(runs: &[Run]) -> Option<(Run, Run)> {
    let mut runs: Vec<&Run> = runs.iter().filter(|run| run.end.is_some()).collect();
    runs.sort_by_key(|run| run.began);
    let found =
        runs.windows(2).find(|pair| pair[0].end.is_some_and(|(end, _)| end > pair[1].began));
    found.map(|pair| (pair[0].clone(), pair[1].clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_does_not_count() {
        let path = std::env::temp_dir().join(format!("half-a-line-{}.journal", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&path, text).expect("it can be written");
            Journal::read(&path).len()
        };
        let (one, half) = ("7 note kind text\n", "8 begin work 01a2");
        let lengths = [read(""), read(half), read(one), read(&format!("{one}{half}"))];
        std::fs::remove_file(&path).expect("it exists");
        assert_eq!(lengths, [0, 0, 1, 1]);
    }
}
