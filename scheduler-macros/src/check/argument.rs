//! The arguments of a function: its receiver, managed state, and extracted values.

use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{FnArg, Receiver, Token, Type};

use super::Owner;
use super::form::{self, Argument, bare};
use super::job;
use crate::args::Form;
use crate::diagnostic::Faults;
use crate::item;

/// The most arguments of a function; one type can hold what belongs together.
const ARGUMENTS_MAX: usize = 12;

/// Checks the arguments of a function. Returns where each comes from.
pub(super) fn check(
    inputs: &Punctuated<FnArg, Token![,]>,
    form: Form,
    owner: Option<&Owner>,
    faults: &mut Faults,
) -> Vec<Argument> {
    if let Some(extra) = inputs.iter().nth(ARGUMENTS_MAX) {
        let message = format!(
            "a scheduled function takes at most {ARGUMENTS_MAX} arguments; \
             put what belongs together into one type"
        );
        faults.push(extra, message);
    }
    let arguments = inputs.iter().filter_map(|input| match input {
        FnArg::Receiver(receiver) => check_receiver(receiver, form, owner, faults),
        FnArg::Typed(argument) => {
            for attr in argument.attrs.iter().filter(|attr| item::condition(&attr.meta).is_some()) {
                let message = "an argument of a scheduled function cannot be conditional\n\
                               write the function twice, each under a condition of its own";
                faults.push(attr, message);
            }
            if let Some(mark) = job::payload_mark(&argument.attrs) {
                return job::payload(mark, &argument.ty, form, faults);
            }
            let found = form::classify(&argument.ty);
            found.map_err(|message| faults.push(&argument.ty, message)).ok()
        }
    });
    let arguments: Vec<Argument> = arguments.collect();
    job::check_one_payload(inputs, faults);
    arguments
}

fn check_receiver(
    receiver: &Receiver,
    form: Form,
    owner: Option<&Owner>,
    faults: &mut Faults,
) -> Option<Argument> {
    let Some(owner) = owner else {
        let what = if form == Form::Job { "runs jobs" } else { "is scheduled" };
        let message = format!(
            "a method {what} through its `impl` block, \
             because only there the type of `self` can be seen\n\
             put `#[scheduled]` on the `impl` block, too; \
             if a macro writes the method, let it write the block"
        );
        faults.push(receiver, message);
        return None;
    };
    if is_shared(receiver, owner) {
        return Some(Argument::Receiver);
    }
    let by_mut = receiver.reference.is_some() && receiver.mutability.is_some();
    let name = &owner.name;
    let message = if by_mut {
        "a scheduled method cannot take `&mut self`, because several tasks may use the value \
         at the same time\nwrite `&self`, and put what changes into a `Mutex` or an atomic"
            .to_owned()
    } else {
        format!(
            "a scheduled method takes `&self`: the `{name}` that is managed by the scheduler, \
             which all its runs share; write `&self`"
        )
    };
    faults.push(receiver, message);
    None
}

/// Returns true if this is `&self`, or a longer form of it.
fn is_shared(receiver: &Receiver, owner: &Owner) -> bool {
    let Type::Reference(reference) = bare(&receiver.ty) else { return false };
    let is_own = match bare(&reference.elem) {
        Type::Path(path) if path.path.is_ident("Self") => true,
        ty => quote!(#ty).to_string() == owner.ty.to_token_stream().to_string(),
    };
    let is_kept = reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident != "_");
    is_own && !is_kept && reference.mutability.is_none()
}
