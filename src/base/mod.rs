//! Locks, `SetOnce`, contained panics, opaque `Debug`, a task's facts.
//!
//! These modules know nothing of schedules and runs.

pub(crate) mod metadata;
pub(crate) mod set_once;
pub(crate) mod sync;
pub(crate) mod unwind;

/// `Debug` of types that show few of their fields, or none.
macro_rules! opaque {
    ($name:ident $({ $($field:ident),* })?) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$($(.field(stringify!($field), &self.$field))*)?.finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use opaque;
