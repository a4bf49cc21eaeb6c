//! The model is a store as any other.

scheduler_store::store_conformance!(scheduler_store::conformance::TestModel);
