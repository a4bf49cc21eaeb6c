//! The Tokio runtime in whose context tasks run, with the feature `tokio`.
//!
//! Only this file, the builder and the test kit use the crate.

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
