//! Readers of the tables in the sources.

use std::fs;

use syn::{Attribute, Expr, File, Item, ItemEnum, Lit, Meta};

use crate::sources;

pub(super) fn text(path: &str) -> String {
    fs::read_to_string(sources::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The texts of all files of a folder, in the order of their names.
pub(super) fn all(folder: &str) -> String {
    let entries = fs::read_dir(sources::root().join(folder)).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).expect("a readable file")).collect()
}

pub(super) fn parsed(path: &str) -> File {
    syn::parse_file(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A row of `settings! { … }`: its key and a value to paste.
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) example: String,
}

/// The settings of the table of this name.
pub(super) fn settings(path: &str, table: &str) -> Vec<Setting> {
    let text = text(path);
    let (_, rest) = text.split_once(&format!("    {table} {{\n")).expect("the table");
    let (rows, _) = rest.split_once("    }\n").expect("its end");
    let rows = rows.split(';').filter_map(|row| row.split_once("=> "));
    let setting = |(row, _): (&str, &str)| {
        let (row, example) = row.trim_end().rsplit_once(", \"").expect("an example");
        let key = row.rsplit_once(", ").expect("a key").1;
        let unquoted = |text: &str| text.trim_matches('"').to_owned();
        let key = if key.starts_with('"') { unquoted(key) } else { constant(&text, key) };
        Setting { key, example: unquoted(example) }
    };
    rows.map(setting).collect()
}

/// The text of `const NAME: &str = "…"`.
fn constant(text: &str, name: &str) -> String {
    let (_, rest) = text.split_once(&format!("const {name}: &str = \"")).expect("the constant");
    rest.split('"').next().expect("its text").to_owned()
}

/// The names of variables between quotes.
pub(super) fn variables(path: &str) -> Vec<String> {
    let text = text(path);
    let product = text.split("\nmod tests {").next().unwrap_or_default();
    let names = product.split("\"SCHEDULER_").skip(1).filter_map(|rest| rest.split_once('"'));
    names.map(|(name, _)| format!("SCHEDULER_{name}")).collect()
}

/// A variant of an enum that serializes.
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) fields: Vec<String>,
    pub(super) doc: String,
}

/// The variants of an enum, with the names that they have as JSON.
pub(super) fn variants(path: &str, name: &str) -> Vec<Variant> {
    let variant = |variant: &syn::Variant| Variant {
        name: snake(&variant.ident.to_string()),
        fields: variant.fields.iter().flat_map(serial_names).collect(),
        doc: doc(&variant.attrs),
    };
    enumeration(parsed(path), name).variants.iter().map(variant).collect()
}

fn enumeration(file: File, name: &str) -> ItemEnum {
    let items = file.items.into_iter();
    let found =
        items.filter_map(|item| if let Item::Enum(item) = item { Some(item) } else { None });
    found.into_iter().find(|item| item.ident == name).expect("the enum")
}

fn snake(name: &str) -> String {
    let letter = |(index, letter): (usize, char)| match letter.is_uppercase() {
        true if index > 0 => format!("_{}", letter.to_lowercase()),
        _ => letter.to_lowercase().to_string(),
    };
    name.chars().enumerate().map(letter).collect()
}

/// The names of a field as `serde` writes them: several where it puts the fields of a job in its place, none where it skips it.
fn serial_names(field: &syn::Field) -> Vec<String> {
    let lists = field.attrs.iter().filter_map(|attribute| match &attribute.meta {
        Meta::List(list) => Some(list.tokens.to_string()),
        _ => None,
    });
    let options: String = lists.collect();
    if options.contains("(flatten)") {
        let items = parsed("src/observe/store_event.rs").items.into_iter();
        let mut structs =
            items.filter_map(|item| if let Item::Struct(item) = item { Some(item) } else { None });
        let found = structs.find(|item| item.ident == "ParkedJob").expect("the struct");
        return found.fields.iter().flat_map(serial_names).collect();
    }
    if options.contains("(skip)") {
        return Vec::new();
    }
    let renamed = options.split_once("rename = \"").and_then(|(_, rest)| rest.split('"').next());
    let name = || field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    vec![renamed.map_or_else(name, str::to_owned)]
}

/// The documentation of an item, in one line.
pub(super) fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => literal(&pair.value),
        _ => None,
    });
    lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ")
}

/// The text of a literal.
pub(super) fn literal(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
