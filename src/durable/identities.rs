//! The identities of jobs: from the system, or from a simulation's seed.

#[cfg(feature = "testing")]
use std::cell::RefCell;
#[cfg(feature = "testing")]
use std::rc::Rc;

use scheduler_store::{JobId, Uuid};

/// Draws the identities of a simulation, later ones greater; `None` once the simulation is gone.
#[cfg(feature = "testing")]
type Draw = Rc<dyn Fn() -> Option<Uuid>>;

#[cfg(feature = "testing")]
thread_local! {
    /// The simulation that this thread has used last.
    static SIMULATED: RefCell<Option<Draw>> = const { RefCell::new(None) };
}

/// Has the identities of jobs that this thread makes come from a simulation, as long as that is there.
#[cfg(feature = "testing")]
pub(crate) fn identities_from(draw: impl Fn() -> Option<Uuid> + 'static) {
    drop(SIMULATED.replace(Some(Rc::new(draw))));
}

/// A new identity, later ones greater.
pub(super) fn new_id() -> JobId {
    #[cfg(feature = "testing")]
    {
        // The draw may drop the last share of its simulation, and with it what belongs to the user: not inside the borrow.
        let draw = SIMULATED.with_borrow(Clone::clone);
        if let Some(drawn) = draw.and_then(|draw| draw()) {
            return JobId::from_uuid(drawn);
        }
    }
    JobId::from_uuid(Uuid::now_v7())
}
