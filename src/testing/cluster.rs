//! Several simulated processes that share a store.

use std::fmt;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{Clock, Tick};
use scheduler_store::Model;

use crate::durable::{Client, Jobs, Schedules, StoreCell};
use crate::testing::moment::{IntoMoment, Moment, moment};
use crate::testing::setup::Setup;
use crate::testing::sim::Sim;
use crate::testing::world::World;

/// Several simulated processes of one program, which share a store and a clock: see [`Sim::cluster`].
///
/// `cluster[0]` is the first process, as the [`Sim`] that it would be alone. They have one clock: moving the
/// time of one process moves it for all.
#[must_use = "a cluster does nothing until its time is moved"]
pub struct Cluster {
    program: Box<dyn Fn(Sim) -> Sim>,
    start: Moment,
    world: Arc<World>,
    store: Model,
    jobs: Jobs,
    processes: Vec<Process>,
    /// The lives that have ended, with the numbers of their processes: what they have recorded, and what they held.
    former: Vec<(usize, Sim)>,
}

/// A process in its present life, or its last one.
struct Process {
    sim: Sim,
    /// Its connection to the store.
    connection: Model,
    life: usize,
    is_killed: bool,
}

/// Several processes.
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
impl Sim {
    /// Simulates several processes of one program that share a [store](Self::with_store) in memory, on one thread and one
    /// clock.
    ///
    /// `program` is what each process does at its start, also when it starts again. Its managed values are its own; what is
    /// outside of all processes, such as a fake database, is an `Arc` that it gives to
    /// [`manage_shared`](Self::manage_shared).
    ///
    /// Processes are killed, frozen, cut off from the store and started again as the test says, and nothing else is left to
    /// chance: the same test always takes the same course.
    ///
    /// ```standalone_crate
    /// use scheduler::scheduled;
    /// use scheduler::testing::*;
    ///
    /// #[scheduled(cron = "0 0 * * * *", zone = "UTC", name = "report", durable)]
    /// fn report() {}
    ///
    /// let mut cluster = Sim::cluster("2026-01-01T00:30:00Z", 3, |sim| sim.task(report));
    /// cluster.takes("report", minutes(5));
    /// cluster.advance(minutes(31));
    /// let (_, process) = cluster.starts("report")[0];
    /// cluster.kill(process); // as by `kill -9`, during its run
    /// cluster.advance(minutes(2));
    /// let starts = cluster.starts("report");
    /// assert_eq!(starts.len(), 2, "another process has taken over");
    /// assert_ne!(starts[1].1, process);
    /// ```
    ///
    /// # Panics
    ///
    /// When `start` is no instant, there is no process, or the program cannot start.
    #[track_caller]
    pub fn cluster(
        start: impl IntoMoment,
        processes: usize,
        program: impl Fn(Self) -> Self + 'static,
    ) -> Cluster {
        assert!(processes > 0, "a cluster has at least one process");
        let start = moment(start);
        let world = World::new(start.instant());
        let store = world.new_store();
        let clock: Arc<dyn Clock> = Arc::<World>::clone(&world);
        let jobs = Jobs::new(Client::new(StoreCell::open(Arc::new(store.connect())), clock, true));
        let (program, former) = (Box::new(program), Vec::new());
        let mut cluster =
            Cluster { program, start, world, store, jobs, processes: Vec::new(), former };
        for process in 0..processes {
            let begun = cluster.begin(process);
            cluster.processes.push(begun);
        }
        cluster.jobs.know_as(&cluster.processes[0].sim.jobs());
        cluster
    }
}

/// Moves time, for all processes.
///
/// These methods panic if a task, a listener or a trigger panicked in any process: see [`Sim`].
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
impl Cluster {
    /// As [`Sim::advance`].
    #[track_caller]
    pub fn advance(&mut self, length: Duration) {
        self.processes[0].sim.advance(length);
    }

    /// As [`Sim::advance_to`].
    #[track_caller]
    pub fn advance_to(&mut self, instant: impl IntoMoment) {
        self.processes[0].sim.advance_to(instant);
    }

    /// Sets the time that each attempt of a task takes, in all processes: as [`Sim::takes`].
    #[track_caller]
    pub fn takes(&mut self, task: &str, length: Duration) {
        self.processes.iter_mut().for_each(|process| process.sim.takes(task, length));
    }
}

/// Does to processes what happens to them. Each method panics if there is no such process.
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
impl Cluster {
    /// Kills a process, as `kill -9` does: it does nothing any more, and its session stays until the lease ends. Work that it
    /// held is dropped with the cluster.
    ///
    /// To stop it in order, write `cluster[0].shutdown()`.
    #[track_caller]
    pub fn kill(&mut self, process: usize) {
        let (world, process) = (&self.world, &mut self.processes[process]);
        process.is_killed = true;
        process.connection.set_cut(true);
        world.lives().freeze(process.life, Tick::MAX);
    }

    /// Starts a process again, with nothing in its memory. One that still runs is [killed](Self::kill) first.
    #[track_caller]
    pub fn restart(&mut self, process: usize) {
        self.kill(process);
        let begun = self.begin(process);
        let former = std::mem::replace(&mut self.processes[process], begun);
        self.former.push((process, former.sim));
    }

    /// Freezes a process until it is [thawed](Self::thaw), as a virtual machine that is paused, or a laptop that sleeps: time
    /// goes on without it, and what it has begun is there still.
    ///
    /// Futures that its tasks have spawned in a Tokio runtime are not frozen.
    ///
    /// # Panics
    ///
    /// When the process was killed.
    #[track_caller]
    pub fn freeze(&mut self, process: usize) {
        self.freeze_until(process, Tick::MAX);
    }

    /// As [`freeze`](Self::freeze), for this long.
    ///
    /// # Panics
    ///
    /// When the process was killed.
    #[track_caller]
    pub fn freeze_for(&mut self, process: usize, length: Duration) {
        self.freeze_until(process, self.world.now() + length);
    }

    /// Lets a frozen process go on.
    ///
    /// # Panics
    ///
    /// When the process was killed.
    #[track_caller]
    pub fn thaw(&mut self, process: usize) {
        self.freeze_until(process, Tick::ZERO);
    }

    /// Cuts a process off from the store: what it asks is not executed, and it gets errors, until this is
    /// [healed](Self::heal).
    ///
    /// # Panics
    ///
    /// When the process was killed.
    #[track_caller]
    pub fn partition(&mut self, process: usize) {
        self.living(process).connection.set_cut(true);
    }

    /// Lets a process reach the store again.
    ///
    /// # Panics
    ///
    /// When the process was killed.
    #[track_caller]
    pub fn heal(&mut self, process: usize) {
        self.living(process).connection.set_cut(false);
    }

    #[track_caller]
    fn freeze_until(&self, process: usize, until: Tick) {
        self.world.lives().freeze(self.living(process).life, until);
    }

    #[track_caller]
    fn living(&self, number: usize) -> &Process {
        let process = &self.processes[number];
        assert!(!process.is_killed, "process {number} was killed\nhelp: cluster.restart({number})");
        process
    }

    /// A new life of a process.
    #[track_caller]
    fn begin(&self, process: usize) -> Process {
        let setup = Setup::of_process(self.start, Arc::clone(&self.world), process);
        let (life, connection) = (setup.shared.life, self.store.connect());
        let builder = setup.builder.simulated_store(connection.clone());
        let sim = Sim::of(Setup { builder, ..setup });
        let sim = (self.program)(sim);
        sim.started();
        Process { sim, connection, life, is_killed: false }
    }
}

/// Reads what has happened.
#[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
impl Cluster {
    /// When the runs of a task started, and in which processes, in the order of time; also those in lives that have ended.
    /// Times are as in [`Sim::starts`].
    #[must_use]
    #[track_caller]
    pub fn starts(&self, task: &str) -> Vec<(Duration, usize)> {
        let mut all = Vec::new();
        for (process, sim) in self.lives() {
            all.extend(sim.starts(task).into_iter().map(|start| (start, process)));
        }
        all.sort();
        all
    }

    /// The durable jobs, to enqueue, to look at and to control from outside of all processes: no partition cuts this off.
    #[must_use]
    pub fn jobs(&self) -> Jobs {
        self.world.provide_identities();
        self.jobs.clone()
    }

    /// The durable schedules, those that are data among them, as [`jobs`](Self::jobs).
    #[must_use]
    pub fn schedules(&self) -> Schedules {
        Schedules::of(&self.jobs())
    }

    /// The time of the wall clock.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment::new(self.world.wall(), self.start.zone())
    }

    /// The events of all processes as text, a line for each, with the number of the process before it: as
    /// [`Sim::event_log`], in the order of the wall clock.
    #[must_use]
    #[track_caller]
    pub fn event_log(&self) -> String {
        let mut all: Vec<(DateTime<Utc>, usize, String)> = Vec::new();
        for (process, sim) in self.lives() {
            all.extend(sim.event_lines().into_iter().map(|(at, line)| (at, process, line)));
        }
        // Stable: events of one process stay in order.
        all.sort_by_key(|(at, process, _)| (*at, *process));
        all.iter().map(|(_, process, line)| format!("{process}  {line}\n")).collect()
    }

    /// All lives, the earlier ones of a process first.
    fn lives(&self) -> impl Iterator<Item = (usize, &Sim)> {
        let present = self.processes.iter().map(|process| &process.sim).enumerate();
        self.former.iter().map(|(process, sim)| (*process, sim)).chain(present)
    }
}

impl Index<usize> for Cluster {
    type Output = Sim;

    /// A process: in its present life, or in its last one if it was killed.
    fn index(&self, process: usize) -> &Sim {
        &self.processes[process].sim
    }
}

impl IndexMut<usize> for Cluster {
    fn index_mut(&mut self, process: usize) -> &mut Sim {
        &mut self.processes[process].sim
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("processes", &self.processes.len())
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}
