//! Performs an operation on the model, and compares the two results.

use super::client::{Answer, Rejected};
use super::corners::Corner;
use super::op::{Blueprint, ClientOp};
use super::stage::Note;
use super::tally::Tally;
use super::verdict::{Invariant, Verdict};
use super::words::{Due, Outcome, Place, Rhythm, Task};
use super::world::{READS_OF_A_DEAD_ENTRY, World, wrong};
use scheduler_core::{RunState, TaskState};

impl World {
    /// One entry of the diary.
    pub(crate) fn read(&mut self, note: Note) -> Verdict {
        match note {
            Note::Entered { task, number, fire_time, at } => {
                self.fold(&[3, task as u64, number, fire_time as u64, at.tick, at.wall as u64]);
                return self.check_entry(task, fire_time, at);
            }
            Note::Stepped { task, outcome, lasts } => {
                self.fold(&[4, task as u64, outcome as u64, lasts]);
                self.stepped = Some((task, outcome, lasts));
                if outcome == Outcome::Pending {
                    self.reach(Corner::PolledOn);
                }
            }
            Note::PolledOn { task, stop_asked } => {
                let expected = self.model.tasks[task].stop_asked;
                if stop_asked {
                    self.reach(Corner::SawTheRequest);
                }
                return Invariant::Events.holds(stop_asked == expected, || {
                    format!("the run of task {task} is told {stop_asked} of a request to stop")
                });
            }
            Note::Did { op, answer } => {
                self.reads_max += 8;
                self.reach(Corner::DeedInBody);
                if matches!(op, ClientOp::DropPool) {
                    self.reach(Corner::PoolDroppedInBody);
                }
                return self.reflect(&op, answer);
            }
            Note::RunStarted { task } => self.tally(task).run_starts += 1,
            Note::RunFinished { task, is_ok, next } => {
                self.fold(&[5, task as u64, u64::from(is_ok), next.unwrap_or(0) as u64]);
                self.finished = Some((task, is_ok, next));
            }
            Note::Ended { task, state } => {
                self.fold(&[6, task as u64, state as u64]);
                let tally = self.tally(task);
                tally.ends += 1;
                tally.end = Some(state);
            }
            Note::Told { task, state } => {
                let tally = self.tally(task);
                tally.told += 1;
                tally.told_state = Some(state);
            }
            Note::Dropped { task } => self.tally(task).dropped += 1,
            Note::Burst { task } => {
                let tally = self.tally(task);
                tally.bursts += 1;
                let bursts = tally.bursts;
                return Invariant::Events.holds(bursts == 1, || {
                    format!("the destructor of task {task} is said to have panicked {bursts} times")
                });
            }
            Note::Terminated => self.terminated += 1,
            Note::Wrong(what) => return wrong(what),
            note => return self.read_of_timer(note),
        }
        Ok(())
    }

    fn read_of_timer(&mut self, note: Note) -> Verdict {
        match note {
            Note::Fired { task, number, due, returned, at } => {
                self.fold(&[7, task as u64, number, at.tick, at.wall as u64]);
                return self.check_firing((task, number), due, returned, at);
            }
            Note::Finished { task, number } => {
                let was_there = self.tally(task).to_finish.remove(&number);
                return Invariant::Timers.holds(was_there, || {
                    format!("firing {number} of timer {task} was finished, and had left nothing")
                });
            }
            Note::SetBack { task } => {
                self.reach(Corner::TimerSetBack);
                self.told.push(task);
                self.model.disarm(task);
            }
            Note::TimerDropped { task } => {
                self.reach(Corner::TimerDropped);
                self.tally(task).timer_drops += 1;
            }
            Note::TimerPanicked { task } => {
                self.reach(Corner::TimerPanicked);
                self.panicked = Some(task);
            }
            note => self.read_of_worker(&note),
        }
        Ok(())
    }

    fn read_of_worker(&mut self, note: &Note) {
        match note {
            Note::WorkerStarted => {
                (self.was_refused, self.hires) = (false, self.hires + 1);
                self.welcome();
            }
            Note::WorkerRefused => {
                (self.was_refused, self.hires) = (true, self.hires + 1);
                self.reach(Corner::WorkerRefused);
            }
            _ => {}
        }
    }

    /// Does to the model what was done to the pool.
    pub(crate) fn reflect(&mut self, op: &ClientOp, answer: Answer) -> Verdict {
        let now = self.now();
        match (op, answer) {
            (_, Answer::Nothing) => {}
            (ClientOp::Submit(blueprint), Answer::Submitted { task, rejected }) => {
                return self.submitted(blueprint, task, rejected);
            }
            (_, Answer::Cancelled { task, won }) => return self.cancelled(task, won),
            (_, Answer::Removed { task, was_there }) => {
                self.spare_reads += READS_OF_A_DEAD_ENTRY;
                let expected = self.model.remove(task);
                if was_there {
                    self.reach(Corner::Removed);
                }
                return Invariant::Counts.holds(was_there == expected, || {
                    format!("removing task {task} answered {was_there}")
                });
            }
            (_, Answer::Drained(drained)) => {
                let expected = self.model.shutdown_now(now);
                if !drained.is_empty() {
                    self.reach(Corner::Drained);
                }
                return Invariant::Order.holds(drained == expected, || {
                    format!("drained {drained:?} instead of {expected:?}")
                });
            }
            (_, Answer::Made(task)) => {
                self.model.add_timer();
                self.tally(task);
            }
            (_, Answer::Armed { task, due, is_refused }) => {
                return self.armed(task, due, is_refused);
            }
            (ClientOp::Disarm(_), Answer::To(task)) => {
                if self.model.tasks[task].armed_for().is_some() {
                    self.reach(Corner::TimerDisarmed);
                    self.spare_reads += READS_OF_A_DEAD_ENTRY;
                }
                self.model.disarm(task);
            }
            (ClientOp::Wake { .. }, Answer::To(task)) => self.model.wake(task, now),
            (ClientOp::AskToStop(_), Answer::To(task)) => {
                if self.model.tasks[task].place == Place::Suspended {
                    self.reach(Corner::AskedWhileSuspended);
                }
                self.model.ask_to_stop(task, now);
            }
            (ClientOp::DropHeld(_), Answer::To(task)) => self.let_go(task),
            (ClientOp::RunHeld(_), Answer::To(task)) => return self.ran_by_hand(task),
            (ClientOp::DropPool, _) => {
                for task in self.model.shutdown_now(now) {
                    self.let_go(task);
                }
            }
            (ClientOp::SetPolicy(policy), _) => self.model.set_policy(*policy, now),
            (ClientOp::SetRemoveOnCancel(removes), _) => self.model.removes_on_cancel = *removes,
            (ClientOp::Purge, _) => self.model.purge(),
            (ClientOp::Shutdown, _) => self.model.shutdown(now),
            (op, answer) => return self.resized(op, &answer),
        }
        Ok(())
    }

    fn cancelled(&mut self, task: usize, won: bool) -> Verdict {
        self.reach(match (won, self.model.tasks[task].place) {
            (false, _) => Corner::CancelTooLate,
            (_, Place::Worker) => Corner::CancelledOnWorker,
            (_, Place::Held) => Corner::CancelledHeld,
            (_, Place::Suspended) => Corner::CancelledSuspended,
            _ => Corner::CancelledInQueue,
        });
        self.spare_reads += READS_OF_A_DEAD_ENTRY;
        let expected = self.model.cancel(task);
        Invariant::CancelMeansNoRun
            .holds(won == expected, || format!("cancelling task {task} answered {won}"))
    }

    pub(crate) fn tally(&mut self, task: usize) -> &mut Tally {
        while self.tallies.len() <= task {
            self.tallies.push(Tally::new());
        }
        &mut self.tallies[task]
    }

    fn submitted(
        &mut self,
        blueprint: &Blueprint,
        task: usize,
        rejected: Option<Rejected>,
    ) -> Verdict {
        let now = self.now();
        if matches!(blueprint.rhythm, Rhythm::Rate(0) | Rhythm::Delay(0)) {
            self.tallies.truncate(task);
            self.reach(Corner::RejectedByArgument);
            return Invariant::Counts.holds(rejected == Some(Rejected::ByArgument), || {
                "a period of zero was accepted".to_owned()
            });
        }
        let due = Due::Tick(now.tick.saturating_add(blueprint.delay));
        let survives_failure = blueprint.survives_failure;
        let known = Task::new(due, blueprint.rhythm, Place::Queue, survives_failure);
        self.model.submit(known, now);
        self.tally(task).has_handle = rejected.is_none();
        self.open.push(task);
        let is_open = self.model.state == RunState::Running;
        self.has_accepted |= is_open;
        if !is_open {
            self.reach(Corner::RejectedByPool);
        }
        let is_deserted = is_open && self.virtual_workers.numbers().is_empty();
        if is_deserted {
            self.reach(Corner::RejectedByThread);
            self.spare_reads += READS_OF_A_DEAD_ENTRY;
            self.let_go(task);
        }
        let expected = match is_open {
            true => is_deserted.then_some(Rejected::NoThread),
            false => (!self.stage.discards).then_some(Rejected::ByPool),
        };
        Invariant::Counts.holds(rejected == expected, || format!("task {task}: {rejected:?}"))
    }

    fn armed(&mut self, task: usize, due: Due, is_refused: bool) -> Verdict {
        let (now, before) = (self.now(), self.model.tasks[task].armed_for());
        if before.is_some_and(|before| before != due) {
            self.reach(Corner::TimerMoved);
            self.spare_reads += READS_OF_A_DEAD_ENTRY;
        }
        if is_refused {
            self.reach(Corner::TimerRefused);
        }
        let is_taken = self.model.arm(task, due, now);
        // One that hears of the clock may leave in the same step.
        let is_short = self.workers.len() < self.limits.core_size.max(1);
        self.has_accepted |= is_taken && before != Some(due) && is_short;
        Invariant::Timers.holds(is_taken != is_refused, || {
            format!("a pool that is {:?} took timer {task}: {}", self.model.state, !is_refused)
        })
    }

    /// A task that the client held was dropped, or run by hand.
    fn let_go(&mut self, task: usize) {
        let task = &mut self.model.tasks[task];
        task.place = Place::Gone;
        task.end = task.end.or(Some(TaskState::Cancelled));
    }

    fn ran_by_hand(&mut self, task: usize) -> Verdict {
        match self.stepped {
            Some((stepped, outcome, _)) if stepped == task => {
                self.reach(Corner::RanByHand);
                self.model.finish(task, outcome, self.now());
                self.tallies[task].is_inside = false;
            }
            _ => {
                let has_ended = self.model.tasks[task].end.is_some();
                Invariant::OneEnd.holds(has_ended, || format!("held task {task} did not run"))?;
            }
        }
        self.let_go(task);
        Ok(())
    }

    fn resized(&mut self, op: &ClientOp, answer: &Answer) -> Verdict {
        let limits = &mut self.limits;
        let expected = match op {
            ClientOp::SetKeepAlive(nanos) => *nanos > 0 || !limits.core_may_time_out,
            ClientOp::SetCoreMayTimeOut(may) => !may || limits.keep_alive > 0,
            _ => true,
        };
        match op {
            ClientOp::SetCoreSize(size) => {
                limits.core_size = *size;
                let (least, most) = self.core_sizes;
                self.core_sizes = (least.min(*size), most.max(*size));
            }
            ClientOp::SetKeepAlive(nanos) if expected => limits.keep_alive = *nanos,
            ClientOp::SetCoreMayTimeOut(may) if expected => limits.core_may_time_out = *may,
            ClientOp::Prestart => return Ok(()),
            _ => {}
        }
        match answer {
            Answer::Accepted(accepted) => Invariant::Counts
                .holds(*accepted == expected, || format!("{op:?} answered {accepted}")),
            _ => Ok(()),
        }
    }
}
