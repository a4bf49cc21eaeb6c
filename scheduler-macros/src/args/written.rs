//! The options of one annotation, as written.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use scheduler_expr::Role;
use syn::{ExprArray, LitBool, LitInt, LitStr, Path};

use super::Key;

/// The value of an option, of the kind that the option takes.
#[derive(Clone)]
pub(crate) enum Value {
    Text(LitStr),
    Number(LitInt),
    Flag(LitBool),
    List(ExprArray, Vec<String>),
    Path(Path),
}

impl Value {
    /// The text of the value; a number, a flag and a list are a text too.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.value()),
            Self::Number(number) => Some(number.base10_digits().to_owned()),
            Self::Flag(flag) => Some(flag.value.to_string()),
            Self::List(_, texts) => Some(texts.join(", ")),
            Self::Path(_) => None,
        }
    }
}

impl Value {
    /// The texts of a list, or the only one.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Self::List(_, texts) => texts.clone(),
            other => other.text().into_iter().collect(),
        }
    }
}

impl ToTokens for Value {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Text(text) => text.to_tokens(tokens),
            Self::Number(number) => number.to_tokens(tokens),
            Self::Flag(flag) => flag.to_tokens(tokens),
            Self::List(list, _) => list.to_tokens(tokens),
            Self::Path(path) => path.to_tokens(tokens),
        }
    }
}

/// An option that was given.
#[derive(Clone)]
pub(crate) struct WrittenOption {
    pub(crate) key: Key,
    /// The option's name, with its place in the source.
    pub(crate) word: Ident,
    /// `None` if it was faulty, which has then been reported, or if it only holds other options.
    pub(crate) value: Option<Value>,
}

/// The options of one annotation, in their order; those inside of another option come before it.
#[derive(Default)]
pub(crate) struct Args {
    pub(super) options: Vec<WrittenOption>,
    /// True if a part could not be read as an option: then a missing option is no fault.
    pub(crate) is_incomplete: bool,
}

impl Args {
    /// All options that were given.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WrittenOption> {
        self.options.iter()
    }

    /// The option, if it was given.
    pub(crate) fn get(&self, key: Key) -> Option<&WrittenOption> {
        self.options.iter().find(|option| option.key == key)
    }

    /// The value of an option, if it could be read.
    pub(crate) fn value(&self, key: Key) -> Option<&Value> {
        self.get(key)?.value.as_ref()
    }

    /// The options that are rules, in their order.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &WrittenOption> {
        self.options.iter().filter(|option| {
            matches!(option.key, Key::Attribute(attribute) if attribute.row().role == Role::Rule)
        })
    }
}
