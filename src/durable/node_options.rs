//! The options of this process's node.

use std::time::Duration;

use scheduler_node::Config;
use scheduler_store::check_name;

use super::client::EXPIRES_AFTER;
use crate::define::settings::NodeSettings;

/// The options of this process for its part in the work that its [store](crate::Builder::store) keeps.
///
/// Each option has a setting of its name, such as `scheduler.node.lease = "10s"` in `scheduler.toml`, or
/// `SCHEDULER_NODE_LEASE=10s`, which counts more than the code.
///
/// The defaults suit a store on the same machine and one far away. The jobs of a process that dies run elsewhere a lease after its
/// last renewal, and a second or two.
///
/// ```
/// use scheduler::{NodeOptions, Scheduler};
/// use std::time::Duration;
///
/// let options = NodeOptions::default()
///     .label("web-1")
///     .lease(Duration::from_secs(5))
///     .queues(["default", "mail"]);
/// let builder = Scheduler::builder().node(options);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct NodeOptions {
    set: NodeSettings,
}

/// The number of jobs of async functions that run at once by default.
pub(crate) const ASYNC_JOBS: u32 = 32;

/// The kinds of jobs that a process runs, which decide how many it runs at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobKinds {
    /// The threads of all pools.
    threads: u32,
    has_async: bool,
    has_plain: bool,
}

impl JobKinds {
    /// The kinds of tasks; each is true if it is async.
    pub(crate) fn new(threads: u32, tasks: impl Iterator<Item = bool>) -> Self {
        let none = Self { threads, has_async: false, has_plain: false };
        tasks.fold(none, |kinds, is_async| Self {
            has_async: kinds.has_async || is_async,
            has_plain: kinds.has_plain || !is_async,
            ..kinds
        })
    }

    /// Returns true if some hold threads, and others do not.
    pub(crate) fn are_mixed(self) -> bool {
        self.has_async && self.has_plain
    }

    fn concurrency(self) -> u32 {
        let of_async = if self.has_async { ASYNC_JOBS } else { 0 };
        let of_plain = if self.has_plain || !self.has_async { self.threads } else { 0 };
        of_async.saturating_add(of_plain)
    }
}

/// The name of the program of this process.
pub(crate) fn program() -> String {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(|path| path.file_stem());
    name.map_or_else(|| "process".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The longest lease: what runs for longer without the store is not worth waiting for.
const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

impl NodeOptions {
    /// The life of the session after each renewal; 15 seconds by default. A process that cannot reach the store for
    /// 0.85 of it stops its durable runs, but for those with `on_lost = "abandon"`, and after all of it others take over.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.set.lease = Some(lease);
        self
    }

    /// The time between two renewals of the lease: a third of it by default, and at most half.
    pub fn renew_every(mut self, period: Duration) -> Self {
        self.set.renew_every = Some(period);
        self
    }

    /// The time between two searches for jobs that run without a session, which only a lost statement leaves; 15
    /// seconds by default. The jobs of a dead process are taken over at once.
    pub fn reap_every(mut self, period: Duration) -> Self {
        self.set.reap_every = Some(period);
        self
    }

    /// The time between two polls when nothing is known to be due; a second by default. A job that this process
    /// enqueues itself starts at once.
    pub fn poll_every(mut self, period: Duration) -> Self {
        self.set.poll_every = Some(period);
        self
    }

    /// The longest time for an answer of the store, after which it does not execute the request any more; 5 seconds by
    /// default, and at most a lease.
    pub fn answer_limit(mut self, limit: Duration) -> Self {
        self.set.answer_limit = Some(limit);
        self
    }

    /// The greatest number of jobs that run at once. By default 32 of async functions, which hold no thread while they wait, and
    /// of plain functions as many as the pools have threads.
    ///
    /// In a process with both, or with several pools, no more jobs of a plain function are claimed than the threads of its pool
    /// can begin soon.
    pub fn concurrency(mut self, runs: u32) -> Self {
        self.set.concurrency = Some(runs);
        self
    }

    /// The queues whose jobs this process runs; all by default. With none it runs no jobs: it enqueues, and fires ticks that
    /// others run.
    pub fn queues<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.set.queues = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The name of this process for people; by default its program and number. It identifies nothing.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.set.label = Some(label.into());
        self
    }

    /// The build of this process, for people.
    pub fn build(mut self, build: impl Into<String>) -> Self {
        self.set.build = Some(build.into());
        self
    }

    /// The name of the application; by default its program. Processes of one application share a store: a process whose store has
    /// only others, with none of its tasks, warns at its start, because each would run jobs of both.
    pub fn application(mut self, name: impl Into<String>) -> Self {
        self.set.application = Some(name.into());
        self
    }

    /// The time for which done and cancelled jobs are kept; a day by default, and at least 20 seconds and twice the
    /// [limit of an answer](Self::answer_limit) (R2). With zero a job that succeeds is deleted at once: `get` and `wait` do not
    /// find it, and for this minimum only its identity is kept, so that it is not accepted again.
    ///
    /// A job that is enqueued again after that is another job.
    pub fn keep_done(mut self, time: Duration) -> Self {
        self.set.keep_done = Some(time);
        self
    }

    /// The time for which parked jobs are kept; 30 days by default, with the same minimum.
    pub fn keep_parked(mut self, time: Duration) -> Self {
        self.set.keep_parked = Some(time);
        self
    }

    /// The time for which [changes by hand](crate::Jobs::actions) are kept; 90 days by default, with the same minimum.
    pub fn keep_actions(mut self, time: Duration) -> Self {
        self.set.keep_actions = Some(time);
        self
    }

    /// The name of this process, or this one if it has none.
    pub(crate) fn label_or(&self, process: String) -> String {
        self.set.label.clone().unwrap_or(process)
    }

    /// Returns true if a number of jobs was given that run at once.
    pub(crate) fn has_concurrency(&self) -> bool {
        self.set.concurrency.is_some()
    }

    /// Returns true if this process runs the jobs of a queue.
    pub(crate) fn serves(&self, queue: &str) -> bool {
        self.set.queues.as_ref().is_none_or(|queues| queues.iter().any(|each| each == queue))
    }

    /// The same with the settings that are set, which count more than the code.
    pub(crate) fn with_settings(self, settings: NodeSettings) -> Self {
        Self { set: settings.or(self.set) }
    }

    /// Each option as its setting is called, its effective value, and whether the code has set it.
    pub(crate) fn shown(
        &self,
        kinds: JobKinds,
        process: &str,
    ) -> Vec<(&'static str, String, bool)> {
        let Ok(config) = self.config(kinds, process) else { return Vec::new() };
        use crate::define::schedule::length_text as length;
        let queues = self.set.queues.as_ref().map(|queues| queues.join(", "));
        vec![
            ("lease", length(config.lease), self.set.lease.is_some()),
            ("renew-every", length(config.renew_every()), self.set.renew_every.is_some()),
            ("reap-every", length(config.reap_every), self.set.reap_every.is_some()),
            ("poll-every", length(config.poll_every), self.set.poll_every.is_some()),
            ("answer-limit", length(config.answer_limit), self.set.answer_limit.is_some()),
            ("concurrency", config.workers.to_string(), self.set.concurrency.is_some()),
            ("queues", queues.unwrap_or_else(|| "all".to_owned()), self.set.queues.is_some()),
            ("label", config.label, self.set.label.is_some()),
            ("build", config.build, self.set.build.is_some()),
            ("application", config.application, self.set.application.is_some()),
            ("keep-done", length(config.keep_done), self.set.keep_done.is_some()),
            ("keep-parked", length(config.keep_parked), self.set.keep_parked.is_some()),
            ("keep-actions", length(config.keep_actions), self.set.keep_actions.is_some()),
        ]
    }

    /// The configuration of a node, or all that is wrong with the options.
    pub(crate) fn config(&self, kinds: JobKinds, process: &str) -> Result<Config, Vec<String>> {
        let default = Config::default();
        let lease = self.set.lease.unwrap_or(default.lease);
        let mut config = Config {
            lease,
            renew_every: self.set.renew_every,
            reap_every: self.set.reap_every.unwrap_or(default.reap_every),
            poll_every: self.set.poll_every.unwrap_or(default.poll_every),
            answer_limit: self.set.answer_limit.unwrap_or(default.answer_limit.min(lease)),
            workers: self.set.concurrency.unwrap_or_else(|| kinds.concurrency()),
            queues: self
                .set
                .queues
                .as_ref()
                .map(|queues| queues.iter().map(|queue| queue.as_str().into()).collect()),
            label: self.set.label.clone().unwrap_or_else(|| process.to_owned()),
            build: self.set.build.clone().unwrap_or_default(),
            application: self.set.application.clone().unwrap_or_else(program),
            keep_parked: self.set.keep_parked.unwrap_or(default.keep_parked),
            keep_actions: self.set.keep_actions.unwrap_or(default.keep_actions),
            ..default
        };
        // A request that is sent again has to find what it did before (R2).
        let least = config.answer_limit.max(EXPIRES_AFTER).saturating_mul(2);
        config.keep_least = least;
        config.keep_done = match self.set.keep_done.unwrap_or(config.keep_done) {
            Duration::ZERO => Duration::ZERO,
            time => time.max(least),
        };
        config.keep_parked = config.keep_parked.max(least);
        config.keep_actions = config.keep_actions.max(least);
        let faults = self.faults(&config);
        if faults.is_empty() { Ok(config) } else { Err(faults) }
    }

    fn faults(&self, config: &Config) -> Vec<String> {
        let (lease, renew) = (config.lease, config.renew_every());
        let mut faults = Vec::new();
        let mut fault = |is_wrong: bool, what: String, help: &str| {
            if is_wrong {
                faults.push(format!("the node: {what}\nhelp: {help}"));
            }
        };
        let least = Duration::from_millis(100);
        fault(
            lease < least || lease > LEASE_MAX,
            format!("a lease of {lease:?} cannot work: it lasts from {least:?} to a day"),
            "write for example `scheduler.node.lease = \"15s\"`, or NodeOptions::default().lease(Duration::from_secs(15))",
        );
        fault(
            renew.is_zero() || renew.saturating_mul(2) > lease,
            format!("a lease of {lease:?} that is renewed every {renew:?} may run out in between"),
            "leave out renew_every, which is then a third of the lease",
        );
        for (name, period) in [
            ("reap_every", config.reap_every),
            ("poll_every", config.poll_every),
            ("answer_limit", config.answer_limit),
        ] {
            fault(period.is_zero(), format!("{name} is zero"), "write a length, or leave it out");
        }
        fault(
            config.answer_limit > lease,
            format!(
                "an answer limit of {:?} is longer than the lease of {lease:?}",
                config.answer_limit
            ),
            "a request must not be executed when the session may have ended: choose a shorter limit",
        );
        fault(config.workers == 0, "a concurrency of 0 runs no job".to_owned(), "write at least 1");
        let queues = self.set.queues.iter().flatten();
        for queue in queues {
            let Err(why) = check_name("queue", queue) else { continue };
            let shown: String = queue.escape_debug().take(40).collect();
            let fix = "a name has 1 to 250 bytes, and no NUL";
            fault(true, format!("`{shown}` cannot name a {why}"), fix);
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(threads: u32) -> JobKinds {
        JobKinds::new(threads, std::iter::empty())
    }

    fn faults(options: &NodeOptions) -> Vec<String> {
        options.config(plain(4), "shop").err().unwrap_or_default()
    }

    #[test]
    fn the_defaults_work_and_a_short_lease_brings_a_short_limit() {
        let config = NodeOptions::default().config(plain(4), "shop").expect("no faults");
        assert_eq!((config.workers, &*config.label), (4, "shop"));
        let short = NodeOptions::default().lease(Duration::from_secs(2)).config(plain(4), "shop");
        assert_eq!(short.expect("no faults").answer_limit, Duration::from_secs(2));
    }

    #[test]
    fn async_jobs_do_not_count_threads_and_plain_ones_do() {
        let workers = |tasks: &[bool]| {
            let kinds = JobKinds::new(2, tasks.iter().copied());
            NodeOptions::default().config(kinds, "shop").expect("no faults").workers
        };
        assert_eq!([workers(&[]), workers(&[false])], [2, 2]);
        assert_eq!([workers(&[true]), workers(&[true, false])], [32, 34]);
    }

    #[test]
    fn r2_jobs_that_have_ended_are_kept_while_a_caller_may_send_them_again() {
        let (none, long) = (Duration::ZERO, Duration::from_secs(15));
        let brief = NodeOptions::default().keep_done(Duration::from_secs(1)).keep_parked(none);
        for (options, least) in [(brief.clone(), 20), (brief.lease(long).answer_limit(long), 30)] {
            let config = options.config(plain(1), "shop").expect("no faults");
            let least = Duration::from_secs(least);
            assert_eq!((config.keep_done, config.keep_parked), (least, least));
            let config = options.keep_done(none).config(plain(1), "shop").expect("no faults");
            assert_eq!((config.keep_done, config.keep_least), (none, least));
        }
    }

    #[test]
    fn f_lk1_settings_that_cannot_work_name_both_values() {
        let second = Duration::from_secs(1);
        let zero = faults(&NodeOptions::default().lease(Duration::ZERO));
        assert!(zero[0].contains("a lease of 0ns cannot work"), "{zero:?}");
        let renew = faults(&NodeOptions::default().lease(second * 3).renew_every(second * 2));
        assert!(renew[0].contains("3s that is renewed every 2s"), "{renew:?}");
        let limit = faults(&NodeOptions::default().lease(second).answer_limit(second * 2));
        assert!(limit[0].contains("limit of 2s is longer than the lease of 1s"), "{limit:?}");
        let long = faults(&NodeOptions::default().lease(Duration::MAX));
        assert!(long[0].contains("to a day"), "{long:?}");
        let bad = [String::new(), "q".repeat(300), "a\0b".to_owned()];
        let names = faults(&NodeOptions::default().queues(bad));
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names[2].contains("`a\\0b` cannot name a queue: it has a NUL"), "{names:?}");
        assert_eq!(faults(&NodeOptions::default().concurrency(0)).len(), 1);
        let endless = NodeOptions::default().renew_every(Duration::MAX).answer_limit(Duration::MAX);
        assert_eq!(faults(&endless).len(), 2);
    }
}
