//! The identities of jobs: from the system, or from a simulation's seed.

#[cfg(feature = "testing")]
use std::cell::RefCell;

use scheduler_store::{JobId, Uuid};

/// Draws the identities of a simulation, later ones greater; `None` once the simulation is gone.
#[cfg(feature = "testing")]
type Draw = Box<dyn Fn() -> Option<Uuid>>;

#[cfg(feature = "testing")]
thread_local! {
    /// The simulation that this thread has used last.
    static SIMULATED: RefCell<Option<Draw>> = const { RefCell::new(None) };
}

/// Has the identities of jobs that this thread makes come from a simulation, as long as that is there.
#[cfg(feature = "testing")]
pub(crate) fn identities_from(draw: impl Fn() -> Option<Uuid> + 'static) {
    drop(SIMULATED.replace(Some(Box::new(draw))));
}

/// A new identity, later ones greater.
pub(super) fn new_id() -> JobId {
    #[cfg(feature = "testing")]
    if let Some(drawn) = SIMULATED.with_borrow(|draw| draw.as_ref().and_then(|draw| draw())) {
        return JobId::from_uuid(drawn);
    }
    JobId::from_uuid(Uuid::now_v7())
}
