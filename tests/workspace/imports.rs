//! The files that each file uses: the imports and paths of a crate, parsed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use syn::visit::Visit;

use crate::sources;

/// A module: its path inside the crate, such as `["pool", "worker"]`.
type Module = Vec<String>;

/// The files of a crate, and which uses which.
pub(crate) struct Imports {
    /// By file: the files it takes names from.
    pub(crate) uses: BTreeMap<String, BTreeSet<String>>,
}

/// The names of a module before paths are followed.
#[derive(Default)]
struct Names {
    file: String,
    /// The items that are defined in it.
    items: BTreeSet<String>,
    /// The paths that it imports or exports again, by their names here.
    imports: BTreeMap<String, Vec<String>>,
    /// The modules whose every name it imports.
    globs: Vec<Vec<String>>,
}

/// A path in the code of a module that may lead to another file.
struct Mention {
    module: Module,
    path: Vec<String>,
}

#[derive(Default)]
struct Crate {
    modules: BTreeMap<Module, Names>,
    mentions: Vec<Mention>,
    /// Modules that are compiled for tests only.
    tests: BTreeSet<Module>,
}

impl Imports {
    /// Parses all files below the folder of a crate's sources, except for tests.
    pub(crate) fn of(folder: &str) -> Self {
        let mut found = Crate::default();
        for source in sources::of(folder) {
            let text = fs::read_to_string(&source.file).expect("a readable file");
            let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", source.path));
            found.read(module_of(&source.inside), &source.path, &parsed.items);
        }
        found.imports()
    }
}

/// The module of a file below the sources of a crate.
fn module_of(inside: &std::path::Path) -> Module {
    let parts = inside.with_extension("");
    let mut module: Module = parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| last == "mod" || module.len() == 1 && last == "lib") {
        module.pop();
    }
    module
}

impl Crate {
    fn read(&mut self, module: Module, file: &str, items: &[syn::Item]) {
        let mut names = Names { file: file.to_owned(), ..Names::default() };
        let mut body = Body { paths: Vec::new() };
        for item in items {
            match item {
                syn::Item::Mod(test) if is_test(item) => {
                    let inner = module.iter().cloned().chain([test.ident.to_string()]);
                    self.tests.insert(inner.collect());
                }
                _ if is_test(item) => {}
                syn::Item::Use(import) => {
                    let is_export = !matches!(import.vis, syn::Visibility::Inherited);
                    for (name, path) in leaves(&import.tree) {
                        if !is_export {
                            body.paths.push(path.clone());
                        }
                        match name {
                            Some(name) => drop(names.imports.insert(name, path)),
                            None => names.globs.push(path),
                        }
                    }
                }
                syn::Item::Mod(inline) => {
                    if let Some((_, items)) = &inline.content {
                        let mut inner = module.clone();
                        inner.push(inline.ident.to_string());
                        self.read(inner, file, items);
                    }
                }
                item => {
                    names.items.extend(name_of(item));
                    body.visit_item(item);
                }
            }
        }
        let mentions = body.paths.into_iter().map(|path| Mention { module: module.clone(), path });
        self.mentions.extend(mentions);
        self.modules.insert(module, names);
    }

    fn imports(&self) -> Imports {
        let is_shipped =
            |module: &Module| !(1..=module.len()).any(|len| self.tests.contains(&module[..len]));
        let shipped = self.modules.iter().filter(|(module, _)| is_shipped(module));
        let files = shipped.map(|(_, names)| (names.file.clone(), BTreeSet::new()));
        let mut uses: BTreeMap<String, BTreeSet<String>> = files.collect();
        for Mention { module, path } in
            self.mentions.iter().filter(|mention| is_shipped(&mention.module))
        {
            let from = &self.modules[module].file;
            if let Some(to) = self.file_of(module, path, 0).filter(|to| *to != from) {
                uses.get_mut(from).expect("a known file").insert(to.to_owned());
            }
        }
        Imports { uses }
    }

    /// The file in which what a path names is defined, if it is one of this crate.
    fn file_of(&self, from: &[String], path: &[String], depth: usize) -> Option<&str> {
        const DEPTH_MAX: usize = 16;
        if depth > DEPTH_MAX {
            return None;
        }
        let mut module = from.to_vec();
        let mut parts = path.iter().peekable();
        let mut is_inside = false;
        while let Some(part) =
            parts.next_if(|part| ["crate", "self", "super"].contains(&part.as_str()))
        {
            is_inside = true;
            match part.as_str() {
                "crate" => module.clear(),
                "super" => drop(module.pop()),
                _ => {}
            }
        }
        while let Some(part) = parts.next() {
            let names = self.modules.get(&module)?;
            module.push(part.clone());
            if self.modules.contains_key(&module) {
                is_inside = true;
                continue;
            }
            module.pop();
            let rest = parts.cloned();
            if let Some(import) = names.imports.get(part) {
                let path: Vec<String> = import.iter().cloned().chain(rest).collect();
                return self.file_of(&module, &path, depth + 1);
            }
            if names.items.contains(part) {
                return is_inside.then_some(names.file.as_str());
            }
            let rest: Vec<String> = std::iter::once(part.clone()).chain(rest).collect();
            return names.globs.iter().find_map(|glob| {
                let path: Vec<String> = glob.iter().chain(&rest).cloned().collect();
                self.file_of(&module, &path, depth + 1)
            });
        }
        None
    }
}

/// The names that an import brings, each with its whole path; none for a glob.
fn leaves(tree: &syn::UseTree) -> Vec<(Option<String>, Vec<String>)> {
    match tree {
        syn::UseTree::Path(path) => {
            let mut inner = leaves(&path.tree);
            inner.iter_mut().for_each(|(_, rest)| rest.insert(0, path.ident.to_string()));
            inner
        }
        syn::UseTree::Name(name) => {
            vec![(Some(name.ident.to_string()), vec![name.ident.to_string()])]
        }
        syn::UseTree::Rename(name) => {
            vec![(Some(name.rename.to_string()), vec![name.ident.to_string()])]
        }
        syn::UseTree::Glob(_) => vec![(None, Vec::new())],
        syn::UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

fn name_of(item: &syn::Item) -> Option<String> {
    Some(match item {
        syn::Item::Const(item) => item.ident.to_string(),
        syn::Item::Enum(item) => item.ident.to_string(),
        syn::Item::Fn(item) => item.sig.ident.to_string(),
        syn::Item::Macro(item) => item.ident.as_ref()?.to_string(),
        syn::Item::Static(item) => item.ident.to_string(),
        syn::Item::Struct(item) => item.ident.to_string(),
        syn::Item::Trait(item) => item.ident.to_string(),
        syn::Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// Returns true if an item is compiled for tests only.
fn is_test(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Meta>().is_ok_and(|condition| needs_test(&condition))
    })
}

/// Returns true if a condition holds in tests only: `test`, or `all(test, ..)`.
fn needs_test(condition: &syn::Meta) -> bool {
    match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(all) if all.path.is_ident("all") => {
            let parts = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
            all.parse_args_with(parts).is_ok_and(|parts| parts.iter().any(needs_test))
        }
        _ => false,
    }
}

/// Collects the paths of several parts in the code of a module.
struct Body {
    paths: Vec<Vec<String>>,
}

impl Visit<'_> for Body {
    fn visit_path(&mut self, path: &syn::Path) {
        if path.segments.len() > 1 {
            self.paths.push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, import: &syn::ItemUse) {
        self.paths.extend(leaves(&import.tree).into_iter().map(|(_, path)| path));
    }
}
