//! The effect of each event.

use scheduler_store::{
    ClaimRef, Command, End, JobId, JobPause, JobProgress, Store, StoreTime, StoredJob,
};

use crate::body::Body;
use crate::pool::{Running, key};
use crate::process::Process;
use crate::wire::{Event, Happening, Message, Reply, Sender, What};
use crate::world::{MILLI, SECOND, World, nanos};
use scheduler_node::Channel;
use scheduler_node::{Effect, Input, NodeEvent};

impl World {
    pub(crate) fn handle(&mut self, event: Event) {
        match event {
            Event::Reach(message) => self.reach(&message),
            Event::Reply(Sender::Client { wish }, reply) => self.wish_answered(wish, &reply),
            Event::Reply(Sender::Node { process, life, channel, request }, reply) => {
                let is_hung = channel == Channel::Store && self.processes[process].is_hung;
                if let Reply::Node(result) = *reply
                    && !is_hung
                {
                    let event = |result| {
                        let sender = Sender::Node { process, life, channel, request };
                        Event::Reply(sender, Box::new(Reply::Node(result)))
                    };
                    if let Some(result) = self.awake(process, life, result, event) {
                        let tick = self.processes[process].tick(self.now);
                        self.checker.replied(process, request, &result, tick);
                        self.step(process, Input::Answer { request, result });
                    }
                }
            }
            Event::Deadline { process, life, request } => {
                let event = |()| Event::Deadline { process, life, request };
                if self.awake(process, life, (), event).is_some() {
                    // A thread that hangs gives nothing up.
                    let channel = self.checker.channel_of(process, request);
                    if channel != Some(Channel::Store) || !self.processes[process].is_hung {
                        self.checker.given_up(process, request);
                        self.step(process, Input::NoAnswer { request });
                    }
                }
            }
            Event::Wake { process, life, channel } => self.wake(process, life, channel),
            Event::Nudge { process, life } => {
                if self.awake(process, life, (), |()| Event::Nudge { process, life }).is_some() {
                    self.step(process, Input::Nudge);
                }
            }
            Event::Reports { process, life, run, number } => {
                self.reports(process, life, run, number);
            }
            Event::RunEnds { process, life, run } => self.run_ends(process, life, run),
            Event::Process(process, happening) => self.happens(process, happening),
            Event::Wish(index) => self.wish(index),
            Event::Step(by) => {
                self.set_store_clock(by);
                self.checker.clock_was_set();
            }
            Event::Store(is_away) => {
                self.is_away = is_away && !self.is_calm;
                self.checker.store_is_away(self.is_away, self.now);
            }
            Event::Calm => self.calm(),
            Event::Quiet => self.quiet(),
            Event::Look => {}
        }
    }

    /// A message to a process that is frozen reaches it when it thaws; one that was meant for a former life is lost.
    fn awake<T>(
        &mut self,
        process: usize,
        life: u64,
        what: T,
        event: impl FnOnce(T) -> Event,
    ) -> Option<T> {
        let state = &self.processes[process];
        if state.life != life || state.node.is_none() {
            return None;
        }
        if state.is_frozen(self.now) {
            // In any order, as threads wake up.
            let at = state.frozen_until + self.rng.below(3 * MILLI);
            self.at(at, event(what));
            return None;
        }
        Some(what)
    }

    fn wake(&mut self, process: usize, life: u64, channel: Channel) {
        let index = Process::index_of(channel);
        if self.processes[process].wakes[index] != Some(self.now)
            || self.processes[process].life != life
        {
            return;
        }
        let state = &self.processes[process];
        if state.is_frozen(self.now) {
            let at = state.frozen_until + self.rng.below(3 * MILLI);
            self.processes[process].wakes[index] = Some(at);
            return self.at(at, Event::Wake { process, life, channel });
        }
        self.processes[process].wakes[index] = None;
        if channel == Channel::Store && self.processes[process].is_hung {
            return;
        }
        self.checker.woke(process, channel, self.now);
        self.step(process, Input::Timer(channel));
    }

    /// Plans when each thread of a process looks again.
    fn arm(&mut self, process: usize) {
        for channel in [Channel::Store, Channel::Lease] {
            let state = &self.processes[process];
            let Some(node) = state.node.as_ref() else { return };
            let Some(tick) = node.wake(channel) else { continue };
            let at = state.true_time(tick).max(self.now + 1);
            let index = Process::index_of(channel);
            let life = state.life;
            if state.wakes[index] != Some(at) {
                self.processes[process].wakes[index] = Some(at);
                self.at(at, Event::Wake { process, life, channel });
            }
        }
    }

    /// A node takes an input, and what follows is done.
    fn step(&mut self, process: usize, input: Input) {
        let mut effects = Vec::new();
        let state = &mut self.processes[process];
        let tick = state.tick(self.now);
        let life = state.life;
        let Some(node) = state.node.as_mut() else { return };
        node.step(input, tick, &mut effects);
        for effect in effects {
            self.perform(process, life, effect);
        }
        self.begin_runs(process);
        self.arm(process);
    }

    fn perform(&mut self, process: usize, life: u64, effect: Effect) {
        match effect {
            Effect::Ask { channel, request, what, deadline } => {
                let state = &self.processes[process];
                let (tick, lease) = (state.tick(self.now), state.lease());
                self.checker.asked((process, life), channel, request, &what, tick, lease, self.now);
                let at = self.processes[process].true_time(deadline);
                let is_hung = self.processes[process].is_hung && channel == Channel::Store;
                if !is_hung {
                    let sender = Sender::Node { process, life, channel, request };
                    self.send(Message { sender, sent: self.now, what: What::Node(what) });
                    self.at(at, Event::Deadline { process, life, request });
                }
            }
            Effect::Start(job) => {
                self.processes[process].pool.queue.push_back((StoredJob::clone(&job), self.now));
            }
            Effect::Withdraw(held) => {
                let queue = &mut self.processes[process].pool.queue;
                queue.retain(|(job, _)| job.held() != held);
            }
            Effect::Outlived(_) => {}
            Effect::Lost(held) => {
                let running = &mut self.processes[process].pool.running;
                running.entry(key(held)).and_modify(|run| run.is_lost = true);
                self.ask_to_stop(process, held, false);
            }
            Effect::Cancel(held) => self.ask_to_stop(process, held, true),
            Effect::Event(NodeEvent::SessionLost { session, .. }) => {
                let tick = self.processes[process].tick(self.now);
                self.checker.session_lost(session, tick);
            }
            Effect::Event(_) => {}
            Effect::Stopped => {
                self.checker.stopped(process, self.now);
                self.processes[process].die();
                let wait = self.rng.below(5 * SECOND);
                self.after(wait, Event::Process(process, Happening::Start));
            }
        }
    }

    /// A run is asked to stop because it is lost or cancelled: some do.
    fn ask_to_stop(&mut self, process: usize, held: ClaimRef, is_cancel: bool) {
        let at = self.now + self.rng.below(300 * MILLI);
        let state = &mut self.processes[process];
        let life = state.life;
        let Some(run) = state.pool.running.get_mut(&key(held)) else { return };
        if run.listens && run.end.is_some() && at < run.ends_at {
            run.ends_at = at;
            if is_cancel {
                run.end = Some(End::Cancelled);
            }
            let run = run.run;
            self.at(at, Event::RunEnds { process, life, run });
        }
    }

    /// Free workers take jobs.
    fn begin_runs(&mut self, process: usize) {
        loop {
            let state = &mut self.processes[process];
            if state.pool.running.len() >= state.config.workers as usize {
                return;
            }
            let Some((job, started)) = state.pool.queue.pop_front() else { return };
            let (tick, life) = (state.tick(self.now), state.life);
            let may_begin = state.node.as_mut().is_some_and(|node| node.begin(job.held(), tick));
            if !may_begin {
                continue;
            }
            let body = Body::of(&job, self.seed);
            let ends_at = self.now + nanos(body.lasts);
            let run = self.checker.began(process, &job, tick, started, self.now);
            for number in 1..=body.reports {
                let at = self.now + nanos(body.lasts) / u64::from(body.reports) * u64::from(number);
                self.at(at, Event::Reports { process, life, run, number });
            }
            let Body { end, listens, .. } = body;
            let running = Running { run, end, listens, is_lost: false, ends_at };
            self.processes[process].pool.running.insert(key(job.held()), running);
            self.at(ends_at, Event::RunEnds { process, life, run });
        }
    }

    fn reports(&mut self, process: usize, life: u64, run: usize, number: u32) {
        let event = |()| Event::Reports { process, life, run, number };
        if self.awake(process, life, (), event).is_none() {
            return;
        }
        let state = &mut self.processes[process];
        let is_it = |(_, running): &(&(JobId, u64), &Running)| running.run == run;
        let key = state.pool.running.iter().find(is_it).map(|(key, _)| *key);
        let progress = JobProgress::new(f64::from(number) / 5.0, &format!("{run} {number}"));
        if let (Some(key), Some(node), Some(progress)) = (key, state.node.as_mut(), progress) {
            let held = ClaimRef { job: key.0, fence: scheduler_store::Fence(key.1) };
            node.report_progress(held, progress.clone());
            self.checker.reported(run, progress);
        }
    }

    fn run_ends(&mut self, process: usize, life: u64, run: usize) {
        let event = |()| Event::RunEnds { process, life, run };
        if self.awake(process, life, (), event).is_none() {
            return;
        }
        let running = &mut self.processes[process].pool.running;
        let Some((key, candidate)) = running.iter().find(|(_, candidate)| candidate.run == run)
        else {
            return;
        };
        if self.now < candidate.ends_at {
            return;
        }
        let key = *key;
        let Some(ended) = running.remove(&key) else { return };
        let held = ClaimRef { job: key.0, fence: scheduler_store::Fence(key.1) };
        let end = match ended.end {
            Some(_) if ended.is_lost => {
                Some(End::Lost { after: std::time::Duration::ZERO, max_lost: u32::MAX })
            }
            end => end,
        };
        self.checker.run_ended(run, end.as_ref(), self.now);
        match end {
            Some(end) => self.step(process, Input::Ended { held, end }),
            None => self.crash(process),
        }
    }

    fn crash(&mut self, process: usize) {
        if self.processes[process].node.is_none() {
            return;
        }
        self.checker.crashed(process, self.now);
        self.processes[process].die();
        let wait = self.rng.below(3 * SECOND);
        self.after(wait, Event::Process(process, Happening::Start));
    }

    fn happens(&mut self, process: usize, happening: Happening) {
        let is_up = self.processes[process].node.is_some();
        match happening {
            Happening::Start if !is_up => {
                let (now, setup) = (self.now, self.setup.clone());
                let is_deployed = self.is_calm;
                self.processes[process].start(process, &setup, is_deployed, now, &mut self.rng);
                let life = self.processes[process].life;
                self.checker.started(process, life);
                self.step(process, Input::Nudge);
            }
            _ if !is_up || (self.is_calm && happening != Happening::Stop) => {}
            Happening::Start => {}
            Happening::Crash => self.crash(process),
            Happening::Freeze(length) => {
                self.processes[process].frozen_until = (self.now + length).max(1);
            }
            Happening::Hang => self.processes[process].is_hung = true,
            Happening::Stop => {
                if !self.processes[process].is_frozen(self.now) {
                    self.checker.stops(process);
                    self.step(process, Input::Stop);
                }
            }
        }
    }

    /// The faults end. A thread that hangs hangs on.
    fn calm(&mut self) {
        self.is_calm = true;
        self.is_away = false;
        self.checker.store_is_away(false, self.now);
        self.resume_jobs();
        let first = &self.processes[0];
        if self.setup.builds && !first.is_other_build {
            // Jobs with newer payloads wait for it.
            self.at(first.frozen_until + MILLI, Event::Process(0, Happening::Stop));
        }
    }

    /// No job is paused any more: each one shall have its outcome.
    fn resume_jobs(&mut self) {
        self.model.set_now(self.store_now());
        for JobPause { scope, .. } in self.model.pauses().unwrap_or_default() {
            drop(self.model.command(&Command::ResumeJobs { scope }, StoreTime::MAX));
        }
        for scope in self.checker.jobs_are_resumed() {
            drop(self.model.command(&Command::ResumeJobs { scope }, StoreTime::MAX));
        }
    }

    /// No further ticks: schedules are paused, and what has come is done.
    fn quiet(&mut self) {
        let store_now = self.store_now();
        self.model.set_now(store_now);
        // A command may have reached the store very late.
        self.resume_jobs();
        self.checker.before_quiet(&self.model, store_now);
        for schedule in self.model.schedules().unwrap_or_default() {
            let (by, reason) = ("the end".to_owned(), String::new());
            let schedule = schedule.definition.name;
            let pause = Command::Pause { schedule, until: None, by, reason };
            drop(self.model.command(&pause, StoreTime::MAX));
        }
    }
}
