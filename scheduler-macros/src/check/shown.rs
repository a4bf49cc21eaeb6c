//! Types as a person writes them, for messages.

use quote::{ToTokens, quote};
use syn::{Type, TypeImplTrait, TypeParamBound};

use crate::diagnostic;

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
    pub(super) fn lent_or_kept(self, ty: &Type) -> String {
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
pub(super) fn object(anything: &TypeImplTrait) -> (String, Option<String>) {
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
