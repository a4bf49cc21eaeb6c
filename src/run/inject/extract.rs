//! Parameters that are taken by value.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use scheduler_core::Clock;

use super::resolver::Resolver;
use super::state::Managed;
use crate::run::{Run, Shutdown};

/// A type that a scheduled function can take by value.
///
/// When the scheduler starts, the source of the argument is [resolved](Self::resolve). Each run
/// [extracts](Self::extract) its argument from the source.
///
/// ```rust,no_run,standalone_crate
/// use scheduler::{Extract, Run, Resolver, scheduled};
/// use std::sync::Arc;
///
/// struct Config {
///     verbose: bool,
/// }
///
/// /// Whether to print details.
/// struct Verbose(bool);
///
/// impl Extract for Verbose {
///     type Source = Arc<Config>;
///
///     fn resolve(resolver: &mut Resolver<'_>) -> Option<Self::Source> {
///         resolver.state::<Config>()
///     }
///
///     fn extract(config: &Self::Source, _run: &Run) -> Self {
///         Self(config.verbose)
///     }
/// }
///
/// #[scheduled(fixed_rate = "1m")]
/// fn sweep(verbose: Verbose) {
///     if verbose.0 {
///         println!("sweeping");
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a scheduled function",
    label = "not a task parameter",
    note = "task parameters are: `&T` (a value given to `.manage(…)`), `Option<&T>`, `State<T>`, \
            `Run`, `Shutdown`, `Tasks`, `Jobs`, `Schedules`, `Arc<dyn Clock>`",
    note = "to pass a value of your own, write `&{Self}` and call `.manage(value)` before the start; \
            or, if the code that enqueues a `#[job]` gives it, mark it `#[payload]`"
)]
pub trait Extract: Sized {
    /// The source of the argument, resolved once.
    type Source: Send + Sync + 'static;

    /// Resolves the source. `None` if it is missing, which the resolver has recorded.
    fn resolve(resolver: &mut Resolver<'_>) -> Option<Self::Source>;

    /// The argument for one run.
    fn extract(source: &Self::Source, run: &Run) -> Self;
}

impl Extract for Run {
    type Source = ();

    fn resolve(_resolver: &mut Resolver<'_>) -> Option<()> {
        Some(())
    }

    fn extract((): &(), run: &Run) -> Self {
        run.clone()
    }
}

impl Extract for Shutdown {
    type Source = Self;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Self> {
        Some(resolver.shutdown())
    }

    fn extract(source: &Self, _run: &Run) -> Self {
        source.clone()
    }
}

/// The clock of the scheduler; in a test, the clock of the test.
///
/// ```rust,no_run,standalone_crate
/// use scheduler::{Clock, scheduled};
/// use std::sync::Arc;
///
/// #[scheduled(cron = "@daily", zone = "UTC")]
/// fn report(clock: Arc<dyn Clock>) {
///     println!("the report of {}", clock.wall().date_naive());
/// }
/// ```
impl Extract for Arc<dyn Clock> {
    type Source = Self;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Self> {
        Some(resolver.clock())
    }

    fn extract(source: &Self, _run: &Run) -> Self {
        Self::clone(source)
    }
}

/// A managed value that can be moved into a thread or a spawned future.
///
/// Otherwise `&T` is shorter.
///
/// ```rust,no_run,standalone_crate
/// use scheduler::{State, scheduled};
///
/// struct Mailer;
///
/// #[scheduled(fixed_rate = "1h")]
/// fn remind(mailer: State<Mailer>) {
///     std::thread::spawn(move || {
///         let _mailer: &Mailer = &mailer;
///     });
/// }
/// ```
#[derive(Debug)]
pub struct State<T: ?Sized>(Arc<T>);

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + Managed> Extract for State<T> {
    type Source = Arc<T>;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Arc<T>> {
        resolver.state::<T>()
    }

    fn extract(source: &Arc<T>, _run: &Run) -> Self {
        Self(Arc::clone(source))
    }
}

impl<T: ?Sized + Managed> Extract for Option<State<T>> {
    type Source = Option<Arc<T>>;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Option<Arc<T>>> {
        resolver.optional_parameter::<T>()
    }

    fn extract(source: &Option<Arc<T>>, _run: &Run) -> Self {
        source.clone().map(State)
    }
}

/// A handle of the scheduler, which the builder gives to the states.
macro_rules! handle {
    ($name:ident) => {
        impl $crate::run::inject::Extract for $name {
            type Source = std::sync::Arc<Self>;

            fn resolve(resolver: &mut $crate::run::inject::Resolver<'_>) -> Option<Self::Source> {
                resolver.state::<Self>()
            }

            fn extract(source: &Self::Source, _run: &$crate::run::Run) -> Self {
                Self::clone(source)
            }
        }
    };
}
pub(crate) use handle;
