//! The allowed effects of each statement.

use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_store::{
    Command, CommandOutcome, End, Finish, Finished, JobId, JobState, Model, OnLost, Open, Reaped,
    Register, SessionId, Store, StoreTime, StoredJob, StoredSchedule,
};

use super::facts::{Checker, Ended, SessionFacts, short};
use crate::body::POISON;
use crate::wire::{Message, Reply, Sender, What};
use scheduler_node::Tick;
use scheduler_node::{Answer, Request};

impl Checker {
    /// A statement is about to be executed.
    pub(crate) fn before(&mut self, message: &Message, model: &Model, now: u64) {
        self.now = now;
        self.frozen = None;
        let reason = if self.is_of_ended(message, model) {
            Some("a session that has ended")
        } else if self.is_late(message) {
            Some("a statement that came too late")
        } else {
            None
        };
        self.frozen = reason.map(|reason| (model.state(), reason));
        match &message.what {
            What::Node(Request::Renew(renew)) => self.note_progress(renew, model),
            What::Node(Request::Poll(_)) => self.note_waits(model),
            What::Enqueue(enqueue) => self.note_waiting(&enqueue.jobs, model),
            _ => {}
        }
    }

    fn is_of_ended(&self, message: &Message, model: &Model) -> bool {
        let has_ended = |session: SessionId| {
            self.sessions.get(&session).is_some_and(|session| session.ended.is_some())
        };
        match &message.what {
            What::Node(Request::Renew(renew)) => has_ended(renew.session),
            What::Node(Request::Close(close)) => has_ended(close.session),
            What::Node(Request::Register(register)) => has_ended(register.session),
            What::Node(Request::Poll(poll)) => has_ended(poll.session),
            What::Node(Request::Fire(fires)) => fires.iter().all(|fire| has_ended(fire.session)),
            What::Node(Request::Finish(finishes)) => {
                // The end of a job that runs at most once counts also then (R4).
                let is_abandon = |job| {
                    let job = model.job(job).ok().flatten();
                    job.is_some_and(|job| job.on_lost == OnLost::Abandon)
                };
                finishes
                    .iter()
                    .all(|finish| has_ended(finish.session) && !is_abandon(finish.held.job))
            }
            _ => false,
        }
    }

    /// It was sent so long ago that it must not change anything; unless a clock was set, as far as the sender can know.
    fn is_late(&self, message: &Message) -> bool {
        let is_bounded = match &message.what {
            What::Node(what) => !matches!(
                what,
                Request::Open(_) | Request::Renew(_) | Request::Finish(_) | Request::Held(_)
            ),
            What::Enqueue(_) | What::Command(..) => true,
        };
        // The sender knows the store's clock but for the time that an answer took.
        let limit = u64::try_from((self.answer_limit * 2).as_nanos()).unwrap_or(0) + 300_000_000;
        is_bounded && !self.was_set && self.now > message.sent + limit
    }

    /// It was executed.
    pub(crate) fn after(
        &mut self,
        message: &Message,
        reply: &Reply,
        model: &Model,
        now: u64,
        store_now: StoreTime,
    ) {
        if let Some((before, reason)) = self.frozen.take() {
            let is_same = before == model.state();
            self.must(is_same, || format!("{reason} has changed the store: {:?}", message.what));
        }
        match (&message.what, reply) {
            (What::Node(request), Reply::Node(Ok(answer))) => {
                if let Sender::Node { process, life, request: id, .. } = message.sender {
                    let by = (process, life, id);
                    self.node_asked(by, request, answer, model, (now, store_now));
                }
            }
            (What::Command(command, _), Reply::Command(Ok(commanded))) => {
                self.commanded(command, *commanded, model, store_now);
            }
            (What::Enqueue(enqueue), Reply::Enqueue(Err(error))) => {
                self.is_rightly_refused(&enqueue.jobs, error);
            }
            (What::Enqueue(enqueue), Reply::Enqueue(Ok(answers))) => {
                self.is_rightly_accepted(&enqueue.jobs);
                for (job, answer) in enqueue.jobs.iter().zip(answers) {
                    self.enqueued(job, *answer, store_now);
                    if let scheduler_store::Enqueued::Replaced(other) = answer {
                        self.begins_anew(*other);
                        self.begun.retain(|id| id != other);
                        self.job(*other).partition = None;
                        self.is_due_in_time(*other, job, model);
                    }
                }
            }
            _ => {}
        }
        self.keep_places(model);
    }

    fn node_asked(
        &mut self,
        by: (usize, u64, scheduler_node::RequestId),
        request: &Request,
        answer: &Answer,
        model: &Model,
        (now, store_now): (u64, StoreTime),
    ) {
        match (request, answer) {
            (Request::Open(open), Answer::Open(_)) => self.opened(by, open, now),
            (Request::Renew(renew), Answer::Renew(renewed)) => {
                let session = self.sessions.get_mut(&renew.session);
                session.filter(|_| renewed.is_alive).iter_mut().for_each(|it| it.renewed = now);
                self.progress_is_written(renew, renewed.is_alive, model);
            }
            (Request::Close(close), Answer::Close) => {
                self.ends(close.session, Ended::Closed);
                self.given_back(close.session, model, store_now);
            }
            (Request::Register(register), Answer::Register(registered)) if registered.is_alive => {
                self.registered((by.0, by.1), register);
                self.limits_are_registered(register, store_now);
                self.limits_are_as_set(model);
            }
            (Request::Poll(poll), Answer::Poll(polled)) => {
                if let Some(life) = self.lives.get_mut(&by.0).filter(|life| life.life == by.1) {
                    let told = (polled.paused.clone(), self.last_fence);
                    life.polls.insert((by.2, polled.now), told);
                }
                for job in &polled.jobs {
                    self.claimed(job, poll.session, model, store_now);
                    self.is_first_of_its_lane(job, model);
                }
                if !polled.expired.is_empty() {
                    self.expired(model, store_now);
                }
                self.limits_are_kept(&polled.jobs, model, store_now);
                self.reasons_are_true(poll, polled);
            }
            (Request::Finish(finishes), Answer::Finish(finished)) => {
                for (finish, outcome) in finishes.iter().zip(finished) {
                    self.finished(finish, *outcome, model, store_now);
                }
            }
            (Request::Fire(_), Answer::Fire(fired, _)) => {
                for fired in fired {
                    if let scheduler_store::Fired::Moved(Some(job)) = fired
                        && let Some(session) = job.session
                    {
                        self.claimed(job, session, model, store_now);
                    }
                }
            }
            (Request::Reap(_), Answer::Reap(reaped)) => self.reaped(reaped, now, model, store_now),
            _ => {}
        }
    }

    fn opened(
        &mut self,
        (process, life, request): (usize, u64, scheduler_node::RequestId),
        open: &Open,
        now: u64,
    ) {
        if let Some(known) = self.sessions.get(&open.id) {
            let is_same = (known.process, known.life, known.request) == (process, life, request);
            self.must(is_same, || "the identity of a session is used again".to_owned());
            return;
        }
        if let Some(replaced) = open.replaces {
            self.ends(replaced, Ended::Replaced);
        }
        let session = SessionFacts {
            process,
            life,
            request,
            tasks: Arc::clone(&open.tasks),
            lease: open.lease,
            renewed: now,
            valid_until: Tick::ZERO,
            ended: None,
        };
        self.sessions.insert(open.id, session);
    }

    fn ends(&mut self, session: SessionId, how: Ended) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.ended.get_or_insert(how);
        }
    }

    fn registered(&mut self, by: (usize, u64), register: &Register) {
        let rules: BTreeMap<String, String> = register
            .definitions
            .iter()
            .map(|definition| (definition.name.clone(), definition.rule.text.clone()))
            .collect();
        self.registrants.entry(by).or_default().rules = Some(rules);
    }

    /// A job was claimed.
    fn claimed(
        &mut self,
        job: &StoredJob,
        session: SessionId,
        model: &Model,
        store_now: StoreTime,
    ) {
        let name = short(job.id);
        let is_open = self.sessions.get(&session).is_some_and(|session| session.ended.is_none());
        self.must(is_open, || format!("{name} was claimed by a session that has ended"));
        self.must(job.progress.is_none(), || {
            format!("{name} begins with the progress of another run")
        });
        // A job in a lane was due by the clock as it was when the store accepted or saw it.
        let was_due = self.was_set && job.partition.is_some();
        self.must(job.run_at <= store_now || was_due, || format!("{name} was claimed early"));
        self.is_not_paused(job, store_now);
        self.is_known(job, session);
        self.last_fence = self.last_fence.max(job.fence);
        let schedule = job.origin.as_ref().map(|origin| origin.schedule.clone());
        let row = schedule.as_ref().and_then(|schedule| self.row(model, schedule));
        let is_exclusive =
            row.is_some_and(|row| row.definition.overlap != scheduler_store::Overlap::Allow);
        let was_stored = self.job(job.id).last_run.is_none_or(|run| {
            let run = &self.runs[run];
            !run.is_done
                || self.sessions.get(&run.session).is_none_or(|session| session.ended.is_some())
        });
        self.is_of_its_partition(job);
        let facts = self.job(job.id);
        let (fence, is_over) = (facts.fence, facts.is_over);
        let is_in_time = fence.0 > 0 || job.expires_at.is_none_or(|until| store_now < until);
        self.must(is_in_time, || format!("{name} begins after its time"));
        let facts = self.job(job.id);
        facts.is_of_tick = job.origin.as_ref().is_some_and(|origin| origin.tick.is_some());
        (facts.fence, facts.holder) = (job.fence, Some(session));
        (facts.schedule, facts.is_exclusive) = (schedule.clone(), is_exclusive);
        facts.is_abandon = job.on_lost == OnLost::Abandon;
        facts.losses.failures_max.get_or_insert(job.max_attempts);
        self.key_started(job.id);
        self.must(fence < job.fence, || format!("the fence of {name} does not grow"));
        self.must(!is_over, || format!("{name} runs again after its outcome"));
        self.must(was_stored, || format!("{name} is claimed again, though its run had ended"));
        if let Some(schedule) = schedule.filter(|_| is_exclusive) {
            let former = &mut self.schedules.entry(schedule).or_default().fence;
            let grows = std::mem::replace(former, job.fence) < job.fence;
            self.must(grows, || format!("the fence of the schedule of {name} does not grow"));
        }
    }

    /// A claimed job has a task and a payload that its process knows.
    fn is_known(&mut self, job: &StoredJob, session: SessionId) {
        let tasks = self.sessions.get(&session).map(|session| &session.tasks);
        let task = tasks.and_then(|tasks| tasks.iter().find(|task| *task.name == *job.task));
        let (known, version) = (task.map(|task| task.version), job.payload.version);
        self.must(known.is_some_and(|known| version <= known), || {
            format!("{} was claimed with a payload of version {version}, and its process knows {known:?}", short(job.id))
        });
    }

    fn finished(
        &mut self,
        finish: &Finish,
        outcome: Finished,
        model: &Model,
        store_now: StoreTime,
    ) {
        let (name, session) = (short(finish.held.job), finish.session);
        let Finished::Stored(state) = outcome else { return };
        self.progress_is_exact(finish, model);
        let no_attempt =
            matches!(finish.end, End::Snooze { .. } | End::GiveBack | End::Undecodable { .. });
        let held = finish.held;
        let has_begun =
            || self.runs.iter().any(|run| run.job == held.job && run.fence == held.fence);
        let uncounted = u32::from(no_attempt && has_begun());
        self.job(held.job).uncounted += uncounted;
        self.losses_are_counted(finish, state, model);
        let is_open = self.sessions.get(&session).is_some_and(|session| session.ended.is_none());
        let facts = self.job(finish.held.job);
        let is_late = facts.is_parked_as_lost == Some(session);
        let is_holder = (facts.holder == Some(session) || is_late) && facts.fence == held.fence;
        facts.holder = None;
        if is_late {
            (facts.is_parked_as_lost, facts.was_reset) = (None, true);
            self.must(!state.is_unfinished(), || format!("{name} is ready again after its loss"));
            self.must(is_holder, || format!("{name} was finished by one who had lost it"));
            return;
        }
        let may_end = is_holder && (is_open || self.job(held.job).is_abandon);
        self.must(may_end, || format!("{name} was finished by one who had lost it"));
        if !state.is_unfinished() {
            self.over(finish.held.job, model, store_now);
        }
    }

    /// A session gives back what it holds; a job that was to be cancelled ends with that.
    fn given_back(&mut self, session: SessionId, model: &Model, store_now: StoreTime) {
        let held = self.jobs.iter_mut().filter(|(_, facts)| facts.holder == Some(session));
        let held: Vec<JobId> = held
            .map(|(job, facts)| {
                facts.holder = None;
                *job
            })
            .collect();
        for job in held {
            let state = model.job(job).ok().flatten().map(|job| job.state);
            if state.is_some_and(|state| !state.is_unfinished()) {
                self.over(job, model, store_now);
            }
        }
    }

    /// A job has its outcome.
    pub(super) fn over(&mut self, job: JobId, model: &Model, store_now: StoreTime) {
        let facts = self.job(job);
        let was_over = std::mem::replace(&mut facts.is_over, true);
        // A job by hand, or one that is retried, moves no delay.
        let is_own = !facts.was_retried && facts.is_of_tick;
        let schedule = facts.schedule.clone().filter(|_| is_own);
        self.key_ended(job);
        self.must(!was_over, || format!("{} has a second outcome", short(job)));
        if let Some(schedule) = schedule
            && let Some(row) = self.row(model, &schedule)
        {
            self.schedules.entry(schedule).or_default().last_end =
                Some((store_now, row.rule().text.clone()));
        }
    }

    fn reaped(&mut self, reaped: &Reaped, now: u64, model: &Model, store_now: StoreTime) {
        for session in &reaped.sessions {
            self.ends(*session, Ended::Reaped);
            let is_dead = self.sessions.get(session).is_none_or(|session| {
                let lease = u64::try_from(session.lease.as_nanos()).unwrap_or(0);
                now >= session.renewed + lease / 1_000 * 995
            });
            self.must(is_dead, || "a session was ended within its lease".to_owned());
        }
        for job in &reaped.jobs {
            let facts = self.job(job.id);
            let holder = facts.holder.take();
            let is_abandon = job.on_lost == OnLost::Abandon;
            if is_abandon && job.state == JobState::Parked {
                facts.is_parked_as_lost = holder;
            }
            let before = std::mem::replace(&mut facts.fence, job.fence);
            let is_right = if is_abandon { before == job.fence } else { before < job.fence };
            self.must(is_right, || format!("the fence of {} does not grow", short(job.id)));
            let how = holder.and_then(|holder| self.sessions.get(&holder)?.ended);
            self.must(how != Some(Ended::Closed), || {
                format!("{} was lost by a process that stopped in order", short(job.id))
            });
            self.is_lost(job);
            let is_innocent = job.task != POISON && job.lost >= 3;
            let is_unjust = is_innocent && self.is_poison && !self.was_set;
            self.must(!is_unjust, || format!("{} was parked with a poison job", short(job.id)));
            if job.state != JobState::Ready {
                self.over(job.id, model, store_now);
            }
        }
    }

    fn commanded(
        &mut self,
        command: &Command,
        commanded: CommandOutcome,
        model: &Model,
        store_now: StoreTime,
    ) {
        if commanded != CommandOutcome::Done {
            return;
        }
        let state = |job: JobId| model.job(job).ok().flatten().map(|job| job.state);
        match command {
            Command::Retry { job } => {
                let is_ready = state(*job).is_some_and(JobState::is_unfinished);
                self.must(is_ready, || format!("the retry of {} does nothing", short(*job)));
                if self.job(*job).is_over {
                    self.begins_anew(*job);
                }
                let facts = self.job(*job);
                (facts.is_over, facts.last_run, facts.was_retried) = (false, None, true);
                (facts.was_reset, facts.is_parked_as_lost) = (true, None);
                self.is_retried = true;
                self.has_key_again(*job, store_now);
            }
            Command::PauseJobs { scope, until, .. } => {
                self.jobs_are_paused(scope, *until, store_now);
            }
            Command::ResumeJobs { scope } => drop(self.pauses.remove(scope)),
            Command::SetLimit { scope, limit, .. } => {
                self.limit_is_set(*scope, limit.as_ref(), store_now);
                self.limits_are_as_set(model);
            }
            Command::Reschedule { .. } | Command::Put { .. } => self.has_rescheduled = true,
            Command::Cancel { job } if state(*job) == Some(JobState::Cancelled) => {
                self.over(*job, model, store_now);
            }
            Command::Delete { job } => {
                let facts = self.job(*job);
                (facts.is_over, facts.is_deleted, facts.last_run) = (false, true, None);
                facts.partition = None;
                // Sent again, it is another job.
                facts.is_parked_as_lost = None;
                facts.has_left_key = false;
                self.begins_anew(*job);
                self.keys.remove(job);
            }
            _ => {}
        }
    }

    pub(crate) fn row(&self, model: &Model, schedule: &str) -> Option<StoredSchedule> {
        let rows = model.schedules().unwrap_or_default();
        rows.into_iter().find(|row| row.definition.name == schedule)
    }
}
