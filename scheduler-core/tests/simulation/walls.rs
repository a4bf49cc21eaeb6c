//! What the wall clock does to the model: fire times are served once, and a clock that is set back
//! lets waiting tasks ask their triggers anew.

use super::model::Model;
use super::words::{Beat, Due, Next, Now, Place, Rhythm, Task};

/// By how much the wall clock has to be set back to be noticed, and what is no jump between two runs.
const TOLERANCE: i64 = 500_000_000;

/// The fire times of a trigger that have been served, as stretches of the wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Served {
    stretches: [(i64, i64); 9],
    count: usize,
    last_start: Option<i64>,
}

impl Served {
    /// A run goes on with the last stretch unless the clock has jumped since the run before.
    pub(crate) fn note(&mut self, fire_time: i64, start: i64) {
        let passed = self.last_start.replace(start).map(|last| start - last);
        let end = self.count.checked_sub(1).map(|last| self.stretches[last].1);
        let goes_on = passed
            .zip(end)
            .is_some_and(|(passed, end)| fire_time >= end && fire_time - end <= passed + TOLERANCE);
        if goes_on {
            self.stretches[self.count - 1].1 = fire_time;
            return;
        }
        self.stretches[self.count] = (fire_time, fire_time);
        self.count += 1;
        if self.count > 8 {
            self.join_nearest();
        }
    }

    /// Of all pairs, the one with the least between them becomes one, in the place of the later.
    fn join_nearest(&mut self) {
        let mut nearest = (i64::MAX, 0, 1);
        for later in 1..self.count {
            for earlier in 0..later {
                let (one, two) = (self.stretches[earlier], self.stretches[later]);
                let apart = two.0.saturating_sub(one.1).max(one.0.saturating_sub(two.1)).max(0);
                if apart < nearest.0 {
                    nearest = (apart, earlier, later);
                }
            }
        }
        let (_, earlier, later) = nearest;
        let (one, two) = (self.stretches[earlier], self.stretches[later]);
        self.stretches[later] = (one.0.min(two.0), one.1.max(two.1));
        self.stretches.copy_within(earlier + 1.., earlier);
        self.count -= 1;
    }

    fn end_around(&self, fire_time: i64) -> Option<i64> {
        let stretches = self.stretches[..self.count].iter();
        let around = stretches.filter(|(first, last)| (*first..=*last).contains(&fire_time));
        around.map(|(_, last)| *last).max()
    }
}

impl Task {
    /// A run begins: its fire time is served.
    pub(crate) fn fire(&mut self, now: Now) {
        (self.fired, self.stop_asked) = (self.due, false);
        if let Due::Wall(fire_time) = self.due {
            self.served.note(fire_time, now.wall);
        }
    }

    /// When the task is due after the run that has ended now.
    pub(crate) fn next(&self, now: Now) -> Next {
        match (self.rhythm, self.fired) {
            (Rhythm::Beat(_), Due::Wall(last)) if now.wall < last => self.next_anew(now),
            (Rhythm::Beat(beat), Due::Wall(last)) => {
                self.first_unserved(beat, beat.next(now.wall, Some(last)), last)
            }
            (rhythm, fired) => rhythm.next(fired, now).map_or(Next::Over, Next::At),
        }
    }

    /// When the task is due if it is asked as a new one, because the wall clock was set back.
    pub(crate) fn next_anew(&self, now: Now) -> Next {
        match self.rhythm {
            Rhythm::Beat(beat) => {
                self.first_unserved(beat, beat.next(now.wall, None), now.wall - 1)
            }
            _ => Next::Over,
        }
    }

    fn first_unserved(&self, beat: Beat, next: Option<i64>, floor: i64) -> Next {
        match next {
            None => Next::Over,
            Some(next) if next <= floor => Next::Stuck,
            Some(next) => match self.served.end_around(next) {
                None => Next::At(Due::Wall(next)),
                Some(end) => self.first_unserved(beat, beat.next(end, Some(end)), end),
            },
        }
    }
}

impl Model {
    /// A task has entered the queue. The lead of the wall clock is noted if it is more than before.
    pub(crate) fn queued(&mut self, id: usize, now: Now) {
        let task = &mut self.tasks[id];
        task.enter(task.due, now);
        self.queued_again(id, now);
    }

    pub(crate) fn queued_again(&mut self, id: usize, now: Now) {
        let task = &self.tasks[id];
        if task.place == Place::Queue && matches!(task.due, Due::Wall(_)) {
            self.lead = self.lead.max(Some(now.lead()));
        }
    }

    /// A worker looks: if the wall clock was set back, what waits for a time ahead is asked anew.
    pub(crate) fn look(&mut self, now: Now) {
        let is_wall = |task: &Task| task.is_queued() && matches!(task.turn, Due::Wall(_));
        let waits = self.tasks.iter().any(is_wall);
        let last = self.lead.take().filter(|_| waits);
        self.lead = waits.then_some(now.lead());
        if last.is_some_and(|last| last - now.lead() > TOLERANCE.into()) {
            let is_ahead = |task: &&mut Task| is_wall(task) && !task.turn.is_reached(now);
            self.tasks.iter_mut().filter(is_ahead).for_each(|task| task.place = Place::Asking);
        }
    }

    /// What has asked for a new fire time is back, and how much that is.
    pub(crate) fn come_back(&mut self, now: Now) -> u64 {
        let mut asked = 0;
        for task in self.tasks.iter_mut().filter(|task| task.place == Place::Asking) {
            let was_cancelled = task.end.is_some();
            let leaves = was_cancelled && self.removes_on_cancel;
            task.place = if leaves { Place::Gone } else { Place::Queue };
            let anew = if was_cancelled { Next::Over } else { task.next_anew(now) };
            let due = if let Next::At(due) = anew { due } else { task.due };
            task.enter(due, now);
            asked += 1;
        }
        asked
    }
}
