//! The clock of a simulated store, and the identities of jobs.

use std::sync::{Arc, Weak};

use scheduler_core::Clock;
use scheduler_node::Rng;
use scheduler_store::{Model, StoreTime, Uuid};

use super::world::World;
use crate::durable::{Identities, identities_from};

impl World {
    /// A store in memory that goes by this clock.
    pub(super) fn new_store(self: &Arc<Self>) -> Model {
        let world = Arc::downgrade(self);
        Model::with_clock(move || {
            let wall = world.upgrade().map(|world| Clock::wall(&*world).timestamp_micros());
            StoreTime::from_micros(wall.unwrap_or_default())
        })
    }

    /// Makes the identities of jobs that this thread makes from now on.
    pub(super) fn make_identities(self: &Arc<Self>) {
        let world: Weak<dyn Identities> = Arc::<Self>::downgrade(self);
        identities_from(world);
    }
}

impl Identities for World {
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
