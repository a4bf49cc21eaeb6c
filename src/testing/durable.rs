//! The clock of a simulated store, and the identities of jobs.

use std::sync::Arc;

use scheduler_core::Clock;
use scheduler_node::Rng;
use scheduler_store::{Model, StoreTime, Uuid};

use super::world::World;
use crate::durable::{SimulatedNodes, identities_from};

impl World {
    /// A store in memory that goes by this clock.
    pub(super) fn new_store(self: &Arc<Self>) -> Model {
        let world = Arc::downgrade(self);
        Model::with_clock(move || {
            let wall = world.upgrade().map(|world| Clock::wall(&*world).timestamp_micros());
            StoreTime::from_micros(wall.unwrap_or_default())
        })
    }

    /// The nodes of all processes.
    pub(super) fn nodes(&self) -> Arc<SimulatedNodes> {
        Arc::clone(&self.nodes)
    }

    /// Makes the identities of all jobs that this thread creates, until another simulation is used on it. So each use of
    /// a simulation calls this again.
    pub(super) fn provide_identities(self: &Arc<Self>) {
        let world = Arc::downgrade(self);
        identities_from(move || Some(world.upgrade()?.next_identity()));
    }

    /// A UUID of version 7: the time, how many there were before, and bits that follow from the seed.
    fn next_identity(&self) -> Uuid {
        let (seed, count) = self.count_identity();
        let millis = u64::try_from(self.wall().timestamp_millis()).unwrap_or_default();
        let drawn = Rng::new(u128::from(count) << 64 | u128::from(seed)).number();
        let time = u128::from(millis & 0xFFFF_FFFF_FFFF) << 80;
        let (high, low) = (u128::from(count >> 20 & 0xFFF), u128::from(count & 0xF_FFFF));
        let random = u128::from(drawn >> 22);
        Uuid::from_u128(time | 0x7 << 76 | high << 64 | 0x2 << 62 | low << 42 | random)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cluster, Sim, days, hours, minutes, secs};
    use crate::define::schedule::Schedule;

    const MIDNIGHT: &str = "2026-01-01T00:00:00Z";

    fn nightly(sim: Sim) -> Sim {
        let schedule = Schedule::cron("0 0 3 * * *").zone("UTC").durable();
        sim.define("nightly", schedule, |_| {})
    }

    fn three() -> Cluster {
        Sim::cluster(MIDNIGHT, 3, nightly)
    }

    #[test]
    fn a_day_of_a_daily_task_takes_few_looks_at_the_store() {
        let mut sim = nightly(Sim::at(MIDNIGHT).with_store());
        sim.advance(days(1));
        assert_eq!(sim.starts("nightly"), [hours(3)]);
        let looks = sim.world().node_steps();
        assert!(looks <= 20, "{looks} looks");
        sim.advance(days(100));
        assert_eq!(sim.starts("nightly").len(), 101);
        let looks = sim.world().node_steps();
        assert!(looks <= 100 * 10, "{looks} looks in 100 days");
    }

    #[test]
    fn a_day_of_three_processes_takes_few_looks_at_the_store() {
        let mut cluster = three();
        cluster.advance(days(1));
        assert_eq!(cluster.starts("nightly").len(), 1);
        let looks = cluster[0].world().node_steps();
        assert!(looks <= 60, "{looks} looks");
        assert_eq!(cluster.jobs().sessions().expect("it answers").len(), 3);
    }

    #[test]
    fn after_skipped_time_a_killed_process_keeps_its_lease_for_as_long_as_ever() {
        for idle in [minutes(5), hours(2) + secs(3), hours(2) + secs(4)] {
            let mut cluster = three();
            cluster.advance(idle);
            cluster.kill(1);
            let sessions = |cluster: &Cluster| cluster.jobs().sessions().expect("it answers").len();
            cluster.advance(secs(10));
            assert_eq!(sessions(&cluster), 3, "its lease was renewed within 5 s before");
            cluster.advance(secs(20));
            assert_eq!(sessions(&cluster), 2, "its lease has run out");
        }
    }

    #[test]
    fn after_skipped_time_a_frozen_process_has_lost_its_session_and_others_have_not() {
        let mut cluster = three();
        cluster.advance(hours(1));
        cluster.freeze_for(2, minutes(1));
        cluster.advance(minutes(10));
        let log = cluster.event_log();
        let lost: Vec<&str> = log.lines().filter(|line| line.contains("is lost")).collect();
        assert!(lost.len() == 1 && lost[0].starts_with("2 "), "{log}");
    }

    #[test]
    fn a_job_from_outside_ends_the_rest_within_a_poll() {
        let mut cluster = three();
        cluster.advance(hours(1));
        cluster.schedules().run_now("nightly").expect("nothing is unfinished");
        cluster.advance(secs(2));
        assert_eq!(cluster.starts("nightly").len(), 1);
    }

    #[test]
    fn a_clock_that_is_set_ends_the_rest() {
        let mut sim = nightly(Sim::at(MIDNIGHT).with_store());
        sim.advance(hours(1));
        sim.jump_wall_forward(hours(3));
        sim.advance(secs(2));
        assert_eq!(sim.starts("nightly").len(), 1);
    }
}
