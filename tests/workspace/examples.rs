//! Documentation examples that annotate a function are `standalone_crate`s.
//!
//! The others are linked into one program, where a scheduler would run the function.

use std::fs;
use std::path::Path;

use crate::sources;

#[test]
fn an_example_that_annotates_a_function_is_a_crate_of_its_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let of_docs =
        fs::read_dir(root.join("docs")).expect("a folder").map(|entry| entry.unwrap().path());
    let files = sources::of("src").into_iter().map(|source| source.file).chain(of_docs);
    let (mut count, mut faults) = (0, Vec::new());
    for file in files.filter(|file| file.is_file()) {
        let text = fs::read_to_string(&file).expect("a readable file");
        for (line, words, program) in examples(&text, file.extension() == Some("rs".as_ref())) {
            let is_annotated = program.contains("#[scheduled") || program.contains("#[job(");
            count += usize::from(is_annotated);
            if is_annotated && !words.contains("standalone_crate") {
                faults
                    .push(format!("{}:{line}: write ```{words},standalone_crate", file.display()));
            }
        }
    }
    assert!(count > 30, "only {count} examples were found");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The programs in comments or in a document: the line, the words behind the fence, the text.
fn examples(text: &str, is_source: bool) -> Vec<(usize, &str, String)> {
    let mut found = Vec::new();
    let mut lines = (1..).zip(text.lines().map(str::trim_start)).map(|(number, line)| {
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        (number, if is_source { comment.map(str::trim_start) } else { Some(line) })
    });
    while let Some((number, line)) = lines.next() {
        let Some(words) = line.and_then(|line| line.strip_prefix("```")) else { continue };
        let inside =
            lines.by_ref().map_while(|(_, line)| line.filter(|line| !line.starts_with("```")));
        let program: Vec<&str> = inside.collect();
        let is_rust =
            is_source && words.is_empty() || words.contains("rust") || words.contains("no_run");
        if is_rust || words.contains("standalone_crate") {
            found.push((number, words, program.join("\n")));
        }
    }
    found
}

#[test]
fn examples_are_found_in_comments_and_in_documents() {
    let source = "/// ```\n/// #[scheduled(fixed_rate = \"1s\")]\n/// ```\nfn a() { \"```\" }\n\
                  //! ```text\n//! #[scheduled]\n//! ```\n    /// ```no_run,standalone_crate\n    /// b();\n    /// ```\n";
    let found =
        [(1, "", "#[scheduled(fixed_rate = \"1s\")]"), (8, "no_run,standalone_crate", "b();")];
    assert_eq!(
        examples(source, true),
        found.map(|(line, words, text)| (line, words, text.to_owned()))
    );
    let document = "text\n```rust\nc();\n```\n```toml\n[d]\n```\n```\ne\n```\n";
    assert_eq!(examples(document, false), [(2, "rust", "c();".to_owned())]);
}
