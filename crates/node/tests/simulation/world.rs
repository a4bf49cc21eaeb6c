//! The world of a life: what happens when, the network, the store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use scheduler_store::{
    Command, Enqueue, Model, NewJob, Refusal, Renew, Store, StoreError, StoreTime,
};

use crate::checker::Checker;
use crate::process::Process;
use crate::setup::Setup;
use crate::wire::{Event, Message, Reply, Sender, What};
use scheduler_node::Rng;
use scheduler_node::{Answer, Request};

/// A second of true time.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// A thousandth of it.
pub(crate) const MILLI: u64 = 1_000_000;

/// A wish of a client: until it has an answer, it asks again.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) what: Wanted,
    pub(crate) first_sent: Option<u64>,
    pub(crate) is_done: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Enqueue(Box<NewJob>),
    Command(Command),
}

pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) rng: Rng,
    pub(crate) seed: u64,
    pub(crate) setup: Setup,
    pub(crate) processes: Vec<Process>,
    pub(crate) wishes: Vec<Wish>,
    pub(crate) checker: Checker,
    pub(crate) model: Model,
    /// From true time to the store's clock, in microseconds.
    offset: i64,
    pub(crate) is_away: bool,
    pub(crate) is_calm: bool,
    pub(crate) statements: u64,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    bodies: BTreeMap<u64, Event>,
    sequence: u64,
}

impl World {
    pub(crate) fn new(seed: u64, setup: Setup, mut rng: Rng) -> Self {
        let processes =
            (0..setup.processes).map(|index| Process::new(index, &setup, &mut rng)).collect();
        let checker = Checker::new(&setup);
        Self {
            now: SECOND,
            rng,
            seed,
            setup,
            processes,
            wishes: Vec::new(),
            checker,
            model: Model::new(),
            offset: 1_700_000_000_000_000,
            is_away: false,
            is_calm: false,
            statements: 0,
            events: BinaryHeap::new(),
            bodies: BTreeMap::new(),
            sequence: 0,
        }
    }

    pub(crate) fn store_now(&self) -> StoreTime {
        StoreTime::from_micros(self.offset + i64::try_from(self.now / 1_000).unwrap_or(0))
    }

    pub(crate) fn set_store_clock(&mut self, by: i64) {
        self.offset += by;
    }

    /// Something happens at an instant; of two at the same, what was said first.
    pub(crate) fn at(&mut self, at: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at.max(self.now), self.sequence)));
        self.bodies.insert(self.sequence, event);
    }

    pub(crate) fn after(&mut self, wait: u64, event: Event) {
        self.at(self.now + wait, event);
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let Reverse((at, sequence)) = self.events.pop()?;
        self.now = at;
        self.bodies.remove(&sequence)
    }

    /// One in so many messages has a fault.
    fn has_fault(&mut self) -> bool {
        let network = self.setup.network;
        !self.is_calm && network > 0 && self.rng.below(network) == 0
    }

    fn latency(&mut self) -> u64 {
        100_000 + self.rng.below(2 * MILLI)
    }

    /// Late enough that most deadlines have passed.
    fn very_late(&mut self) -> u64 {
        let most = if self.rng.below(3) == 0 { 12 * SECOND } else { 2 * SECOND };
        self.rng.below(most)
    }

    pub(crate) fn send(&mut self, message: Message) {
        self.statements += 1;
        let message = Box::new(message);
        let latency = self.latency();
        if !self.has_fault() {
            self.after(latency, Event::Reach(message));
            return;
        }
        match self.rng.below(4) {
            0 => {}
            // No driver opens a session twice by itself.
            1 if !matches!(message.what, What::Node(Request::Open(_))) => {
                let late = self.very_late();
                self.after(latency, Event::Reach(message.clone()));
                self.after(latency + late, Event::Reach(message));
            }
            _ => {
                let late = self.very_late();
                self.after(latency + late, Event::Reach(message));
            }
        }
    }

    /// A message reaches the store: it is executed, and answered.
    pub(crate) fn reach(&mut self, message: &Message) {
        let latency = self.latency();
        if self.is_away {
            if self.rng.below(2) == 0 {
                let error = StoreError::Unavailable("away".to_owned());
                let reply = match message.what {
                    What::Node(_) => Reply::Node(Err(error)),
                    What::Enqueue(_) => Reply::Enqueue(Err(error)),
                    What::Command(..) => Reply::Command(Err(error)),
                };
                self.after(latency, Event::Reply(message.sender, Box::new(reply)));
            }
            return;
        }
        let store_now = self.store_now();
        self.model.set_now(store_now);
        self.checker.before(message, &self.model, self.now);
        let reply = self.execute(message, store_now);
        self.checker.after(message, &reply, &self.model, self.now, store_now);
        if matches!(&message.what, What::Command(Command::PauseJobs { .. }, _)) {
            self.notify();
        }
        let late = match (self.has_fault(), self.rng.below(2)) {
            (true, 0) => return,
            (true, _) => self.very_late(),
            _ => 0,
        };
        self.after(latency + late, Event::Reply(message.sender, Box::new(reply)));
    }

    /// Tells each process that something has changed; one message in so many is lost.
    fn notify(&mut self) {
        for process in 0..self.processes.len() {
            let (life, latency) = (self.processes[process].life, self.latency());
            if !self.has_fault() {
                self.after(latency, Event::Nudge { process, life });
            }
        }
    }

    fn execute(&mut self, message: &Message, store_now: StoreTime) -> Reply {
        match &message.what {
            What::Node(Request::Fire(fires)) => {
                let mut fired = Vec::new();
                for fire in fires.iter() {
                    let row = self.checker.row(&self.model, &fire.schedule);
                    let waits = self.checker.waits_for_limit(&fire.schedule, &self.model);
                    match self.model.fire(fire) {
                        Ok(answer) => {
                            self.checker.skips_are_of_the_limit(waits, &answer, &fire.schedule);
                            let after = self.checker.row(&self.model, &fire.schedule);
                            let rows = (row.as_ref(), after.as_ref());
                            self.checker.fired(fire, &answer, rows, store_now);
                            fired.push(answer);
                        }
                        Err(error) if fired.is_empty() => return Reply::Node(Err(error)),
                        Err(error) => return Reply::Node(Ok(Answer::Fire(fired, Some(error)))),
                    }
                }
                Reply::Node(Ok(Answer::Fire(fired, None)))
            }
            What::Node(Request::Renew(renew)) => Reply::Node(self.renew(renew)),
            What::Node(request) => Reply::Node(request.execute(&self.model)),
            What::Enqueue(enqueue) => Reply::Enqueue(self.model.enqueue(enqueue)),
            What::Command(command, not_after) => {
                Reply::Command(self.model.command(command, *not_after))
            }
        }
    }

    /// Another transaction may have locked the job of a progress: that one is not written, as in stores with locks.
    fn renew(&mut self, renew: &Renew) -> Result<Answer, StoreError> {
        let mut renew = renew.clone();
        let is_locked = !self.is_calm && !renew.progress.is_empty() && self.rng.below(4) == 0;
        let locked = is_locked.then(|| renew.progress.pop()).flatten();
        self.checker.job_is_locked(locked.as_ref().map(|(held, _)| held.job));
        let mut renewed = self.model.renew(&renew)?;
        renewed.is_complete &= locked.is_none();
        Ok(Answer::Renew(renewed))
    }

    /// A client asks, or asks again.
    pub(crate) fn wish(&mut self, index: usize) {
        let patience = self.setup.lease / 4;
        let wish = &mut self.wishes[index];
        let first = *wish.first_sent.get_or_insert(self.now);
        // A request that is sent again later than that may arrive when the job was pruned (R2).
        let last = u64::try_from(patience.as_nanos()).unwrap_or(0);
        if wish.is_done || self.now - first > last {
            return;
        }
        let not_after = self.store_now().after(patience);
        let what = match &self.wishes[index].what {
            Wanted::Enqueue(job) => {
                self.checker.wants(index, job);
                What::Enqueue(Enqueue { jobs: vec![NewJob::clone(job)], not_after })
            }
            Wanted::Command(command) => What::Command(command.clone(), not_after),
        };
        let sender = Sender::Client { wish: index };
        self.send(Message { sender, sent: self.now, what });
        self.after(nanos(patience) * 9 / 10, Event::Wish(index));
    }

    pub(crate) fn wish_answered(&mut self, index: usize, reply: &Reply) {
        let is_unknown = match reply {
            Reply::Enqueue(Err(error)) | Reply::Command(Err(error)) => {
                *error != StoreError::Refused(Refusal::TooLate)
            }
            _ => false,
        };
        self.wishes[index].is_done |= !is_unknown;
        self.checker.answered(index, reply);
    }
}

pub(crate) fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
