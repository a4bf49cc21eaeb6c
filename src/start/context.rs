//! The surroundings of tasks: Tokio runtime, default zone, values not set.
//!
//! Only this file, the builder and the test kit use the crate.

use scheduler_core::trigger::Zone;

use crate::define::settings::{Fallback, Source};
use crate::observe;
use crate::start::builder::Builder;
use crate::start::prepare::Prepared;
use crate::start::report::Message;

#[cfg(feature = "tokio")]
pub(crate) use enabled::Context;

#[cfg(not(feature = "tokio"))]
pub(crate) use disabled::Context;

#[cfg(feature = "tokio")]
mod enabled {
    use std::io;
    use std::sync::{Arc, OnceLock};

    use scheduler_core::PoolBuilder;
    use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};

    use crate::base::sync::Mutex;

    /// The threads of a runtime that is built here. They drive timers and sockets, and run what tasks spawn; the pools
    /// poll the tasks.
    const THREADS: usize = 2;

    /// The runtime in whose context tasks run, once a task needs it.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Context {
        handle: Arc<OnceLock<Handle>>,
        /// The runtime that was built here.
        built: Arc<Mutex<Option<BuiltRuntime>>>,
    }

    /// A runtime that can be dropped in async code.
    #[derive(Debug)]
    struct BuiltRuntime(Option<Runtime>);

    impl Drop for BuiltRuntime {
        fn drop(&mut self) {
            if let Some(runtime) = self.0.take() {
                runtime.shutdown_background();
            }
        }
    }

    impl Context {
        /// The given runtime, or else the current one.
        pub(crate) fn find(chosen: Option<&Handle>) -> Self {
            let context = Self::default();
            if let Some(found) = chosen.cloned().or_else(|| Handle::try_current().ok()) {
                context.handle.get_or_init(|| found);
            }
            context
        }

        /// Builds a runtime if there is none.
        pub(crate) fn ensure(&self) -> io::Result<()> {
            let mut built = self.built.lock();
            if self.handle.get().is_some() {
                return Ok(());
            }
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(THREADS).thread_name("scheduler-tokio").enable_all();
            let runtime = builder.build()?;
            self.handle.get_or_init(|| runtime.handle().clone());
            *built = Some(BuiltRuntime(Some(runtime)));
            Ok(())
        }

        /// Always false: tasks use the runtime.
        pub(crate) fn is_beside_runtime() -> bool {
            false
        }

        /// Returns true if the calling thread is the only one of a runtime, or has entered a runtime with one thread.
        pub(crate) fn is_only_thread() -> bool {
            let handle = Handle::try_current();
            handle.is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::CurrentThread)
        }

        /// Makes the pool run every step of its tasks inside the runtime.
        pub(crate) fn surround(&self, pool: PoolBuilder) -> PoolBuilder {
            let handle = Arc::clone(&self.handle);
            pool.decorate_task(move |_, _| {
                let handle = Arc::clone(&handle);
                Box::new(move |step: &mut dyn FnMut()| {
                    let _inside = handle.get().map(Handle::enter);
                    step();
                })
            })
        }

        /// The runtime, for the start message.
        pub(crate) fn describe(&self) -> Option<&'static str> {
            self.handle.get()?;
            let built = self.built.lock();
            Some(if built.is_some() { "Tokio (own runtime)" } else { "Tokio" })
        }
    }
}

#[cfg(not(feature = "tokio"))]
mod disabled {
    use std::io;

    use scheduler_core::PoolBuilder;

    /// No runtime.
    #[derive(Clone, Debug)]
    pub(crate) struct Context;

    impl Context {
        pub(crate) fn find(_given: Option<&()>) -> Self {
            Self
        }

        pub(crate) fn ensure(&self) -> io::Result<()> {
            Ok(())
        }

        pub(crate) fn is_only_thread() -> bool {
            false
        }

        /// Returns true if threads of the process have the names of Tokio's workers. Only Linux shows them.
        pub(crate) fn is_beside_runtime() -> bool {
            let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
            let name =
                |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("comm"));
            // `tokio-rt-worker`, and `tokio-runtime-worker` before; the system keeps 15 bytes.
            threads.filter_map(|thread| name(thread).ok()).any(|name| name.starts_with("tokio-r"))
        }

        pub(crate) fn surround(&self, pool: PoolBuilder) -> PoolBuilder {
            pool
        }

        pub(crate) fn describe(&self) -> Option<&'static str> {
            None
        }
    }
}

#[cfg(feature = "durable")]
use super::durable::Durable;

/// A line for each value, for settings that are not set. `tz` is the value of the variable `TZ`.
pub(super) fn fallbacks(builder: &Builder, values: &Prepared, tz: &str) -> Vec<Fallback> {
    let call = |call: &str| Source::Code { call: format!("builder.{call}") };
    let source = |is_set: bool, by: &str| if is_set { call(by) } else { Source::Default };
    let fallback = |key: &str, text: &str, source: Source| Fallback {
        key: key.to_owned(),
        text: text.to_owned(),
        source,
    };
    let zone = match &builder.zone {
        None if Zone::of_variable(tz).is_some() => {
            Source::Environment { variable: "TZ".to_owned() }
        }
        zone => source(zone.is_some(), "zone(…)"),
    };
    let (pool, limit) = (&builder.pool, &builder.limit);
    let (default, others) = values.pools.split_first().expect("there is a default pool");
    let mut all = vec![
        fallback("zone", values.context.zone.name(), zone),
        fallback(
            "pool.size",
            &default.size.to_string(),
            source(pool.size.is_some(), "pool_size(…)"),
        ),
        fallback(
            "thread-name-prefix",
            &default.prefix,
            source(pool.prefix.is_some(), "thread_name_prefix(…)"),
        ),
        fallback(
            "shutdown.await-termination-period",
            &observe::duration(values.limit),
            source(limit.is_some(), "await_termination(…)"),
        ),
        fallback(
            "keep-ended-tasks",
            &values.keep_ended.to_string(),
            source(builder.keep_ended.is_some(), "keep_ended_tasks(…)"),
        ),
    ];
    #[cfg(feature = "durable")]
    for (key, text, is_set) in Durable::values(builder, &values.specs, &values.pools) {
        all.push(fallback(&format!("node.{key}"), &text, source(is_set, "node(…)")));
    }
    for pool in others {
        let in_code = builder.pools.get(&pool.name);
        let by = format!("pool({:?}, …)", pool.name);
        let size = source(in_code.is_some_and(|in_code| in_code.size.is_some()), &by);
        let prefix = source(in_code.is_some_and(|in_code| in_code.prefix.is_some()), &by);
        let key = |part: &str| format!("pools.{}.{part}", pool.name);
        all.push(fallback(&key("size"), &pool.size.to_string(), size));
        all.push(fallback(&key("thread-name-prefix"), &pool.prefix, prefix));
    }
    all
}

/// Finds the default zone: the builder's, `TZ`'s, the system's, or else UTC. A configured zone must be valid. The system's may be missing, as in many containers; then
/// there is a warning. `variable` is the value of `TZ`.
pub(super) fn default_zone(
    asked: Option<&str>,
    variable: &str,
) -> Result<(Zone, Option<Message>), String> {
    let known = |zone| (zone, None);
    if let Some(name) = asked {
        return name.parse().map(known).map_err(|error: scheduler_expr::ParseError| {
            let help = error.help().map(|help| format!("\nhelp: {help}"));
            format!("the scheduler's zone: {error}{}", help.unwrap_or_default())
        });
    }
    if let Some(zone) = Zone::of_variable(variable) {
        return zone
            .map(known)
            .or_else(|error| Ok((Zone::UTC, Some(warning(&format!("the variable TZ: {error}"))))));
    }
    let found = Zone::system().map(known);
    found.or_else(|error| Ok((Zone::UTC, Some(warning(&error.to_string())))))
}

fn warning(reason: &str) -> Message {
    Message::warn(format!("{reason}; cron expressions without a zone go by UTC")).note(
        "help: name a zone: Scheduler::builder().zone(\"Europe/Berlin\"), or set TZ=Europe/Berlin",
    )
}
