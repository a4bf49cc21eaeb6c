//! The identities of jobs: from the system, or from a simulation's seed.

#[cfg(feature = "testing")]
use std::cell::RefCell;
#[cfg(feature = "testing")]
use std::sync::Weak;

use scheduler_store::{JobId, Uuid};

/// Where a simulation has its identities from.
#[cfg(feature = "testing")]
pub(crate) trait Identities {
    /// An identity, later ones greater.
    fn next_identity(&self) -> Uuid;
}

#[cfg(feature = "testing")]
thread_local! {
    /// The simulation that this thread has used last.
    static SIMULATED: RefCell<Option<Weak<dyn Identities>>> = const { RefCell::new(None) };
}

/// Has the identities of jobs that this thread makes come from a simulation, as long as that is there.
#[cfg(feature = "testing")]
pub(crate) fn identities_from(simulation: Weak<dyn Identities>) {
    drop(SIMULATED.replace(Some(simulation)));
}

/// A new identity, later ones greater.
pub(super) fn new_id() -> JobId {
    #[cfg(feature = "testing")]
    if let Some(simulation) =
        SIMULATED.with_borrow(|simulated| simulated.as_ref().and_then(Weak::upgrade))
    {
        return JobId::from_uuid(simulation.next_identity());
    }
    JobId::from_uuid(Uuid::now_v7())
}
