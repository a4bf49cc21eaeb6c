//! One process of a cluster.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::journal::{Journal, Line, Run};
use crate::lab::eventually;

/// A process to be started.
#[derive(Debug)]
pub struct ProcessBuilder {
    label: String,
    command: Command,
    folder: PathBuf,
}

/// A running process. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    label: String,
    child: Child,
    journal: PathBuf,
}

impl ProcessBuilder {
    pub(crate) fn new(program: &Path, label: &str, folder: &Path, store: &str) -> Self {
        let mut command = Command::new(program);
        command.args(["--label", label, "--store", store]);
        command.arg("--journal").arg(folder.join(format!("{label}.journal")));
        Self { label: label.to_owned(), command, folder: folder.to_owned() }
    }

    /// Adds an option of the program `node`, with its value.
    #[must_use]
    pub fn with(mut self, option: &str, value: impl Display) -> Self {
        self.command.arg(format!("--{option}")).arg(value.to_string());
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn start(mut self) -> Process {
        let log = self.folder.join(format!("{}.log", self.label));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log);
        let log = log.expect("the log can be opened");
        let errors = log.try_clone().expect("a second handle of the log");
        self.command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = self.command.spawn().expect("the program `node` starts");
        let journal = self.folder.join(format!("{}.journal", self.label));
        Process { label: self.label, child, journal }
    }
}

impl Process {
    /// The name of the process.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Stops it as a debugger does: nothing of it runs until it is [continued](Self::resume).
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets a stopped process go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks it to stop, and waits until it has.
    ///
    /// # Panics
    ///
    /// If it takes longer than the limit.
    pub fn stop(&mut self, limit: Duration) -> ExitStatus {
        self.signal(Signal::TERM);
        eventually(limit, &format!("{} stops", self.label), || {
            self.child.try_wait().expect("its status")
        })
    }

    /// Its status, once it has ended.
    ///
    /// # Panics
    ///
    /// If the system does not tell.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("its status")
    }

    /// The processor time it has used, in clock ticks of the system.
    ///
    /// # Panics
    ///
    /// If the system does not tell.
    #[must_use]
    pub fn processor_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.expect("the process runs");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        number(12) + number(13)
    }

    /// The number of its threads.
    ///
    /// # Panics
    ///
    /// If the system does not tell.
    #[must_use]
    pub fn threads(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        tasks.expect("the process runs").count()
    }

    /// Its output.
    ///
    /// # Panics
    ///
    /// If its log cannot be read.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.journal.with_extension("log")).expect("the log can be read")
    }

    /// The lines of its journal with their times.
    #[must_use]
    pub fn lines(&self) -> Vec<(i64, Line)> {
        Journal::read(&self.journal)
    }

    /// The runs in its journal.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        Journal::runs(&self.label, &self.lines())
    }

    /// The notes of a kind in its journal, with their times.
    #[must_use]
    pub fn notes(&self, wanted: &str) -> Vec<(i64, String)> {
        let notes = self.lines().into_iter().filter_map(|(at, line)| match line {
            Line::Note { kind, text } if kind == wanted => Some((at, text)),
            _ => None,
        });
        notes.collect()
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }
}

/// The runs of processes.
#[must_use]
pub fn runs(processes: &[&Process]) -> Vec<Run> {
    processes.iter().flat_map(|process| process.runs()).collect()
}

impl Drop for Process {
    fn drop(&mut self) {
        self.resume();
        self.kill();
    }
}
