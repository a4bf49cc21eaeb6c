//! The tasks that a program defines in code.

use std::future::Future;

use crate::base::metadata::Location;
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::run::Run;
use crate::run::inject::{Call, TaskReturn};

/// Collects the tasks that code defines.
///
/// ```rust
/// use scheduler::{Schedule, Scheduler};
///
/// let regions = ["eu", "us"];
/// let scheduler = Scheduler::builder()
///     .configure(move |tasks| {
///         for region in regions {
///             tasks.add(&format!("sync-{region}"), Schedule::fixed_rate("1h"), move |_| {
///                 println!("{region} is in sync");
///             });
///         }
///     })
///     .spawn()?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
#[doc(alias = "ScheduledTaskRegistrar")]
pub struct Registrar {
    pub(crate) definitions: Vec<Definition>,
}

impl Registrar {
    /// Adds a task that is a closure.
    #[track_caller]
    pub fn add<R, Kind>(
        &mut self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(&Run) -> R + Send + Sync + 'static,
    ) -> &mut Self
    where
        R: TaskReturn<Kind>,
    {
        self.define(name, schedule, Call::of(body))
    }

    /// Adds a task that is a closure which makes a future.
    #[track_caller]
    pub fn add_async<F, Kind>(
        &mut self,
        name: &str,
        schedule: Schedule,
        body: impl Fn(Run) -> F + Send + Sync + 'static,
    ) -> &mut Self
    where
        F: Future<Output: TaskReturn<Kind>> + Send + 'static,
    {
        self.define(name, schedule, Call::of_async(body))
    }

    #[track_caller]
    fn define(&mut self, name: &str, schedule: Schedule, call: Call) -> &mut Self {
        let here = Location::caller();
        self.definitions.push(Definition::in_code(name, schedule, call, here));
        self
    }
}
