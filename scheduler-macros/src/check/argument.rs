//! What the scheduler can hand to a function: managed state by reference, and by value whatever can
//! be extracted.
//!
//! Only the form of a type is judged here. Whether a type can be extracted, or be shared between
//! threads, is known to rustc alone.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, GenericArgument, PatType, PathArguments, PathSegment, Receiver};
use syn::{Token, Type, TypeParamBound, TypeReference};

use super::Owner;
use crate::diagnostic::Faults;
use crate::item;

/// How many arguments a function may have; one type can hold what belongs together.
const ARGUMENTS_MAX: usize = 12;

/// Where an argument comes from.
pub(crate) enum Argument {
    /// `&self`: the managed value of the type of the `impl` block.
    Receiver,
    /// `&T`: the managed value of the type.
    State(Type),
    /// `Option<&T>`: the managed value of the type, if there is one.
    OptionalState(Type),
    /// By value.
    Extracted(Type),
}

/// Judges the arguments of a function, and says where each comes from.
pub(super) fn check(
    inputs: &Punctuated<FnArg, Token![,]>,
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
        FnArg::Receiver(receiver) => check_receiver(receiver, owner, faults),
        FnArg::Typed(argument) => {
            check_conditions(&argument.attrs, faults);
            check_typed(argument, faults)
        }
    });
    arguments.collect()
}

fn check_receiver(
    receiver: &Receiver,
    owner: Option<&Owner>,
    faults: &mut Faults,
) -> Option<Argument> {
    let Some(owner) = owner else {
        let message = "a method is scheduled through its `impl` block, \
                       because only there the type of `self` can be seen\n\
                       put `#[scheduled]` on the `impl` block, too";
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

/// Whether this is `&self`, perhaps in longer words.
fn is_shared(receiver: &Receiver, owner: &Owner) -> bool {
    let Type::Reference(reference) = bare(&receiver.ty) else { return false };
    let is_own = match bare(&reference.elem) {
        Type::Path(path) if path.path.is_ident("Self") => true,
        ty => quote!(#ty).to_string() == owner.ty.to_token_stream().to_string(),
    };
    let is_kept = reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident != "_");
    is_own && !is_kept && reference.mutability.is_none()
}

fn check_conditions(attrs: &[Attribute], faults: &mut Faults) {
    for attr in attrs.iter().filter(|attr| item::condition(&attr.meta).is_some()) {
        let message = "an argument of a scheduled function cannot be conditional\n\
                       write the function twice, each under a condition of its own";
        faults.push(attr, message);
    }
}

fn check_typed(argument: &PatType, faults: &mut Faults) -> Option<Argument> {
    let judged = match bare(&argument.ty) {
        Type::Reference(reference) => check_reference(reference).map(Argument::State),
        ty => check_value(ty),
    };
    match judged {
        Ok(argument) => Some(argument),
        Err(message) => {
            faults.push(&argument.ty, message);
            None
        }
    }
}

/// The type without parentheses and without the invisible groups of `macro_rules!`.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => bare(&inner.elem),
        Type::Group(inner) => bare(&inner.elem),
        other => other,
    }
}

/// The type behind a reference that managed state can be given by.
fn check_reference(reference: &TypeReference) -> Result<Type, String> {
    let ty = bare(&reference.elem);
    let shown = shown(ty);
    if reference.mutability.is_some() {
        return Err(format!(
            "a scheduled function cannot take `&mut` state, because several tasks may use it \
             at the same time\nwrite `&Mutex<{shown}>` or another type that is changed through `&`"
        ));
    }
    if let Some(lifetime) = reference.lifetime.as_ref().filter(|each| each.ident != "_") {
        return Err(format!(
            "managed state is lent for one run, not for `{lifetime}`\n\
             write `&{shown}`, or `State<{shown}>` to keep it"
        ));
    }
    match ty {
        Type::Slice(_) => Err(foreign(&shown, "struct Hosts(Vec<String>);", "&Hosts")),
        Type::Path(path) if path.path.is_ident("str") => {
            Err(foreign(&shown, "struct Greeting(String);", "&Greeting"))
        }
        Type::Reference(_) => Err(format!(
            "managed state is found by its type, and a reference cannot be managed\n\
             write `&{}`",
            shown.trim_start_matches(['&', ' '])
        )),
        other => check_named(other).map(|()| other.clone()),
    }
}

fn foreign(shown: &str, example: &str, argument: &str) -> String {
    format!(
        "managed state is found by its type, and `{shown}` could be anything\n\
         make it a type of its own, such as `{example}`, and take `{argument}`"
    )
}

fn check_value(ty: &Type) -> Result<Argument, String> {
    if let Some(inner) = inside_of(ty, "Option").map(bare) {
        return match inner {
            Type::Reference(reference) => check_reference(reference).map(Argument::OptionalState),
            other if inside_of(other, "State").is_some() => Ok(Argument::Extracted(ty.clone())),
            other => Err(format!(
                "an argument that may be missing is managed state\n\
                 write `Option<&{0}>`, or `Option<State<{0}>>` to keep it",
                shown(other)
            )),
        };
    }
    check_named(ty)?;
    match (ty, inside_of(ty, "Arc").map(bare)) {
        (Type::TraitObject(_), _) => {
            let shown = shown(ty);
            let object = object(shown.trim_start_matches("dyn "));
            Err(format!("a trait object is taken by reference; write `{object}`"))
        }
        (Type::Ptr(pointer), _) => Err(format!(
            "a scheduled function cannot take a raw pointer, \
             because nobody vouches for what it points at; write `&{}`",
            shown(&pointer.elem)
        )),
        (_, None | Some(Type::TraitObject(_))) => Ok(Argument::Extracted(ty.clone())),
        (_, Some(inner)) => Err(format!(
            "managed state is shared by the scheduler\n\
             write `&{0}`, or `State<{0}>` to keep it",
            shown(inner)
        )),
    }
}

/// Whether generated code can name the type.
fn check_named(ty: &Type) -> Result<(), String> {
    match ty {
        Type::ImplTrait(anything) => {
            let bounds: Vec<String> = anything
                .bounds
                .iter()
                .filter(|bound| matches!(bound, TypeParamBound::Trait(_)))
                .map(shown)
                .collect();
            let bounds = bounds.join(" + ");
            Err(format!(
                "nothing says which type `impl {bounds}` is to be\n\
                 write the type itself, or `{}`",
                object(&bounds)
            ))
        }
        Type::Infer(_) => Err("nothing says which type this is; write it".to_owned()),
        _ if mentions_impl(ty.to_token_stream()) => {
            Err("nothing says which type the `impl` in this is to be; write the type itself"
                .to_owned())
        }
        _ => Ok(()),
    }
}

fn mentions_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "impl",
        TokenTree::Group(group) => mentions_impl(group.stream()),
        _ => false,
    })
}

/// A trait object behind a reference, as it is written.
fn object(bounds: &str) -> String {
    match bounds.contains('+') {
        true => format!("&(dyn {bounds})"),
        false => format!("&dyn {bounds}"),
    }
}

/// The type between the angle brackets of `outer<…>`, whatever its path.
fn inside_of<'a>(ty: &'a Type, outer: &str) -> Option<&'a Type> {
    let Type::Path(path) = bare(ty) else { return None };
    let PathSegment { ident, arguments } = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) if ident == outer && arguments.args.len() == 1 => Some(inner),
        _ => None,
    }
}

/// A type as a person writes it.
fn shown(ty: &impl ToTokens) -> String {
    let mut text = quote!(#ty).to_string();
    for (spaced, tight) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        (" >", ">"),
        ("< ", "<"),
        (" ,", ","),
        ("& ", "&"),
        (" <", "<"),
    ] {
        text = text.replace(spaced, tight);
    }
    crate::diagnostic::shorten(&text)
}
