//! Where a scheduler can be set into a simulation: workers without threads, one thread for all.

use std::fmt;
use std::sync::Arc;

use scheduler_core::VirtualCrew;

#[cfg(feature = "testing")]
use super::builder::Builder;
#[cfg(feature = "testing")]
use super::prepare::Prepared;
#[cfg(feature = "testing")]
use super::prepare::Purpose;
#[cfg(feature = "testing")]
use super::prepare::prepare;
#[cfg(feature = "testing")]
use crate::error::StartError;
use crate::inject::Call;
#[cfg(feature = "testing")]
use crate::inject::States;
use crate::observe::Listener;

/// Whoever plays a scheduler on one thread, by a clock of his own.
pub(crate) trait Simulation: fmt::Debug + Send + Sync {
    /// Those who work for a pool.
    fn crew(&self) -> VirtualCrew;

    /// How many work for a pool whose size nobody has said: not the number of processors, which is
    /// another one on each machine.
    fn pool_size(&self) -> usize;

    /// What is called in place of a task.
    fn stand_in(&self, task: &Arc<str>, call: Call) -> Call;

    /// Who is told of every event where it happens.
    fn listener(&self) -> Arc<dyn Listener>;

    /// Who is told in place of a listener of the program's.
    #[cfg(feature = "testing")]
    fn attend(&self, listener: Arc<dyn Listener>) -> Arc<dyn Listener>;
}

#[cfg(feature = "testing")]
impl Builder {
    /// Has the scheduler played.
    pub(crate) fn simulated_by(mut self, simulation: Arc<dyn Simulation>) -> Self {
        self.listeners = self.listeners.into_iter().map(|one| simulation.attend(one)).collect();
        self.simulation = Some(simulation);
        self
    }

    /// Looks neither at the process's environment nor at its settings file, nor at the system's zone,
    /// unless it has been told what to read in their place.
    pub(crate) fn sealed(mut self) -> Self {
        self.environment.get_or_insert_default();
        self.file.get_or_insert_with(|| ("no settings file".to_owned(), String::new()));
        self.zone.get_or_insert_with(|| "UTC".to_owned());
        self
    }

    /// Everything that would be started.
    pub(crate) fn prepared(mut self) -> Result<Prepared, StartError> {
        prepare(&mut self, Purpose::Start)
    }

    pub(crate) fn states(&self) -> &States {
        &self.states
    }
}
