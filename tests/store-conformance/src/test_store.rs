//! The trait that makes a store for a test.

use scheduler_store::Model;
use scheduler_store::Store;
use scheduler_store::StoreTime;

/// Makes a store for a test.
pub trait TestStore: Sized {
    /// An empty store of its own.
    fn fresh() -> Self;

    /// The store.
    fn store(&self) -> &dyn Store;

    /// The same store as another process has it.
    fn second(&self) -> Box<dyn Store>;

    /// Closes the store, and opens it again with what it has kept.
    fn reopen(&mut self);

    /// Sets the clock of the store, for all handles. It is not set before the year 2000, and is the clock of leases, too.
    fn set_now(&self, now: StoreTime);

    /// The number of seeds of the random test.
    #[must_use]
    fn seeds() -> u64 {
        20
    }
}

/// The model as a store for tests.
#[derive(Debug, Default)]
pub struct TestModel(Model);

impl TestStore for TestModel {
    fn fresh() -> Self {
        Self::default()
    }

    fn store(&self) -> &dyn Store {
        &self.0
    }

    fn second(&self) -> Box<dyn Store> {
        Box::new(self.0.clone())
    }

    fn reopen(&mut self) {
        self.0 = self.0.connect();
    }

    fn set_now(&self, now: StoreTime) {
        self.0.set_now(now);
    }
}
