//! The source of an entry, and the names that generated code uses.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use crate::check::{Argument, Owner, Plan};
use crate::item::Function;

/// Everything that an entry is made of.
pub(crate) struct Task<'a> {
    pub(crate) function: &'a Function,
    pub(crate) arguments: &'a [Argument],
    pub(crate) plan: &'a Plan,
    /// The `impl` block's type, if the function is a method.
    pub(crate) owner: Option<&'a Owner>,
    /// The conditions of the entry besides the function's own, as inside of `cfg(…)`.
    pub(crate) conditions: &'a [TokenStream],
    /// The conditions of earlier annotations of the function that may be compiled out; the number of this one follows those that are not.
    pub(crate) earlier_cfg_annotations: &'a [TokenStream],
    /// Where the annotation stands.
    pub(crate) span: Span,
}

impl<'a> Task<'a> {
    /// A free function.
    pub(crate) fn alone(function: &'a Function, arguments: &'a [Argument], plan: &'a Plan) -> Self {
        let span = Span::call_site();
        Self {
            function,
            arguments,
            plan,
            owner: None,
            conditions: &[],
            earlier_cfg_annotations: &[],
            span,
        }
    }
}

/// The names that generated code brings into scope.
pub(super) struct Names {
    pub(super) private: Ident,
    pub(super) constant: Ident,
    pub(super) own_type: Ident,
}

impl Names {
    /// Names that collide with none that the function's signature or its `impl` mentions.
    pub(super) fn without_collisions(task: &Task<'_>) -> Self {
        let sig = &task.function.sig;
        let owner = task.owner.map(|owner| &owner.ty);
        let taken = quote!(#sig #owner).to_string();
        let free = |name: &str| {
            let mut name = name.to_owned();
            while taken.contains(&name) {
                name.push('_');
            }
            format_ident!("{name}")
        };
        Self {
            private: free("scheduler_private"),
            constant: free("SCHEDULED_ENTRY"),
            own_type: free("ScheduledType"),
        }
    }
}

/// The path of the function next to its item.
pub(super) fn path(task: &Task<'_>) -> TokenStream {
    let ident = &task.function.sig.ident;
    match task.owner {
        None => quote!(#ident),
        Some(Owner { ty, .. }) => quote!(<#ty>::#ident),
    }
}
