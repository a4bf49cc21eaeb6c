//! The proof that the simulation can fail: each planted bug trips the invariant it breaks.
