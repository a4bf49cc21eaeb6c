//! What a simulated pace answers: a function of its seed, of how often it was asked, and of what it was
//! told. If the engine asks once too often, too seldom, or tells something else than the model, the two
//! part ways.

use super::plan::{EQUAL, FAR, NEAR};
use super::prng::hash;
use super::words::{Due, Next, Now, Place, Rhythm, Task};

/// The answers of one pace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    pub(crate) seed: u64,
}

/// Why a pace is asked, and what it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    First,
    Ended { due: Due, is_ok: bool },
    Renewed,
}

impl Score {
    /// The answer to one question; the first is number 0 and always has one.
    pub(crate) fn answer(self, number: u64, question: Question, now: Now) -> Option<Due> {
        let told = match question {
            Question::First => 1,
            Question::Renewed => 2,
            Question::Ended { due: Due::Tick(tick), is_ok } => hash(tick, 3 + u64::from(is_ok)),
            Question::Ended { due: Due::Wall(wall), is_ok } => {
                hash(wall as u64, 5 + u64::from(is_ok))
            }
        };
        let chance = hash(hash(self.seed, number), told);
        let by = [0, 1, NEAR, EQUAL, EQUAL, 1_000 * EQUAL, FAR];
        let by = by[(chance >> 32) as usize % by.len()];
        match chance % 16 {
            0 if number > 0 => None,
            1 => Some(Due::Tick(u64::MAX)),
            2 => Some(Due::Tick(now.tick - by)),
            3 => Some(Due::Wall(now.wall - by as i64)),
            4..8 => Some(Due::Wall(now.wall + by as i64)),
            _ => Some(Due::Tick(now.tick + by)),
        }
    }

    /// Whether the pace renews its own task while it is asked this question.
    pub(crate) fn renews_itself(self, number: u64) -> bool {
        number > 0 && hash(self.seed, !number).is_multiple_of(8)
    }
}

impl Task {
    /// Asks the pace, and counts that.
    pub(crate) fn ask(&mut self, score: Score, question: Question, now: Now) -> Next {
        self.questions += 1;
        score.answer(self.questions - 1, question, now).map_or(Next::Over, Next::At)
    }

    /// A task that waits asks anew when it is due: its pace, or its trigger. It may end by that.
    pub(crate) fn renew(&mut self, now: Now) -> u64 {
        let Rhythm::Paced(score) = self.rhythm else {
            let due = if let Next::At(due) = self.next_anew(now) { due } else { self.due };
            self.enter(due, now);
            return 1;
        };
        let next = self.ask(score, Question::Renewed, now);
        self.enter_asked(next, now) + 1
    }

    /// Goes by an answer of its pace, and by the answer after that if the pace has renewed the task while
    /// it was asked. Says how many more questions that took.
    pub(crate) fn enter_asked(&mut self, mut next: Next, now: Now) -> u64 {
        let Rhythm::Paced(score) = self.rhythm else { return 0 };
        let mut more = 0;
        loop {
            let Next::At(due) = next else {
                (self.place, self.end) = (Place::Gone, Some(scheduler_core::TaskState::Completed));
                return more;
            };
            self.due = due;
            if !score.renews_itself(self.questions - 1) {
                self.enter(due, now);
                return more;
            }
            next = self.ask(score, Question::Renewed, now);
            more += 1;
        }
    }
}
