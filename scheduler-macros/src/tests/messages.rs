//! The messages of `tests/ui/fail`, without a compiler: each file is expanded here, and its errors are
//! compared with the text beside it. `ci/ui.sh` compares all that rustc prints, which takes minutes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{annotate, annotate_job, cron};

/// The programs of a folder, each with its name and the messages of rustc.
fn mistakes(folder: &str) -> Vec<(String, TokenStream, String)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/ui")).join(folder);
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let programs = files.filter(|file| file.extension() == Some("rs".as_ref()));
    let read = |path: &Path| fs::read_to_string(path).expect("a readable file");
    let mistakes = programs.map(|program| {
        let name = program.file_stem().and_then(|name| name.to_str()).expect("a name");
        let tokens = read(&program).parse().expect("tokens");
        (name.to_owned(), tokens, read(&program.with_extension("stderr")))
    });
    mistakes.collect()
}

#[test]
fn every_mistake_has_its_messages() {
    let mistakes = mistakes("fail");
    assert!(mistakes.len() > 50, "only {} mistakes", mistakes.len());
    for (name, program, expected) in mistakes {
        let mut found = BTreeSet::new();
        expand(&program, &mut found);
        assert_eq!(found, errors(&expected).collect(), "{name}");
    }
}

/// But for one, which rustc itself reports: a macro cannot see that it stands in an `impl`.
#[test]
fn f_ma1_no_message_speaks_of_the_macro_itself() {
    for (name, _, text) in ["fail", "rustc"].into_iter().flat_map(mistakes) {
        assert!(!text.contains("panicked"), "{name}");
        assert!(name == "method_in_impl" || !text.contains("this error originates"), "{name}");
    }
}

/// The texts after `error: `. An error with a number is rustc's own.
fn errors(text: &str) -> impl Iterator<Item = String> {
    let errors = text.split("error: ").skip(1);
    errors.map(|error| {
        let lines = error.lines().take_while(|line| !line.trim_start().starts_with("--> "));
        let lines = lines.map(|line| line.strip_prefix("       ").unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    })
}

/// Expands all annotations as rustc does, and collects their errors.
fn expand(tokens: &TokenStream, found: &mut BTreeSet<String>) {
    let mut tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at..] {
            [TokenTree::Punct(hash), TokenTree::Group(attribute), rest @ ..]
                if hash.as_char() == '#' =>
            {
                if let Some((is_job, options)) = options(attribute.stream()) {
                    let end = rest.iter().position(is_end).map_or(rest.len(), |end| end + 1);
                    let item = rest[..end].iter().cloned().collect();
                    let expanded = if is_job {
                        annotate_job(options, &item)
                    } else {
                        annotate(options, &item)
                    };
                    tokens.splice(at..at + 2 + end, expanded);
                } else {
                    at += 2;
                }
            }
            [TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(text), ..]
                if name == "cron" && mark.as_char() == '!' =>
            {
                let facade = quote::quote!(scheduler).into_iter();
                let expanded = cron(facade.chain(text.stream()).collect());
                tokens.splice(at..at + 3, expanded);
            }
            [TokenTree::Ident(name), _, TokenTree::Group(text), ..] if name == "compile_error" => {
                let text = syn::parse2::<syn::LitStr>(text.stream()).expect("a text");
                found.insert(text.value());
                at += 3;
            }
            [TokenTree::Group(group), ..] => {
                expand(&group.stream(), found);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// True for `#[job]`, and the options, if the attribute is an annotation.
fn options(attribute: TokenStream) -> Option<(bool, TokenStream)> {
    let mut tokens: Vec<TokenTree> = attribute.into_iter().collect();
    let options = match tokens.last() {
        Some(TokenTree::Group(group)) => {
            let options = group.stream();
            tokens.pop();
            options
        }
        _ => TokenStream::new(),
    };
    match tokens.last() {
        Some(TokenTree::Ident(name)) if name == "scheduled" => Some((false, options)),
        Some(TokenTree::Ident(name)) if name == "job" => Some((true, options)),
        _ => None,
    }
}

fn is_end(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(mark) => mark.as_char() == ';',
        _ => false,
    }
}
