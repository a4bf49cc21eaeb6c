//! The types of the API as data, from which its OpenAPI description is made.

/// A type that a description of the API has.
pub trait Described {
    /// Its form in JSON.
    const TYPE: Type;
}

/// The form of a value in JSON.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "clear by their names")]
pub enum Type {
    Text,
    /// A number of things, which is never negative.
    Count,
    Number,
    Flag,
    List(&'static Type),
    Struct(&'static Description),
}

/// A struct.
#[derive(Debug)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// Its documentation.
    pub text: &'static str,
    /// Its attributes for serde.
    pub serde: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its name in Rust.
    pub name: &'static str,
    /// Its documentation.
    pub text: &'static str,
    /// Its attributes for serde.
    pub serde: &'static str,
    /// Its type.
    pub of: Type,
    /// True if it may be missing.
    pub is_optional: bool,
}

impl Description {
    /// Returns true if a reader refuses fields that it does not know, as all readers of requests do.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.serde.contains("deny_unknown_fields")
    }
}

impl Field {
    /// Returns true if its own fields stand in its place.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.serde == "flatten"
    }

    /// Its name in JSON.
    #[must_use]
    pub fn json_name(&self) -> String {
        if let Some(name) = self.serde.strip_prefix("rename = ") {
            return name.trim_matches('"').to_owned();
        }
        json_name(self.name)
    }
}

/// The name in JSON of a field in Rust: in camel case.
#[must_use]
pub fn json_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &first.into_iter().chain(letters).collect::<String>()
    })
}

impl Described for String {
    const TYPE: Type = Type::Text;
}

impl Described for f64 {
    const TYPE: Type = Type::Number;
}

impl Described for bool {
    const TYPE: Type = Type::Flag;
}

impl<T: Described> Described for Vec<T> {
    const TYPE: Type = Type::List(&T::TYPE);
}

macro_rules! counts {
    ($($type:ty),*) => {$(
        impl Described for $type {
            const TYPE: Type = Type::Count;
        }
    )*};
}
counts!(u16, u32, u64);
