//! The conditions that select jobs.

use scheduler_api::JobFilter;

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
        let Self { state, task, queue, key, schedule, error } = self.clone();
        JobFilter { state, task, queue, key, schedule, error, ..JobFilter::default() }
    }

    /// The conditions, for a question.
    pub(super) fn in_words(&self) -> String {
        let conditions = [
            ("state", &self.state),
            ("task", &self.task),
            ("queue", &self.queue),
            ("key", &self.key),
            ("schedule", &self.schedule),
            ("error", &self.error),
        ];
        let words = conditions.iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        let words: Vec<String> = words.map(|(name, text)| format!("{name} {text:?}")).collect();
        format!("with {}", words.join(", "))
    }
}
