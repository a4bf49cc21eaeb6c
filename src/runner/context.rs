//! What surrounds each step of a task: the context of a Tokio runtime, with the feature `tokio`.
//!
//! This is the only file that knows the crate.

#[cfg(feature = "tokio")]
pub(crate) use enabled::Context;

#[cfg(not(feature = "tokio"))]
pub(crate) use disabled::Context;

#[cfg(feature = "tokio")]
mod enabled {
    use std::sync::Arc;

    use scheduler_core::PoolBuilder;
    use tokio::runtime::Builder;
    use tokio::runtime::Handle;
    use tokio::runtime::Runtime;
    use tokio::runtime::RuntimeFlavor;

    use crate::error::StartError;

    /// How many threads a runtime has that is built for tasks. They only drive timers and sockets and
    /// run what tasks spawn; the tasks themselves are polled by the pools.
    const THREADS: usize = 2;

    /// The runtime in whose context tasks are run.
    #[derive(Clone, Debug)]
    pub(crate) struct Context {
        handle: Handle,
        /// The runtime, if it was built here.
        own: Option<Arc<Own>>,
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
        /// The runtime that was given, or else the present one, or else a new one if it is needed.
        pub(crate) fn find(
            given: Option<&Handle>,
            is_needed: bool,
        ) -> Result<Option<Self>, StartError> {
            let found = given.cloned().or_else(|| Handle::try_current().ok());
            if let Some(handle) = found {
                return Ok(Some(Self { handle, own: None }));
            }
            if !is_needed {
                return Ok(None);
            }
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(THREADS).thread_name("scheduler-tokio").enable_all();
            let runtime = builder.build().map_err(StartError::runtime)?;
            let handle = runtime.handle().clone();
            Ok(Some(Self { handle, own: Some(Arc::new(Own(Some(runtime)))) }))
        }

        /// Refuses to block the only thread of a runtime, on which everything else depends.
        pub(crate) fn check_blocking() -> Result<(), StartError> {
            match Handle::try_current().map(|handle| handle.runtime_flavor()) {
                Ok(RuntimeFlavor::CurrentThread) => Err(StartError::blocks_runtime()),
                _ => Ok(()),
            }
        }

        /// Runs every step of the pool's tasks inside the runtime.
        pub(crate) fn surround(&self, pool: PoolBuilder) -> PoolBuilder {
            let handle = self.handle.clone();
            pool.decorate_task(move |_, _| {
                let handle = handle.clone();
                Box::new(move |step: &mut dyn FnMut()| {
                    let _inside = handle.enter();
                    step();
                })
            })
        }

        /// What the banner says of it.
        pub(crate) fn describe(&self) -> &'static str {
            if self.own.is_some() { "Tokio (own runtime)" } else { "Tokio" }
        }
    }
}

#[cfg(not(feature = "tokio"))]
mod disabled {
    use scheduler_core::PoolBuilder;

    use crate::error::StartError;

    /// There is no runtime.
    #[derive(Clone, Debug)]
    pub(crate) enum Context {}

    impl Context {
        pub(crate) fn find(
            _given: Option<&()>,
            _is_needed: bool,
        ) -> Result<Option<Self>, StartError> {
            Ok(None)
        }

        pub(crate) fn check_blocking() -> Result<(), StartError> {
            Ok(())
        }

        pub(crate) fn surround(&self, _pool: PoolBuilder) -> PoolBuilder {
            match *self {}
        }

        pub(crate) fn describe(&self) -> &'static str {
            match *self {}
        }
    }
}
