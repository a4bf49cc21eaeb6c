//! The form of an argument's type, and types as a person writes them.
//!
//! Rustc alone knows if a type can be extracted, or be shared between threads. A type
//! that is proposed here has passed the same checks.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    GenericArgument, PathArguments, PathSegment, Type, TypeImplTrait, TypeParamBound, TypePath,
    TypePtr, TypeReference,
};

use crate::diagnostic;

/// Where an argument comes from.
pub(crate) enum Argument {
    /// `&self`: the managed value of the type of the `impl` block.
    Receiver,
    /// `&T`: the managed value of the type.
    State(Type),
    /// `&Run`: the run, or the managed value of a type of that name; only rustc knows which it is.
    Lent(Type),
    /// `Option<&T>`: the managed value of the type, if there is one.
    OptionalState(Type),
    /// By value.
    Extracted(Type),
    /// `#[payload]`: decoded for each run.
    Payload(Type),
}

impl Argument {
    /// The type that is found or extracted; none for the receiver.
    pub(crate) fn ty(&self) -> Option<&Type> {
        match self {
            Self::Receiver => None,
            Self::State(ty)
            | Self::Lent(ty)
            | Self::OptionalState(ty)
            | Self::Extracted(ty)
            | Self::Payload(ty) => Some(ty),
        }
    }
}

/// Where an argument comes from, or why it cannot be made.
pub(super) fn classify(ty: &Type) -> Result<Argument, String> {
    match bare(ty) {
        Type::Reference(reference) => {
            let ty = reference_to(reference, Wanted::Always)?;
            Ok(if is_run(&ty) { Argument::Lent(ty) } else { Argument::State(ty) })
        }
        ty => value(ty),
    }
}

/// Returns true if this may be the scheduler's `Run`.
fn is_run(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|word| word.ident == "Run" && word.arguments.is_empty())
}

/// The type without parentheses and without the invisible groups of `macro_rules!`.
pub(super) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => bare(&inner.elem),
        Type::Group(inner) => bare(&inner.elem),
        other => other,
    }
}

/// The type behind a reference that managed state can be given by.
fn reference_to(reference: &TypeReference, wanted: Wanted) -> Result<Type, String> {
    let ty = bare(&reference.elem);
    let meant = behind_references(ty);
    check_state(meant, wanted)?;
    if reference.mutability.is_some() {
        let instead = wanted.of(&format!("&Mutex<{}>", shown(meant)));
        return Err(format!(
            "a scheduled function cannot take `&mut` state, because several tasks may use it \
             at the same time\nwrite `{instead}` or another type that is changed through `&`"
        ));
    }
    if let Some(lifetime) = reference.lifetime.as_ref().filter(|each| each.ident != "_") {
        return Err(format!(
            "managed state is lent for one run, not for `{lifetime}`\nwrite {}",
            wanted.lent_or_kept(meant)
        ));
    }
    if let Type::Reference(_) = ty {
        return Err(format!(
            "managed state is found by its type, and a reference cannot be managed\nwrite `{}`",
            wanted.lent(meant)
        ));
    }
    Ok(ty.clone())
}

/// Checks that a value of this type can be managed and found.
fn check_state(ty: &Type, wanted: Wanted) -> Result<(), String> {
    let foreign = |example: &str, argument: &str| {
        Err(format!(
            "managed state is found by its type, and `{}` could be anything\n\
             make it a type of its own, such as `{example}`, and take `{}`",
            shown(ty),
            wanted.of(argument)
        ))
    };
    match ty {
        Type::Slice(_) => foreign("struct Hosts(Vec<String>);", "&Hosts"),
        Type::Path(path) if path.path.is_ident("str") => {
            foreign("struct Greeting(String);", "&Greeting")
        }
        Type::Ptr(pointer) => Err(raw(pointer, wanted)),
        other => check_named(other, wanted),
    }
}

fn value(ty: &Type) -> Result<Argument, String> {
    if let Some(inner) = inside_of(ty, "Option").map(bare) {
        return match inner {
            Type::Reference(reference) => {
                reference_to(reference, Wanted::Perhaps).map(Argument::OptionalState)
            }
            other if inside_of(other, "State").is_some() => Ok(Argument::Extracted(ty.clone())),
            other => Err(option_of(other)),
        };
    }
    if let Type::Ptr(pointer) = ty {
        return Err(raw(pointer, Wanted::Always));
    }
    check_named(ty, Wanted::Always)?;
    if let Type::TraitObject(_) = ty {
        let object = Wanted::Always.lent(ty);
        return Err(format!("a trait object is taken by reference; write `{object}`"));
    }
    if let Some(inner) = inside_of(ty, "Rc") {
        return Err(shared(behind(inner)));
    }
    match inside_of(ty, "Arc").map(bare) {
        None | Some(Type::TraitObject(_)) => Ok(Argument::Extracted(ty.clone())),
        Some(inner) => Err(shared(behind(inner))),
    }
}

/// The message for an `Arc` or an `Rc` of this.
fn shared(inner: &Type) -> String {
    if is_by_value(inner) {
        return by_value(inner, "is taken by value", Wanted::Always);
    }
    check_state(inner, Wanted::Always).err().unwrap_or_else(|| {
        let remedy = Wanted::Always.lent_or_kept(inner);
        format!("managed state is shared by the scheduler\nwrite {remedy}")
    })
}

/// The message for an option of this, by value.
fn option_of(inner: &Type) -> String {
    let state = behind(inner);
    if let Some(ty) = [inner, state].into_iter().find(|ty| is_by_value(ty)) {
        return by_value(ty, "is there in every run", Wanted::Perhaps);
    }
    check_state(state, Wanted::Perhaps).err().unwrap_or_else(|| {
        let remedy = Wanted::Perhaps.lent_or_kept(state);
        format!("an argument that may be missing is managed state\nwrite {remedy}")
    })
}

/// The message for a raw pointer.
fn raw(pointer: &TypePtr, wanted: Wanted) -> String {
    let meant = behind(&pointer.elem);
    check_state(meant, wanted).err().unwrap_or_else(|| {
        format!(
            "a scheduled function cannot take a raw pointer, \
             because nothing guarantees what it points at; write `{}`",
            wanted.lent(meant)
        )
    })
}

/// The message for a pointer to, or an option of, what seems to be the scheduler's own: the name alone
/// does not say whether it is.
fn by_value(ty: &Type, reason: &str, wanted: Wanted) -> String {
    let name = shown(ty);
    let mut message = format!("`{name}` {reason}; write `{name}`");
    if !name.starts_with("scheduler::") {
        let state = behind(ty);
        let other = format!(", or `{}` if `{}` is yours", wanted.lent(state), shown(state));
        message.push_str(&other);
    }
    message
}

/// Returns true if this seems to be the scheduler's own, which every run is given by value.
fn is_by_value(ty: &Type) -> bool {
    if let Some(Type::TraitObject(object)) = inside_of(ty, "Arc").map(bare) {
        return object.bounds.to_token_stream().into_iter().last().is_some_and(is_clock);
    }
    let Type::Path(TypePath { path, qself: None }) = ty else { return false };
    let is_facades = match path.segments.first() {
        Some(first) => path.segments.len() == 1 || first.ident == "scheduler",
        None => false,
    };
    let last = path.segments.last();
    is_facades
        && last.is_some_and(|word| {
            ["Run", "Shutdown", "Tasks"].iter().any(|known| word.ident == known)
        })
}

fn is_clock(word: TokenTree) -> bool {
    matches!(word, TokenTree::Ident(word) if word == "Clock")
}

/// Returns true if generated code can name the type.
pub(super) fn check_named(ty: &Type, wanted: Wanted) -> Result<(), String> {
    match ty {
        Type::ImplTrait(anything) => {
            let (bounds, object) = object(anything);
            let instead = object.map(|object| format!(", or `{}`", wanted.of(&object)));
            Err(format!(
                "nothing says which type `impl {bounds}` is to be\nwrite the type itself{}",
                instead.unwrap_or_default()
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

/// The type behind all references.
fn behind_references(ty: &Type) -> &Type {
    match bare(ty) {
        Type::Reference(reference) => behind_references(&reference.elem),
        other => other,
    }
}

/// The type behind all references and pointers, those that share a value included.
fn behind(ty: &Type) -> &Type {
    match bare(ty) {
        Type::Reference(reference) => behind(&reference.elem),
        Type::Ptr(pointer) => behind(&pointer.elem),
        other => inside_of(other, "Arc").or_else(|| inside_of(other, "Rc")).map_or(other, behind),
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

/// Tells if an argument has to be there.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    Always,
    /// In an `Option`.
    Perhaps,
}

impl Wanted {
    /// The argument of this type.
    pub(super) fn of(self, ty: &str) -> String {
        match self {
            Self::Always => ty.to_owned(),
            Self::Perhaps => format!("Option<{ty}>"),
        }
    }

    /// Managed state of this type.
    pub(super) fn lent(self, ty: &Type) -> String {
        let reference = match ty {
            Type::TraitObject(object) if object.bounds.len() > 1 => format!("&({})", shown(ty)),
            _ => format!("&{}", shown(ty)),
        };
        self.of(&reference)
    }

    /// Both ways to take managed state, for messages.
    fn lent_or_kept(self, ty: &Type) -> String {
        let state = self.of(&format!("State<{}>", shown(ty)));
        format!("`{}`, or `{state}` to keep it", self.lent(ty))
    }
}

/// Traits that have no objects, or none that can be managed as they are.
#[rustfmt::skip]
const WITHOUT_OBJECTS: &[&str] = &[
    "AsMut", "AsRef", "Clone", "Copy", "Debug", "Default", "Display", "Eq", "Error", "Fn", "FnMut",
    "FnOnce", "From", "Future", "Hash", "Into", "IntoIterator", "Iterator", "Ord", "PartialEq",
    "PartialOrd", "Read", "Sized", "ToString", "TryFrom", "TryInto", "Write",
];

/// Traits that may stand beside another one in an object.
const MARKERS: &[&str] = &["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"];

/// The traits after `impl`, and a reference to an object of them, if that can be managed.
fn object(anything: &TypeImplTrait) -> (String, Option<String>) {
    let traits = anything.bounds.iter().filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) => Some(bound),
        _ => None,
    });
    let named: Vec<String> = traits
        .clone()
        .filter_map(|each| Some(each.path.segments.last()?.ident.to_string()))
        .collect();
    let bounds: Vec<String> = traits.map(shown).collect();
    let bounds = bounds.join(" + ");
    let has = |wanted: &str| named.iter().any(|name| name == wanted);
    let others: Vec<&String> =
        named.iter().filter(|name| !MARKERS.contains(&name.as_str())).collect();
    let is_sound = match others.as_slice() {
        [] => has("Send") && has("Sync"),
        [one] => !WITHOUT_OBJECTS.contains(&one.as_str()),
        _ => false,
    };
    let object = match named.len() {
        1 => format!("&dyn {bounds}"),
        _ => format!("&(dyn {bounds})"),
    };
    (bounds, is_sound.then_some(object))
}

/// A type as it is written. It is not cut off, because a proposal is there to be pasted.
pub(super) fn shown(ty: &impl ToTokens) -> String {
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
    diagnostic::printable(&text)
}
