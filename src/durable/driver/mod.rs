//! The threads and the clock of this process's node, and its runs.
//!
//! The [node](scheduler_node::Node) decides; a [`NodeDriver`] does. It passes inputs to the node, sends the node's requests to the
//! store, starts claimed jobs as runs of tasks, and reports events.
//!
//! ```text
//! scheduler-node    steps the node when its time has come
//! scheduler-store   asks the store for everything but renewals
//! scheduler-lease   renews the lease, so that a slow claim never delays that
//! scheduler-watch   waits for changes by other processes, if the store can report them
//! ```
//!
//! It decides nothing about jobs, and performs no effect under the lock of the node: a run that begins asks the node under
//! the lock of its task, so the lock of the node is always the last one.
//!
//! A request that is not answered at its deadline is given up, and the node takes it for one whose answer is lost: another
//! thread asks on, and the one that hangs ends with its call.
//!
//! It works until [`NodeDriver::stop`]; then the node gives back what never began, waits for its runs, and ends its session.

mod channel;
mod events;
#[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "only a simulated node rests"))]
mod simulated;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use std::{fmt, io, thread};

use scheduler_core::time::EventCount;
use scheduler_core::{Clock, Error, VirtualWorkers};
use scheduler_node::{Answer, Channel, Effect, Input, Node, Request, RequestId, Tick};
use scheduler_store::{
    ClaimRef, End, Fence, JobId, JobProgress, PauseScope, Refusal, StoreError, StoredJob, Watch,
};

use super::client::Client;
use super::node::JobTask;
use crate::base::set_once::{SetOnce, block_on};
use crate::base::sync::{Mutex, MutexGuard};
use crate::run::ClaimedJob;
use crate::task::Retry;
use channel::RequestSlot;
use simulated::NodeTimer;

pub(super) use events::Reports;
pub(super) use simulated::Rest;
pub(crate) use simulated::SimulatedNodes;

/// The parts of a driver.
pub(crate) struct DriverParts {
    pub(crate) client: Client,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) node: Node,
    /// The tasks by the names under which the store knows them.
    pub(crate) tasks: BTreeMap<Arc<str>, JobTask>,
    pub(crate) reports: Reports,
    /// True to do everything on the calling thread, as a simulation needs it.
    pub(crate) is_inline: bool,
    /// In a simulation, on a store of its own.
    pub(crate) rest: Option<Rest>,
}

/// The node of this process with all that it needs.
pub(crate) struct NodeDriver {
    client: Client,
    clock: Arc<dyn Clock>,
    node: Mutex<Node>,
    tasks: BTreeMap<Arc<str>, JobTask>,
    reports: Reports,
    /// Each is kept by its task alone, so that one that a task drops has an end.
    runs: Mutex<BTreeMap<(JobId, Fence), Weak<ClaimedJob>>>,
    is_inline: bool,
    slots: [RequestSlot; 2],
    /// Why the lease was not renewed, or no session opened, when that was last tried; none if it was.
    lease_failure: Mutex<Option<String>>,
    /// Opened when the node may have to be stepped earlier than before.
    timer: Arc<EventCount>,
    /// For when the thread of the node waits.
    armed: Mutex<Tick>,
    stopped: SetOnce<()>,
    /// Of a simulated node.
    node_timer: OnceLock<NodeTimer>,
    /// Of a simulated node whose idle time is skipped.
    rest: Option<Rest>,
    me: Weak<Self>,
}

impl NodeDriver {
    pub(crate) fn new(parts: DriverParts) -> Arc<Self> {
        let DriverParts { client, clock, node, tasks, reports, is_inline, rest } = parts;
        Arc::new_cyclic(|me| Self {
            client,
            clock,
            node: Mutex::new(node),
            tasks,
            reports,
            runs: Mutex::default(),
            is_inline,
            slots: <_>::default(),
            lease_failure: Mutex::default(),
            timer: Arc::new(EventCount::new()),
            armed: Mutex::new(Tick::ZERO),
            stopped: SetOnce::new(),
            node_timer: OnceLock::new(),
            rest,
            me: Weak::clone(me),
        })
    }

    /// The time that leases are counted by.
    fn now(&self) -> Tick {
        self.clock.boot_time()
    }

    fn node(&self) -> MutexGuard<'_, Node> {
        self.node.lock()
    }

    /// Has the node stepped by a virtual worker.
    ///
    /// # Errors
    ///
    /// There can be no such worker.
    pub(crate) fn start_simulated(self: &Arc<Self>, workers: &VirtualWorkers) -> Result<(), Error> {
        drop(self.node_timer.set(NodeTimer::new(Arc::downgrade(self), &self.clock, workers)?));
        self.step_node();
        self.rearm();
        Ok(())
    }

    /// Gives the node what happened, and does what it wants done.
    fn input(&self, input: Input) {
        let mut effects = Vec::new();
        if let Some(rest) = &self.rest {
            // The timer is armed below.
            rest.set_until(None);
        }
        let mut node = self.node();
        // Under the lock, so that time does not go back from one step to the next.
        let now = self.now();
        node.observe_wall(self.clock.wall().into(), now, &mut effects);
        node.step(input, now, &mut effects);
        let (store_time, clock_offset) = (node.store_time(now), node.clock_offset());
        drop(node);
        if let Some(store_time) = store_time {
            self.client.observe_time(store_time, now);
            self.client.observe_offset(clock_offset.unwrap_or_default());
        }
        self.perform(effects);
        self.rearm();
    }

    /// Why this process has no lease that was renewed when that was last due; none while it has one. A renewal is a write: a
    /// store that only answers questions renews none.
    pub(crate) fn outage(&self) -> Option<String> {
        let failure = self.lease_failure.lock().clone();
        let is_held = || self.node().lease_until().is_some_and(|until| self.now() < until);
        failure.or_else(|| (!is_held()).then(|| "no session is open yet".to_owned()))
    }

    /// Takes note of the answer to an attempt to renew the lease, or to open a session.
    fn note_lease(&self, what: &Request, answer: &Result<Answer, StoreError>) {
        if !matches!(what, Request::Open(_) | Request::Renew(_)) {
            return;
        }
        let mut failure = self.lease_failure.lock();
        match answer {
            Ok(_) => *failure = None,
            // The store's clock was set: it is asked for at once.
            Err(StoreError::Refused(Refusal::TooLate)) => {}
            // The store was not even asked, mostly because of the failure before.
            Err(StoreError::NotExecuted(_)) if failure.is_some() => {}
            Err(error) => *failure = Some(error.to_string()),
        }
    }

    /// Something may have become due.
    pub(crate) fn nudge(&self) {
        self.input(Input::Nudge);
    }

    /// Claims nothing more, and gives back what has not begun.
    pub(crate) fn stop(&self) {
        self.input(Input::Stop);
    }

    /// Waits until the session has ended, at most for the limit. Returns true if it has.
    pub(crate) fn await_stop(&self, limit: Duration) -> bool {
        block_on(self.stopped.clone(), &*self.clock, limit).is_some()
    }

    /// Returns true once the session has ended.
    fn has_stopped(&self) -> bool {
        self.stopped.is_set()
    }

    /// When the node has to be stepped next, or a request is given up.
    fn next_wake(&self) -> Tick {
        let deadlines = self.slots.iter().map(RequestSlot::deadline);
        deadlines.fold(self.wake().0, Ord::min)
    }

    /// When the node has to be stepped next.
    fn wake(&self) -> (Tick, Option<Channel>) {
        let node = self.node();
        let wakes = [Channel::Store, Channel::Lease].map(|channel| (node.wake(channel), channel));
        drop(node);
        let wakes = wakes.into_iter().filter_map(|(wake, channel)| Some((wake?, channel)));
        let first = wakes.min_by_key(|(wake, _)| *wake);
        first.map_or((Tick::MAX, None), |(wake, channel)| (wake, Some(channel)))
    }

    /// Ends the threads, whatever the node still wants: the store does not answer, or a run does not end. No thread
    /// renews the lease any more, so that runs in progress are lost.
    pub(crate) fn give_up(&self) {
        self.end_threads();
        let left: Vec<Arc<ClaimedJob>> = self.runs().values().filter_map(Weak::upgrade).collect();
        left.iter().for_each(|claimed| claimed.set_lost());
    }

    fn end_threads(&self) {
        self.stopped.set(());
        self.slots.iter().for_each(RequestSlot::close);
        self.timer.open();
    }

    /// Steps the node if its time has come. Returns when to look again.
    pub(crate) fn step_node(&self) -> Tick {
        self.give_up_requests();
        loop {
            let (wake, channel) = self.wake();
            match channel {
                Some(channel) if wake <= self.now() => self.input(Input::Timer(channel)),
                _ => return self.next_wake(),
            }
        }
    }

    /// Wakes the thread of the node if it waits for longer than it may.
    fn rearm(&self) {
        let wake = self.next_wake();
        if self.is_inline {
            let wake = self.rest.as_ref().and_then(Rest::until).unwrap_or(wake);
            let now = self.clock.read();
            match self.node_timer.get() {
                Some(timer) if wake == Tick::MAX => timer.disarm(),
                Some(timer) => timer.arm(now.tick + wake.since(self.now()), now),
                None => {}
            }
            return;
        }
        let armed = *self.armed.lock();
        if wake < armed {
            self.timer.open();
        }
    }

    fn perform(&self, effects: Vec<Effect>) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Ask { request, what, .. } if self.is_inline => {
                    let mut more = Vec::new();
                    let answer = self.ask(request, &what);
                    let paused = paused_kinds(&answer);
                    self.node().step(answer, self.now(), &mut more);
                    effects.extend(more);
                    self.heard(&what, paused);
                }
                Effect::Ask { channel, request, what, deadline } => {
                    self.slot(channel).send(request, what, deadline);
                }
                Effect::Start(job) => self.start(job),
                Effect::Withdraw(held) => {
                    if let Some(claimed) = self.take_run(held).as_ref().and_then(Weak::upgrade) {
                        claimed.withdraw();
                    }
                }
                Effect::Lost(held) => self.with_run(held, ClaimedJob::set_lost),
                Effect::Outlived(held) => self.with_run(held, ClaimedJob::set_outlived),
                Effect::Cancel(held) => self.with_run(held, ClaimedJob::cancel),
                Effect::Event(event) => self.reports.report(event, &self.tasks),
                Effect::Stopped => self.end_threads(),
            }
        }
    }

    /// Asks the store on the calling thread.
    fn ask(&self, request: RequestId, what: &Request) -> Input {
        if let Some(rest) = &self.rest {
            rest.asks(what);
        }
        // A store may be the user's; one that panics has not answered.
        let answer = crate::observe::catch(|| {
            if matches!(what, Request::Open(_)) {
                self.client.store().try_open();
            }
            self.client.call(|store| what.execute(store))
        });
        let result = answer
            .unwrap_or_else(|failure| Err(StoreError::Unavailable(failure.message().to_owned())));
        self.note_lease(what, &result);
        Input::Answer { request, result }
    }

    /// Takes note of facts for people in an answer that the node has had. A store may be the user's, and one that does not answer
    /// is reported elsewhere.
    fn heard(&self, what: &Request, paused: Option<Vec<String>>) {
        if let Some(paused) = paused {
            drop(crate::observe::catch(|| self.reports.jobs().heard_paused(&paused)));
        }
        self.warn_of_unknown(what);
    }

    fn slot(&self, channel: Channel) -> &RequestSlot {
        match channel {
            Channel::Store => &self.slots[0],
            Channel::Lease => &self.slots[1],
        }
    }

    /// Starts a claimed job as a run of its task.
    fn start(&self, job: Arc<StoredJob>) {
        let held = job.held();
        let Some(task) = self.tasks.get(&*job.task) else {
            // The node claims only jobs of tasks that it was given.
            self.input(Input::Ended { held, end: End::GiveBack });
            return;
        };
        task.control.start_job(&self.new_run(job));
    }

    fn new_run(&self, job: Arc<StoredJob>) -> Arc<ClaimedJob> {
        let held = job.held();
        let (gate, ended) = (Weak::clone(&self.me), Weak::clone(&self.me));
        let may_begin = move || gate.upgrade().is_some_and(|driver| driver.may_begin(held));
        let on_end = move |job: &StoredJob, end| {
            if let Some(driver) = ended.upgrade() {
                driver.run_ended(job, end);
            }
        };
        let retry = self.tasks.get(&*job.task).map_or(Retry::NONE, |task| task.retry);
        let retry_after = retry.wait_of_job(&job);
        let claimed = ClaimedJob::new(job, retry_after, Box::new(may_begin), Box::new(on_end));
        let reported = Weak::clone(&self.me);
        claimed.on_progress(Box::new(move |job, progress| {
            if let Some(driver) = reported.upgrade() {
                driver.run_reports(job, progress);
            }
        }));
        self.runs().insert(key(held), Arc::downgrade(&claimed));
        claimed
    }

    /// A run has come so far; none is no number.
    fn run_reports(&self, job: &StoredJob, progress: Option<JobProgress>) {
        let Some(progress) = progress else { return self.reports.progress_ignored(job) };
        let mut node = self.node();
        node.report_progress(job.held(), progress);
        if self.is_inline {
            node.renew_soon(self.now());
            drop(node);
            self.input(Input::Timer(Channel::Store));
        }
    }

    /// Asked by a run just before its body, under the lock of its task.
    fn may_begin(&self, held: ClaimRef) -> bool {
        self.node().begin(held, self.now())
    }

    fn run_ended(&self, job: &StoredJob, end: End) {
        let held = job.held();
        if self.take_run(held).is_some() {
            self.input(Input::Ended { held, end });
        }
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<(JobId, Fence), Weak<ClaimedJob>>> {
        self.runs.lock()
    }

    fn take_run(&self, held: ClaimRef) -> Option<Weak<ClaimedJob>> {
        self.runs().remove(&key(held))
    }

    fn with_run(&self, held: ClaimRef, tell: impl FnOnce(&ClaimedJob)) {
        let claimed = self.runs().get(&key(held)).and_then(Weak::upgrade);
        if let Some(claimed) = claimed {
            tell(&claimed);
        }
    }
}

/// The kinds of jobs that the answer to a poll names as paused; `None` if it is another answer, or there is none.
fn paused_kinds(answer: &Input) -> Option<Vec<String>> {
    let Input::Answer { result: Ok(Answer::Poll(polled)), .. } = answer else { return None };
    let kinds = polled.paused.iter().filter_map(|scope| match scope {
        PauseScope::Task(name) => Some(name.clone()),
        PauseScope::Queue(_) | PauseScope::Partition(..) => None,
    });
    polled.is_alive.then(|| kinds.collect())
}

fn key(held: ClaimRef) -> (JobId, Fence) {
    (held.job, held.fence)
}

impl fmt::Debug for NodeDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeDriver").field("store", self.client.store()).finish_non_exhaustive()
    }
}

/// For how long the watch waits at a time, and after an error.
const WATCH: Duration = Duration::from_secs(1);

impl NodeDriver {
    /// Starts the threads, and the node with them.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub(crate) fn start_threads(self: &Arc<Self>) -> io::Result<()> {
        for channel in [Channel::Store, Channel::Lease] {
            self.start_thread(channel, self.slot(channel).thread())?;
        }
        let watch = self.client.store().get().map(|store| store.watch());
        if !matches!(watch, Ok(None)) {
            let driver = Arc::clone(self);
            spawn("scheduler-watch", move || driver.watch_with(watch.ok().flatten()))?;
        }
        let driver = Arc::clone(self);
        spawn("scheduler-node", move || driver.keep_time())
    }

    /// Starts a thread that asks the store.
    fn start_thread(self: &Arc<Self>, channel: Channel, thread: u64) -> io::Result<()> {
        let name = match channel {
            Channel::Store => "scheduler-store",
            Channel::Lease => "scheduler-lease",
        };
        let driver = Arc::clone(self);
        spawn(name, move || driver.ask_for(channel, thread))
    }

    /// Asks the store what the node wants to know.
    fn ask_for(&self, channel: Channel, thread: u64) {
        let slot = self.slot(channel);
        while let Some((request, what)) = slot.receive(&*self.clock, thread) {
            let answer = self.ask(request, &what);
            slot.answered(request);
            let paused = paused_kinds(&answer);
            // The answer to a request that was given up is none, and the node knows that.
            self.input(answer);
            self.heard(&what, paused);
        }
    }

    /// Gives up requests whose deadline has come: the store's call hangs, and another thread asks what is next.
    fn give_up_requests(&self) {
        for channel in [Channel::Store, Channel::Lease] {
            let given_up = self.slot(channel).give_up(self.now());
            let Some((request, thread)) = given_up else { continue };
            if channel == Channel::Lease {
                *self.lease_failure.lock() = Some("the store has not answered in time".to_owned());
            }
            let started = self.me.upgrade().map(|driver| driver.start_thread(channel, thread));
            if !matches!(started, Some(Ok(()))) {
                self.slot(channel).keep_thread();
            }
            self.input(Input::NoAnswer { request });
        }
    }

    /// Steps the node whenever its time has come, until it has stopped.
    fn keep_time(&self) {
        while !self.has_stopped() {
            let seen = self.timer.epoch();
            // RACE: a thread that steps the node meanwhile sees that this one is not waiting, and opens the gate.
            self.arm(Tick::MAX);
            let wake = self.step_node();
            self.arm(wake);
            if self.next_wake() < wake {
                continue;
            }
            let left = wake.since(self.now());
            let until = (wake != Tick::MAX).then(|| self.clock.now() + left);
            self.clock.wait(&self.timer, seen, until);
        }
    }

    fn arm(&self, wake: Tick) {
        *self.armed.lock() = wake;
    }

    /// Waits for changes by other processes, from when the store is open, if it reports them.
    fn watch_with(&self, mut watch: Option<Box<dyn Watch>>) {
        let pause = Arc::new(EventCount::new());
        while !self.has_stopped() {
            if watch.is_none() {
                watch = match self.client.store().get().map(|store| store.watch()) {
                    Ok(None) => return,
                    opened => opened.ok().flatten(),
                };
            }
            match watch.as_mut().map(|watch| watch.wait(WATCH)) {
                Some(Ok(true)) => self.nudge(),
                Some(Ok(false)) => {}
                Some(Err(_)) | None => {
                    let until = self.clock.now() + WATCH;
                    self.clock.wait(&pause, pause.epoch(), Some(until));
                }
            }
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map(drop)
}
