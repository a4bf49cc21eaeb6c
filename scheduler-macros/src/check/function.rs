//! Checks the annotated function: the scheduler must have all its arguments.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{GenericParam, ReturnType, Signature, Type, TypeImplTrait, TypeParamBound};

use super::{Argument, Owner, argument};
use crate::args::Form;
use crate::diagnostic::Faults;
use crate::item::{self, Function};

/// Checks that the scheduler can call the function. Returns where its arguments come from.
pub(crate) fn function(
    function: &Function,
    form: Form,
    owner: Option<&Owner>,
    faults: &mut Faults,
) -> Option<Vec<Argument>> {
    let sig = &function.sig;
    if !function.has_body() {
        let message = format!(
            "`#[{}]` goes on a function with a body, \
             not on a declaration in a trait or an `extern` block",
            form.name()
        );
        faults.push(&sig.ident, message);
        return None;
    }
    let mut found = Faults::default();
    check_qualifiers(sig, &mut found);
    check_generics(sig, &mut found);
    let arguments = argument::check(&sig.inputs, form, owner, &mut found);
    check_return(sig, &mut found);
    let is_callable = found.is_empty();
    faults.append(found);
    is_callable.then_some(arguments)
}

fn check_qualifiers(sig: &Signature, faults: &mut Faults) {
    if let Some(word) = &sig.constness {
        let message = "a scheduled function cannot be `const`, \
                       because it is called only while the program runs; remove `const`";
        faults.push(word, message);
    }
    if let Some(word) = &sig.unsafety {
        let message = "a scheduled function cannot be `unsafe`, \
                       because the scheduler cannot uphold its contract\n\
                       remove `unsafe`, and write an `unsafe` block in the body";
        faults.push(word, message);
    }
    if let Some(abi) = &sig.abi {
        let message = "a scheduled function cannot be `extern`, \
                       because the scheduler calls it from Rust; remove the `extern`";
        faults.push(abi, message);
    }
}

fn check_generics(sig: &Signature, faults: &mut Faults) {
    let params = &sig.generics.params;
    if params.is_empty() {
        return;
    }
    let message = if params.iter().all(|param| matches!(param, GenericParam::Lifetime(_))) {
        "a scheduled function has no lifetime parameters, because its arguments are lent for one \
         run\nremove them, and write `&T`"
            .to_owned()
    } else {
        format!(
            "a scheduled function cannot be generic, \
             because nothing says for which types it is to run\n\
             schedule a function without parameters that calls `{}` with the right types",
            sig.ident
        )
    };
    faults.push(&sig.generics, message);
}

fn check_return(sig: &Signature, faults: &mut Faults) {
    let ReturnType::Type(_, ty) = &sig.output else {
        return;
    };
    match &**ty {
        Type::Never(never) => {
            let message = "a scheduled function has to return, or it would run only once\n\
                           return `()`, and leave the repetition to the scheduler";
            faults.push(never, message);
        }
        Type::ImplTrait(future) if is_future(future) => {
            let message = "a scheduled function has to be `async` to give a future\n\
                           write `async fn`, and return what the future gives";
            faults.push(future, message);
        }
        _ => {}
    }
}

fn is_future(ty: &TypeImplTrait) -> bool {
    ty.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            bound.path.segments.last().is_some_and(|word| word.ident == "Future")
        }
        _ => false,
    })
}

/// Reports something that is no function, and gives it back together with the report.
pub(crate) fn not_a_function(form: Form, item: &TokenStream) -> TokenStream {
    let other = item::name_of_other_item(item);
    let is_item = other.is_some();
    let (noun, place) = other.unwrap_or_else(|| ("an expression", item.clone()));
    let mut faults = Faults::default();
    let message = match form {
        Form::Schedule => {
            format!("`#[scheduled]` goes on a function or an `impl` block, not on {noun}")
        }
        Form::Job => format!("`#[job]` goes on a function, not on {noun}"),
    };
    faults.push(place, message);
    let report = faults.to_tokens();
    if is_item { quote!(#item #report) } else { quote!({ #report #item }) }
}
