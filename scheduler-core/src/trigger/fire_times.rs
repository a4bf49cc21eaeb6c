//! A trigger together with what it has served, so that no fire time is given twice.

use std::error::Error;
use std::time::Duration;

use super::Trigger;
use super::TriggerContext;
use super::history::FireHistory;
use crate::error::Failure;
use crate::sync::Mutex;
use crate::time::WallTime;
use crate::unwind::catch;

/// How many causes of an error are named; a chain of causes may have no end.
const CAUSES_MAX: usize = 32;

/// A trigger together with what it has served: gives each fire time once, on a wall clock that may be
/// set.
///
/// A task with a [`Trigger`] has one of these in the engine; whoever paces a task from outside, by
/// [`Pace`](crate::Pace), may have one of his own. An answer is an instant of the wall clock; `None`
/// means that the trigger fires no more.
///
/// A wall clock that is set back shows times again that were served: those are passed over. Times that
/// it had jumped over are as good as any.
///
/// ```
/// use chrono::{DateTime, Utc};
/// use scheduler_core::WallTime;
/// use scheduler_core::trigger::{CronTrigger, FireTimes, Zone};
/// use std::time::Duration;
///
/// let times = FireTimes::new(CronTrigger::new("0 0 9 * * *".parse()?, Zone::UTC));
/// let eight = WallTime::from("2026-01-01T08:00:00Z".parse::<DateTime<Utc>>()?);
/// let nine = times.first(eight).unwrap().unwrap();
/// assert_eq!(nine, eight + Duration::from_secs(3600));
/// let tomorrow = times.after_run(nine, nine, nine + Duration::from_secs(5)).unwrap();
/// assert_eq!(tomorrow, Some(nine + Duration::from_secs(24 * 3600)));
/// // The clock is set back to eight, but nine o'clock has been served.
/// assert_eq!(times.renew(eight).unwrap(), tomorrow);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FireTimes {
    trigger: Box<dyn Trigger>,
    /// INVARIANT: never locked while the trigger is asked, which is user code.
    history: Mutex<FireHistory>,
    /// The last question that the trigger could not answer.
    unanswered: Mutex<Option<Box<Question>>>,
}

/// What a trigger is asked.
#[derive(Clone, Copy, Debug)]
struct Question {
    context: TriggerContext,
    /// The answer has to lie after this; the first one may be any.
    floor: Option<WallTime>,
}

impl FireTimes {
    /// The fire times of a trigger that has served nothing.
    #[must_use]
    pub fn new(trigger: impl Trigger + 'static) -> Self {
        Self { trigger: Box::new(trigger), history: Mutex::default(), unanswered: Mutex::default() }
    }

    /// The trigger.
    #[must_use]
    pub fn trigger(&self) -> &dyn Trigger {
        &*self.trigger
    }

    /// Gives the first fire time of a new task.
    ///
    /// # Errors
    ///
    /// The error or the panic of the trigger.
    pub fn first(&self, now: WallTime) -> Result<Option<WallTime>, Failure> {
        self.ask(TriggerContext::first(now.to_utc()), None)
    }

    /// Asks the last question that ended in an error again, with the wall clock as it is now; none when there was no
    /// such question.
    ///
    /// # Errors
    ///
    /// As [`after_run`](Self::after_run).
    pub fn ask_again(&self, now: WallTime) -> Result<Option<WallTime>, Failure> {
        let Some(question) = self.unanswered.lock().take() else { return Ok(None) };
        let Question { context, floor } = *question;
        self.ask(TriggerContext { now: now.to_utc(), ..context }, floor)
    }

    /// Gives the fire time after a run that was scheduled for one instant, started at another and has
    /// ended `now`. The instant it was scheduled for counts as served from now on.
    ///
    /// When the wall clock was set back meanwhile, so that the instant lies ahead again, this asks as
    /// [`renew`](Self::renew) does.
    ///
    /// # Errors
    ///
    /// The error or the panic of the trigger, or that it did not advance.
    pub fn after_run(
        &self,
        scheduled: WallTime,
        started: WallTime,
        now: WallTime,
    ) -> Result<Option<WallTime>, Failure> {
        self.serve(scheduled, started);
        if now < scheduled {
            return self.renew(now);
        }
        self.ask(after_run(scheduled, started, now), Some(scheduled))
    }

    /// Gives the fire time after another, whatever time it is: for going through fire times that were
    /// missed, one by one. Nothing counts as served.
    ///
    /// # Errors
    ///
    /// As [`after_run`](Self::after_run).
    pub fn following(&self, fire_time: WallTime) -> Result<Option<WallTime>, Failure> {
        self.ask(following(fire_time), Some(fire_time))
    }

    /// As [`following`](Self::following), but the trigger is told that it is `now`: as after a run that
    /// started and ended just now.
    ///
    /// # Errors
    ///
    /// As [`after_run`](Self::after_run).
    pub fn following_at(
        &self,
        fire_time: WallTime,
        now: WallTime,
    ) -> Result<Option<WallTime>, Failure> {
        self.ask(after_run(fire_time, now, now), Some(fire_time))
    }

    /// Gives the fire time of a waiting task anew, because the wall clock was set back: as if the task
    /// were new, so that it is not silent until the clock has come again to where it was.
    ///
    /// # Errors
    ///
    /// As [`after_run`](Self::after_run).
    pub fn renew(&self, now: WallTime) -> Result<Option<WallTime>, Failure> {
        self.ask(TriggerContext::first(now.to_utc()), Some(now - Duration::from_nanos(1)))
    }

    /// Takes note of a fire time that was used, at this reading of the wall clock, without asking for
    /// the next: one that was skipped, or whose run is in progress still.
    pub fn serve(&self, fire_time: WallTime, at: WallTime) {
        self.history.lock().note(fire_time, at);
    }

    /// Asks the trigger, and again from the end of each stretch that has been served already.
    fn ask(
        &self,
        context: TriggerContext,
        floor: Option<WallTime>,
    ) -> Result<Option<WallTime>, Failure> {
        let mut question = Question { context, floor };
        loop {
            let answer = question.put(&*self.trigger);
            let next = match answer {
                Ok(Some(next)) => next,
                Ok(None) => return Ok(None),
                Err(failure) => {
                    *self.unanswered.lock() = Some(Box::new(question));
                    return Err(failure);
                }
            };
            let served = self.history.lock().end_of_served(next);
            let Some(served) = served else { return Ok(Some(next)) };
            question = Question { context: following(served), floor: Some(served) };
        }
    }
}

impl Question {
    /// Asks a trigger once. An answer that is too far ahead for any clock means that it fires no more.
    fn put(&self, trigger: &dyn Trigger) -> Result<Option<WallTime>, Failure> {
        let answer =
            catch(|| trigger.next_fire_time(&self.context).map_err(|error| text(&*error)))?;
        let next = answer.map_err(|text| Failure::from_error(&text))?.map(WallTime::from);
        let next = next.filter(|next| *next != WallTime::MAX);
        if let (Some(floor), Some(next)) = (self.floor, next)
            && next <= floor
        {
            return Err(Failure::from_error(&format!(
                "the trigger did not advance: after {floor:?} it gave {next:?}"
            )));
        }
        Ok(next)
    }
}

/// An error and its causes: `no schedule: connection refused`.
fn text(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.take(CAUSES_MAX).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The context of a run that took no time.
fn following(fire_time: WallTime) -> TriggerContext {
    let at = fire_time.to_utc();
    TriggerContext::after_run(at, at, at, at)
}

fn after_run(scheduled: WallTime, started: WallTime, now: WallTime) -> TriggerContext {
    let now = now.to_utc();
    TriggerContext::after_run(now, scheduled.to_utc(), started.to_utc(), now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::CronTrigger;
    use crate::trigger::NextFireTime;
    use crate::trigger::Zone;

    fn every_ten_seconds() -> FireTimes {
        FireTimes::new(CronTrigger::new("*/10 * * * * *".parse().unwrap(), Zone::UTC))
    }

    fn at(second: i64) -> WallTime {
        WallTime::from_nanos(second * 1_000_000_000)
    }

    #[test]
    fn a_run_that_took_long_leaves_fire_times_out_and_following_does_not() {
        let times = every_ten_seconds();
        assert_eq!(times.first(at(1)).unwrap(), Some(at(10)));
        assert_eq!(times.following(at(10)).unwrap(), Some(at(20)));
        assert_eq!(times.following_at(at(10), at(35)).unwrap(), Some(at(40)));
        assert_eq!(times.renew(at(5)).unwrap(), Some(at(10)), "nothing counts as served");
        assert_eq!(times.after_run(at(10), at(10), at(35)).unwrap(), Some(at(40)));
    }

    #[test]
    fn what_was_served_is_passed_over_by_whichever_question() {
        let times = every_ten_seconds();
        times.serve(at(10), at(10));
        times.serve(at(20), at(20));
        assert_eq!(times.renew(at(5)).unwrap(), Some(at(30)));
        assert_eq!(times.following(at(5)).unwrap(), Some(at(30)));
        // The clock is set back during the run of 30.
        assert_eq!(times.after_run(at(30), at(30), at(9)).unwrap(), Some(at(40)));
    }

    #[derive(Debug, Default)]
    struct Asked(Mutex<Vec<TriggerContext>>);

    impl Trigger for Asked {
        fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
            self.0.lock().push(*context);
            Ok(None)
        }
    }

    #[test]
    fn the_trigger_is_told_when_the_last_run_was_due_and_began_and_ended() {
        let asked = std::sync::Arc::new(Asked::default());
        let times = FireTimes::new(std::sync::Arc::clone(&asked));
        times.first(at(9)).unwrap();
        times.after_run(at(10), at(11), at(15)).unwrap();
        times.following_at(at(20), at(25)).unwrap();
        let contexts = asked.0.lock();
        let utc = |second| Some(at(second).to_utc());
        let told = |context: &TriggerContext| {
            (context.last_scheduled(), context.last_started(), context.last_completed())
        };
        assert_eq!((Some(contexts[0].now()), told(&contexts[0])), (utc(9), (None, None, None)));
        assert_eq!(
            (Some(contexts[1].now()), told(&contexts[1])),
            (utc(15), (utc(10), utc(11), utc(15)))
        );
        assert_eq!(
            (Some(contexts[2].now()), told(&contexts[2])),
            (utc(25), (utc(20), utc(25), utc(25)))
        );
    }

    #[derive(Debug)]
    struct Faulty(bool);

    impl Trigger for Faulty {
        fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
            assert!(self.0, "no idea");
            Ok(Some(at(10).to_utc()))
        }
    }

    #[test]
    fn a_trigger_that_panics_or_stands_still_is_a_failure() {
        assert_eq!(FireTimes::new(Faulty(false)).first(at(1)).unwrap_err().message(), "no idea");
        let stuck = FireTimes::new(Faulty(true)).after_run(at(10), at(10), at(11)).unwrap_err();
        let expected = "the trigger did not advance: \
                        after 1970-01-01T00:00:10Z it gave 1970-01-01T00:00:10Z";
        assert_eq!(stuck.message(), expected);
    }

    /// Fails as often as is left, and keeps what it was asked.
    #[derive(Default)]
    struct Flaky {
        left: Mutex<u32>,
        asked: Asked,
    }

    #[derive(Debug)]
    struct Refused(&'static str, Option<Box<Self>>);

    impl std::fmt::Display for Refused {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Refused {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    impl Trigger for Flaky {
        fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
            self.asked.next_fire_time(context)?;
            let mut left = self.left.lock();
            if *left > 0 {
                *left -= 1;
                return Err(Refused("no schedule", Some(Refused("refused", None).into())).into());
            }
            Ok(context.last_scheduled().map(|last| last + Duration::from_secs(10)))
        }
    }

    #[test]
    fn a_question_that_ended_in_an_error_is_asked_again_as_it_was_but_for_the_time() {
        let flaky = std::sync::Arc::new(Flaky { left: Mutex::new(2), ..Flaky::default() });
        let times = FireTimes::new(std::sync::Arc::clone(&flaky));
        assert_eq!(times.ask_again(at(1)).unwrap(), None, "nothing was asked");
        let failure = times.after_run(at(10), at(11), at(15)).unwrap_err();
        assert_eq!(failure.message(), "no schedule: refused");
        assert!(times.ask_again(at(16)).is_err());
        assert_eq!(times.ask_again(at(18)).unwrap(), Some(at(20)));
        assert_eq!(times.ask_again(at(19)).unwrap(), None, "it was answered");
        let asked = flaky.asked.0.lock();
        let last = asked.last().unwrap();
        let utc = |second| Some(at(second).to_utc());
        assert_eq!((Some(last.now()), last.last_completed()), (utc(18), utc(15)));
    }
}
