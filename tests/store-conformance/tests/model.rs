//! The model is a store as any other.

store_conformance::store_conformance!(store_conformance::TestModel);
