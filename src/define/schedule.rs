//! The schedule of a task that code defines.
//!
//! [`Schedule`] is the same in code as the attributes of `#[scheduled]`: a rule and options. It is for tasks that are
//! closures, and for changing the schedule of a running task. It keeps the texts that an annotation keeps, so that
//! placeholders, settings and messages are the same for both; the registrar checks them in one place.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, TimeZone, Utc};
use scheduler_core::Trigger;
use scheduler_expr::{
    Attribute, DstGap, DstOverlap, Misfire, OnError, Overlap, Role, SignedDuration,
};

/// Attributes with their texts, as an annotation has them.
type Texts = Vec<(Attribute, String)>;

/// The rule and the options of a task that is written in code.
///
/// Every text may hold placeholders, `${key:default}`, and settings can override all of it by the
/// task's name, just as those of an annotation.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("purge", Schedule::fixed_delay("30s").initial_delay(Duration::from_secs(5)), |_| {
///         println!("purging");
///     })
///     .task("report", Schedule::cron("0 0 9 * * MON-FRI").zone("Europe/Berlin"), |run| {
///         println!("the report of {}", run.fire_time());
///     })
///     .spawn()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The default one has no rule, so no task can have it: it is for [`Builder::defaults`](crate::Builder::defaults).
#[derive(Clone, Default)]
#[must_use = "a schedule does nothing until a task has it"]
pub struct Schedule {
    texts: Texts,
    trigger: Option<Arc<dyn Trigger>>,
}

impl Schedule {
    /// Whenever the wall clock matches a cron expression. It is checked at the start; [`cron!`](crate::cron!) checks it while
    /// the program compiles.
    pub fn cron(expression: impl Into<String>) -> Self {
        Self::with(Attribute::Cron, expression.into())
    }

    /// At fire times one period apart, however long the runs take.
    #[doc(alias = "scheduleAtFixedRate")]
    pub fn fixed_rate(period: impl IntoDuration) -> Self {
        Self::with(Attribute::FixedRate, period.into_text())
    }

    /// Repeatedly, with a delay from the end of each run to the start of the next.
    #[doc(alias = "scheduleWithFixedDelay")]
    pub fn fixed_delay(delay: impl IntoDuration) -> Self {
        Self::with(Attribute::FixedDelay, delay.into_text())
    }

    /// Once, after a delay.
    pub fn once(delay: impl IntoDuration) -> Self {
        Self::with(Attribute::InitialDelay, delay.into_text())
    }

    /// Once, at an instant of the wall clock; at once if it has passed.
    ///
    /// ```
    /// use scheduler::Schedule;
    /// use scheduler::chrono::{TimeDelta, Utc};
    ///
    /// let one = Schedule::at("2027-01-01T09:00:00+01:00");
    /// let other = Schedule::at(Utc::now() + TimeDelta::minutes(10));
    /// ```
    pub fn at(instant: impl IntoInstant) -> Self {
        Self::with(Attribute::At, instant.into_text())
    }

    /// At the fire times of a custom trigger. It is asked before the scheduler starts, and after each run. A task whose trigger has no further fire time has completed.
    ///
    /// A trigger that returns an error, panics, or names a fire time that is not after the last one is reported
    /// ([`EventKind::TriggerFailed`](crate::EventKind::TriggerFailed)) and asked again after 1 s, 2 s, 4 s and so on, at most a
    /// minute, until it answers; no run of the schedule starts before. The scheduler starts all the same.
    ///
    /// ```
    /// use scheduler::chrono::TimeDelta;
    /// use scheduler::{NextFireTime, Schedule, Trigger, TriggerContext};
    ///
    /// struct EverySecond;
    ///
    /// impl Trigger for EverySecond {
    ///     fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
    ///         let last = context.last_scheduled().unwrap_or(context.now());
    ///         Ok(Some(last + TimeDelta::seconds(1)))
    ///     }
    ///
    ///     fn describe(&self) -> String {
    ///         "every second".to_owned()
    ///     }
    /// }
    ///
    /// let schedule = Schedule::on_trigger(EverySecond);
    /// ```
    pub fn on_trigger(trigger: impl Trigger + 'static) -> Self {
        Self { texts: Vec::new(), trigger: Some(Arc::new(trigger)) }
    }

    /// Waits this long before the first run.
    pub fn initial_delay(self, delay: impl IntoDuration) -> Self {
        self.set(Attribute::InitialDelay, delay.into_text())
    }

    /// The time zone of the cron expression, such as `Europe/Berlin`.
    pub fn zone(self, name: impl Into<String>) -> Self {
        self.set(Attribute::Zone, name)
    }

    /// Starts each run later by a random part of this, which is the same in every process.
    pub fn jitter(self, length: impl IntoDuration) -> Self {
        self.set(Attribute::Jitter, length.into_text())
    }

    /// The time that an attempt may take.
    pub fn timeout(self, limit: impl IntoDuration) -> Self {
        self.set(Attribute::Timeout, limit.into_text())
    }

    /// Repeats a failed run, at most `max` times, after a random part of `base`, twice `base` and so
    /// on, but never more than `cap`.
    ///
    /// ```
    /// use scheduler::Schedule;
    ///
    /// // Up to 3 further attempts, after at most 1, 2 and 4 seconds.
    /// let schedule = Schedule::cron("@hourly").retry(3, "1s", "1m");
    /// ```
    pub fn retry(self, max: u32, base: impl IntoDuration, cap: impl IntoDuration) -> Self {
        self.set(Attribute::RetryMax, max.to_string())
            .set(Attribute::RetryBase, base.into_text())
            .set(Attribute::RetryCap, cap.into_text())
    }

    /// The policy for a fire time that comes during a run.
    ///
    /// ```
    /// use scheduler::{Overlap, Schedule};
    ///
    /// let schedule = Schedule::fixed_rate("5s").overlap(Overlap::QueueOne);
    /// ```
    pub fn overlap(self, overlap: Overlap) -> Self {
        self.set(Attribute::Overlap, overlap.name())
    }

    /// The policy for fire times at which nothing could run.
    pub fn misfire(self, misfire: Misfire) -> Self {
        self.set(Attribute::Misfire, misfire.name())
    }

    /// The policy for the task after a run whose last attempt failed.
    pub fn on_error(self, on_error: OnError) -> Self {
        self.set(Attribute::OnError, on_error.name())
    }

    /// The most runs that may be in progress at once; only with [`Overlap::Allow`].
    pub fn max_concurrent(self, runs: u32) -> Self {
        self.set(Attribute::MaxConcurrent, runs.to_string())
    }

    /// The instant after which the task does not fire.
    pub fn until(self, instant: impl IntoInstant) -> Self {
        self.set(Attribute::Until, instant.into_text())
    }

    /// The most runs that the schedule starts; then the task has completed.
    pub fn max_runs(self, runs: u64) -> Self {
        self.set(Attribute::MaxRuns, runs.to_string())
    }

    /// The name of a [calendar](crate::Builder::calendar): on its days a cron expression does not fire.
    pub fn skip_days(self, calendar: impl Into<String>) -> Self {
        self.set(Attribute::SkipDays, calendar)
    }

    /// Names under which [several tasks are controlled together](crate::Tasks::tagged).
    ///
    /// ```
    /// use scheduler::Schedule;
    ///
    /// let schedule = Schedule::cron("@daily").tags(["billing", "nightly"]);
    /// ```
    pub fn tags<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        let tags: Vec<String> = tags.into_iter().map(Into::into).collect();
        self.set(Attribute::Tags, tags.join(", "))
    }

    /// The policy for local times that a change of the clock leaves out.
    pub fn dst_gap(self, gap: DstGap) -> Self {
        self.set(Attribute::DstGap, gap.name())
    }

    /// The policy for local times that come twice.
    pub fn dst_overlap(self, overlap: DstOverlap) -> Self {
        self.set(Attribute::DstOverlap, overlap.name())
    }

    /// Keeps the schedule in the [store](crate::Builder::store): each tick fires once in all processes together, and
    /// ticks that come while none of them runs are not forgotten.
    ///
    /// ```
    /// use scheduler::{OnLost, Priority, Schedule};
    ///
    /// let schedule = Schedule::cron("0 0 3 * * *")
    ///     .zone("UTC")
    ///     .durable()
    ///     .on_lost(OnLost::Abandon)
    ///     .misfire_window("6h")
    ///     .queue("reports")
    ///     .priority(Priority::Low);
    /// ```
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn durable(self) -> Self {
        self.set(Attribute::Durable, "true")
    }

    /// The policy for a run whose process died; only of a [durable](Self::durable) schedule.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn on_lost(self, on_lost: scheduler_store::OnLost) -> Self {
        self.set(Attribute::OnLost, on_lost.name())
    }

    /// The age up to which a missed tick still runs; only of a [durable](Self::durable) schedule.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn misfire_window(self, length: impl IntoDuration) -> Self {
        self.set(Attribute::MisfireWindow, length.into_text())
    }

    /// The queue in which its jobs wait; only of a [durable](Self::durable) schedule.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn queue(self, name: impl Into<String>) -> Self {
        self.set(Attribute::Queue, name)
    }

    /// The priority of its jobs; only of a [durable](Self::durable) schedule.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn priority(self, priority: scheduler_store::Priority) -> Self {
        self.set(Attribute::Priority, priority.name())
    }

    /// The number of its jobs that run at once in all processes together; only of a [durable](Self::durable) schedule.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn limit_running(self, jobs: u32) -> Self {
        self.set(Attribute::LimitRunning, jobs.to_string())
    }

    /// The number of its jobs that start in any window of a time, as `100/1m`, in all processes together; only of a
    /// [durable](Self::durable) schedule.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn limit_rate(self, rate: impl Into<String>) -> Self {
        self.set(Attribute::LimitRate, rate)
    }

    /// The number of those that start at once after a rest.
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn limit_burst(self, jobs: u32) -> Self {
        self.set(Attribute::LimitBurst, jobs.to_string())
    }

    /// Disables the task with `false`.
    pub fn enabled(self, is_enabled: bool) -> Self {
        self.set(Attribute::Enabled, is_enabled.to_string())
    }

    /// The pool that runs the task, by its name.
    pub fn pool(self, name: impl Into<String>) -> Self {
        self.set(Attribute::Pool, name)
    }

    /// Any attribute, by the text that an annotation would have for it.
    ///
    /// ```
    /// use scheduler::{Attribute, Schedule};
    ///
    /// let schedule = Schedule::fixed_rate("5s").set(Attribute::Overlap, "${import.overlap:skip}");
    /// ```
    pub fn set(mut self, attribute: Attribute, text: impl Into<String>) -> Self {
        self.texts.retain(|(known, _)| *known != attribute);
        self.texts.push((attribute, text.into()));
        self
    }

    /// The texts of its attributes, and its custom trigger.
    pub(crate) fn into_parts(self) -> (Texts, Option<Arc<dyn Trigger>>) {
        (self.texts, self.trigger)
    }

    /// The first attribute that is an option, and no part of the rule.
    pub(crate) fn policy(&self) -> Option<Attribute> {
        let is_policy = |attribute: &Attribute| attribute.row().role == Role::Option;
        self.texts.iter().map(|(attribute, _)| *attribute).find(is_policy)
    }

    fn with(attribute: Attribute, text: String) -> Self {
        Self { texts: vec![(attribute, text)], trigger: None }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        map.entries(self.texts.iter().map(|(attribute, text)| (attribute.name(), text)));
        map.entries(self.trigger.iter().map(|trigger| ("trigger", trigger)));
        map.finish()
    }
}

/// A length of time, as a [`Duration`] or as the text of one, such as `"1h30m"`.
///
/// ```
/// use scheduler::Schedule;
/// use std::time::Duration;
///
/// let one = Schedule::fixed_rate("1m30s");
/// let same = Schedule::fixed_rate(Duration::from_secs(90));
/// let set_later = Schedule::fixed_rate("${tick.every:90s}");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a length of time",
    label = "neither a `Duration` nor a text",
    note = "write a text with a unit, such as `\"5s\"` or `\"1h30m\"`, or a `std::time::Duration`"
)]
pub trait IntoDuration: sealed::LengthText {}

/// An instant of the wall clock: a [`DateTime`], a [`SystemTime`], or a text with the offset from UTC, such as
/// `"2027-01-01T09:00:00+01:00"`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an instant",
    label = "neither a `DateTime` nor a text",
    note = "write a text with an offset, such as `\"2027-01-01T09:00:00Z\"`, or a `chrono::DateTime`"
)]
pub trait IntoInstant: sealed::InstantText {}

#[diagnostic::do_not_recommend]
impl<T: sealed::LengthText> IntoDuration for T {}

#[diagnostic::do_not_recommend]
impl<T: sealed::InstantText> IntoInstant for T {}

/// A length as an attribute spells it, as `1h30m`.
pub(crate) fn length_text(length: Duration) -> String {
    let nanos = i128::try_from(length.as_nanos()).ok().and_then(SignedDuration::from_nanos);
    nanos.map_or_else(|| format!("{}s", length.as_secs()), |length| length.to_string())
}

/// The texts that an annotation would have.
mod sealed {
    use super::{Cow, DateTime, Duration, SecondsFormat, SystemTime, TimeZone, Utc, length_text};

    pub trait LengthText {
        fn into_text(self) -> String;
    }

    pub trait InstantText {
        fn into_text(self) -> String;
    }

    impl LengthText for Duration {
        fn into_text(self) -> String {
            length_text(self)
        }
    }

    impl LengthText for &str {
        fn into_text(self) -> String {
            self.to_owned()
        }
    }

    impl LengthText for String {
        fn into_text(self) -> String {
            self
        }
    }

    impl LengthText for Cow<'_, str> {
        fn into_text(self) -> String {
            self.into_owned()
        }
    }

    impl<Z: TimeZone> InstantText for DateTime<Z> {
        fn into_text(self) -> String {
            self.to_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true)
        }
    }

    impl InstantText for SystemTime {
        fn into_text(self) -> String {
            InstantText::into_text(DateTime::<Utc>::from(self))
        }
    }

    impl InstantText for &str {
        fn into_text(self) -> String {
            self.to_owned()
        }
    }

    impl InstantText for String {
        fn into_text(self) -> String {
            self
        }
    }
}

/// The [schedule](Schedule) of a cron expression that is checked while the program compiles.
///
/// [`Schedule::cron`] checks the same at the start. An expression that never fires is an error, too. Placeholders are
/// replaced at the start; their defaults are checked here.
///
/// ```rust
/// use scheduler::{Scheduler, cron};
///
/// let scheduler = Scheduler::builder()
///     .task("report", cron!("0 0 9 * * MON-FRI").zone("Europe/Berlin"), |_| println!("the report"))
///     .spawn()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```rust,compile_fail
/// let schedule = scheduler::cron!("0 0 25 * * *");
/// ```
#[macro_export]
macro_rules! cron {
    ($($expression:tt)*) => {
        $crate::__private::cron_schedule!($crate $($expression)*)
    };
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::sealed::{InstantText, LengthText};
    use super::*;

    #[test]
    fn lengths_become_texts_that_read_back() {
        let lengths = [Duration::from_millis(1_500), Duration::from_nanos(7), Duration::ZERO];
        for length in lengths {
            let text = length.into_text();
            assert_eq!(scheduler_expr::parse_delay(&text, None), Ok(length), "{text}");
        }
        assert!(scheduler_expr::parse_delay(&Duration::MAX.into_text(), None).is_err());
    }

    #[test]
    fn instants_become_texts_that_read_back() {
        for nanos in [0, 1, 500_000_000, -1, 1_798_761_600_000_000_007] {
            let instant = DateTime::from_timestamp_nanos(nanos);
            let text = instant.into_text();
            let read = scheduler_expr::Instant::parse(&text).expect("an instant");
            assert_eq!(
                (read.seconds(), read.nanos()),
                (instant.timestamp(), instant.timestamp_subsec_nanos())
            );
            let offset = FixedOffset::west_opt(5 * 3_600).expect("an offset");
            assert_eq!(instant.with_timezone(&offset).into_text(), text);
        }
        assert_eq!(SystemTime::UNIX_EPOCH.into_text(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn the_later_of_two_settings_holds() {
        let schedule = Schedule::once("1s").initial_delay("2s").zone("UTC");
        let texts = [(Attribute::InitialDelay, "2s".into()), (Attribute::Zone, "UTC".into())];
        assert_eq!(schedule.into_parts().0, texts);
    }
}
