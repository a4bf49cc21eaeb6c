//! A trigger together with what it has served, so that no fire time is given twice.

use std::error::Error;
use std::time::Duration;

use super::history::FireHistory;
use super::{Trigger, TriggerContext};
use crate::error::Failure;
use crate::sync::Mutex;
use crate::time::WallTime;
use crate::unwind::catch;

/// How many causes of an error are named; a chain of causes may have no end.
const CAUSES_MAX: usize = 32;

/// A trigger together with what it has served: gives each fire time once, on a wall clock that may be
/// set.
///
/// An answer is an instant of the wall clock; `None` means that the trigger fires no more.
///
/// A wall clock that is set back shows times again that were served: those are passed over. Times that
/// it had jumped over are as good as any.
#[derive(Debug)]
pub(crate) struct FireTimes {
    trigger: Box<dyn Trigger>,
    /// INVARIANT: never locked while the trigger is asked, which is user code.
    history: Mutex<FireHistory>,
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
    pub(crate) fn new(trigger: impl Trigger + 'static) -> Self {
        Self { trigger: Box::new(trigger), history: Mutex::default() }
    }

    /// Gives the first fire time of a new task.
    ///
    /// # Errors
    ///
    /// The error or the panic of the trigger.
    pub(crate) fn first(&self, now: WallTime) -> Result<Option<WallTime>, Failure> {
        self.ask(TriggerContext::first(now.to_utc()), None)
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
    pub(crate) fn after_run(
        &self,
        scheduled: WallTime,
        started: WallTime,
        now: WallTime,
    ) -> Result<Option<WallTime>, Failure> {
        self.history.lock().note(scheduled, started);
        if now < scheduled {
            return self.renew(now);
        }
        self.ask(after_run(scheduled, started, now), Some(scheduled))
    }

    /// Gives the fire time of a waiting task anew, because the wall clock was set back: as if the task
    /// were new, so that it is not silent until the clock has come again to where it was.
    ///
    /// # Errors
    ///
    /// As [`after_run`](Self::after_run).
    pub(crate) fn renew(&self, now: WallTime) -> Result<Option<WallTime>, Failure> {
        self.ask(TriggerContext::first(now.to_utc()), Some(now - Duration::from_nanos(1)))
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
            let Some(next) = answer? else { return Ok(None) };
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
    use crate::trigger::{CronTrigger, NextFireTime, Zone};

    fn every_ten_seconds() -> FireTimes {
        FireTimes::new(CronTrigger::new("*/10 * * * * *".parse().unwrap(), Zone::UTC))
    }

    fn at(second: i64) -> WallTime {
        WallTime::from_nanos(second * 1_000_000_000)
    }

    #[test]
    fn a_run_that_took_long_leaves_fire_times_out() {
        let times = every_ten_seconds();
        assert_eq!(times.first(at(1)).unwrap(), Some(at(10)));
        assert_eq!(times.renew(at(5)).unwrap(), Some(at(10)), "nothing counts as served");
        assert_eq!(times.after_run(at(10), at(10), at(35)).unwrap(), Some(at(40)));
    }

    #[test]
    fn what_was_served_is_passed_over_by_whichever_question() {
        let times = every_ten_seconds();
        times.after_run(at(10), at(10), at(10)).unwrap();
        times.after_run(at(20), at(20), at(20)).unwrap();
        assert_eq!(times.renew(at(5)).unwrap(), Some(at(30)));
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
    fn the_trigger_sees_when_the_last_run_was_due_began_and_ended() {
        let asked = std::sync::Arc::new(Asked::default());
        let times = FireTimes::new(std::sync::Arc::clone(&asked));
        times.first(at(9)).unwrap();
        times.after_run(at(10), at(11), at(15)).unwrap();
        let contexts = asked.0.lock();
        let utc = |second| Some(at(second).to_utc());
        let times = |context: &TriggerContext| {
            (context.last_scheduled(), context.last_started(), context.last_completed())
        };
        assert_eq!((Some(contexts[0].now()), times(&contexts[0])), (utc(9), (None, None, None)));
        assert_eq!(
            (Some(contexts[1].now()), times(&contexts[1])),
            (utc(15), (utc(10), utc(11), utc(15)))
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

    impl Trigger for Refused {
        fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
            Err(Self("no schedule", Some(Self("refused", None).into())).into())
        }
    }

    #[test]
    fn a_failure_names_the_causes_of_an_error() {
        let failure = FireTimes::new(Refused("", None)).first(at(1)).unwrap_err();
        assert_eq!(failure.message(), "no schedule: refused");
    }
}
