//! What surrounds each step of a task: the context of a Tokio runtime, with the feature `tokio`.
//!
//! Beside the builder, which is handed a runtime, and the testing kit, this is the only file that knows the crate.

#[cfg(feature = "tokio")]
pub(crate) use enabled::Context;

#[cfg(not(feature = "tokio"))]
pub(crate) use disabled::Context;

#[cfg(feature = "tokio")]
mod enabled {
    use std::sync::Arc;
    use std::sync::OnceLock;
    use std::sync::PoisonError;

    use scheduler_core::PoolBuilder;
    use tokio::runtime::Builder;
    use tokio::runtime::Handle;
    use tokio::runtime::Runtime;
    use tokio::runtime::RuntimeFlavor;

    use crate::error::StartError;
    use crate::sync::Mutex;

    /// How many threads a runtime has that is built for tasks. They only drive timers and sockets and
    /// run what tasks spawn; the tasks themselves are polled by the pools.
    const THREADS: usize = 2;

    /// The runtime in whose context tasks are run: there is one as soon as a task needs it.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Context {
        handle: Arc<OnceLock<Handle>>,
        /// The runtime, if it was built here.
        own: Arc<Mutex<Option<Own>>>,
    }

    /// A runtime that may be dropped anywhere, also in async code.
    #[derive(Debug)]
    struct Own(Option<Runtime>);

    impl Drop for Own {
        fn drop(&mut self) {
            if let Some(runtime) = self.0.take() {
                runtime.shutdown_background();
            }
        }
    }

    impl Context {
        /// The runtime that was given, or else the present one.
        pub(crate) fn find(given: Option<&Handle>) -> Self {
            let context = Self::default();
            if let Some(found) = given.cloned().or_else(|| Handle::try_current().ok()) {
                context.handle.get_or_init(|| found);
            }
            context
        }

        /// Builds a runtime if there is none.
        pub(crate) fn ensure(&self) -> Result<(), StartError> {
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            if self.handle.get().is_some() {
                return Ok(());
            }
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(THREADS).thread_name("scheduler-tokio").enable_all();
            let runtime = builder.build().map_err(StartError::runtime)?;
            self.handle.get_or_init(|| runtime.handle().clone());
            *own = Some(Own(Some(runtime)));
            Ok(())
        }

        /// Nothing is to be said of a runtime that tasks use.
        pub(crate) fn is_beside_runtime() -> bool {
            false
        }

        /// Whether the calling thread is the only one of a runtime, on which everything else there depends. One
        /// that has only entered such a runtime cannot be told from it.
        pub(crate) fn is_only_thread() -> bool {
            let handle = Handle::try_current();
            handle.is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::CurrentThread)
        }

        /// Runs every step of the pool's tasks inside the runtime, if there is one.
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

        /// What the banner says of it.
        pub(crate) fn describe(&self) -> Option<&'static str> {
            self.handle.get()?;
            let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            Some(if own.is_some() { "Tokio (own runtime)" } else { "Tokio" })
        }
    }
}

#[cfg(not(feature = "tokio"))]
mod disabled {
    use scheduler_core::PoolBuilder;

    use crate::error::StartError;

    /// There is no runtime.
    #[derive(Clone, Debug)]
    pub(crate) struct Context;

    impl Context {
        pub(crate) fn find(_given: Option<&()>) -> Self {
            Self
        }

        pub(crate) fn ensure(&self) -> Result<(), StartError> {
            Ok(())
        }

        pub(crate) fn is_only_thread() -> bool {
            false
        }

        /// Returns true if the process has threads with the names that Tokio gives to its workers. Only Linux
        /// shows them.
        pub(crate) fn is_beside_runtime() -> bool {
            let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
            let name =
                |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("comm"));
            // `tokio-rt-worker`, and `tokio-runtime-worker` before, of which the system keeps 15 bytes.
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
