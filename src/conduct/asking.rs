//! A trigger of the user's, which may be unable to answer, and is asked again later.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Due;
use scheduler_core::Failure;
use scheduler_core::Now;
use scheduler_core::Tick;
use scheduler_core::Trigger;
use scheduler_core::WallTime;
use scheduler_core::trigger::FireTimes;

use super::judge::Judge;

/// After how long a trigger that could not answer is asked again; each further time after twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// After how long at most.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The fire times of a trigger, and why it could not say the next one.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) times: FireTimes,
    /// A cell, because going through fire times changes nothing else; the judge of its task has it to itself.
    failed: RefCell<Failed>,
}

#[derive(Debug, Default)]
struct Failed {
    /// How many answers in a row have failed.
    streak: u32,
    /// Why the last one did, where that is not reported yet.
    unreported: Option<Failure>,
    again_at: Tick,
}

impl Asking {
    pub(super) fn new(trigger: Arc<dyn Trigger>) -> Self {
        Self { times: FireTimes::new(trigger), failed: RefCell::default() }
    }

    /// Asks; none also when the trigger could not answer.
    pub(super) fn ask(
        &self,
        question: impl FnOnce(&FireTimes) -> Result<Option<WallTime>, Failure>,
    ) -> Option<WallTime> {
        let answer = question(&self.times);
        let mut failed = self.failed.borrow_mut();
        match answer {
            Ok(next) => {
                *failed = Failed::default();
                next
            }
            Err(failure) => {
                failed.streak = failed.streak.saturating_add(1);
                failed.unreported = Some(failure);
                None
            }
        }
    }

    /// Whether the last answer failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.borrow().streak > 0
    }
}

impl Judge {
    /// When there is something to do next: to start a run, or to ask the trigger again.
    pub(super) fn due(&self) -> Option<Due> {
        let again = || Some(Due::Tick(self.rule().0.failed()?.failed.borrow().again_at));
        self.pending().map(|fire| fire.due).or_else(again)
    }

    /// Whether the trigger could not answer the last question.
    pub(super) fn has_failed(&self) -> bool {
        self.rule().0.failed().is_some()
    }

    /// Takes out why the trigger could not answer the last question, where that is not reported yet, and after how long
    /// it is asked again; to be called after each question.
    pub(super) fn take_failure(&self, now: Now) -> Option<(Failure, Duration)> {
        let mut failed = self.rule().0.failed()?.failed.borrow_mut();
        let (failure, wait) = (failed.unreported.take()?, wait_after(failed.streak));
        failed.again_at = now.tick + wait;
        Some((failure, wait))
    }
}

/// How long to wait before a trigger is asked again that could not answer so many times in a row.
fn wait_after(failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(doubled).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_minute() {
        let waits = [1, 2, 3, 6, 7, 8, 40, u32::MAX].map(|count| wait_after(count).as_secs());
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60, 60]);
    }
}
