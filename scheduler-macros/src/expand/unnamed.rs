//! Warnings at functions whose move would change the name under which a store keeps something.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use scheduler_expr::Attribute;
use syn::ext::IdentExt as _;

use super::task::Task;
use crate::check::Name;

/// A warning at a `#[job]` without a name.
pub(super) fn job(task: &Task<'_>) -> Option<TokenStream> {
    task.plan.job.as_ref().filter(|job| !job.is_named)?;
    let name = task.function.sig.ident.unraw();
    let note = format!(
        "its jobs are kept under its path, and a function that is moved or renamed does not find them again: \
         write `#[job(name = \"{name}\")]`"
    );
    Some(warning(task, "JOB_WITHOUT_NAME", &note))
}

/// A warning at a durable schedule without a name.
pub(super) fn schedule(task: &Task<'_>) -> Option<TokenStream> {
    let mut attributes = task.plan.attributes.iter();
    let is_durable = attributes.any(|(key, text)| *key == Attribute::Durable && text == "true");
    if !is_durable || matches!(task.plan.name, Name::Written(_)) {
        return None;
    }
    let name = task.function.sig.ident.unraw();
    let note = format!(
        "its schedule is kept under its path, and a function that is moved or renamed leaves it behind with its jobs: \
         write `#[scheduled(name = \"{name}\", …)]`"
    );
    Some(warning(task, "SCHEDULE_WITHOUT_NAME", &note))
}

fn warning(task: &Task<'_>, constant: &str, note: &str) -> TokenStream {
    let ident = &task.function.sig.ident;
    let used = Ident::new(constant, Span::mixed_site().located_at(ident.span()));
    let mut seen = used.clone();
    seen.set_span(ident.span());
    quote! {
        #[deprecated(note = #note)]
        const #used: () = ();
        const _: () = #seen;
    }
}
