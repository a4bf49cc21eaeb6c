//! `Debug` of types that show few of their fields, or none.

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
