//! Compares the links of the guides with those that `src/guide.rs` puts in their place.
//!
//! A link of a page leads to a file, which the documentation does not have; the definition before the page wins.

use std::fs;

use crate::sources::root;

#[test]
fn every_link_of_a_guide_is_one_of_the_documentation() {
    let guides = fs::read_to_string(root().join("src/guide.rs")).expect("the guides");
    let mut faults = Vec::new();
    let mut count = 0;
    for part in guides.split("pub mod ") {
        let Some((before, after)) = part.rsplit_once("include_str!(\"../") else { continue };
        let page = after.split('"').next().expect("the end of the path");
        let text = fs::read_to_string(root().join(page)).expect("a readable page");
        for link in links_to_files(&text) {
            count += 1;
            let is_there = before.contains(&format!("/// [{link}]: "))
                || before.contains(&format!("in_repository!(\"{link}\", "));
            if !is_there {
                faults.push(format!("{page}: src/guide.rs has no `/// [{link}]: …` before it"));
            }
        }
    }
    assert!(count > 50, "only {count} links were found");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The names of links that are defined as paths, in the lower case that Markdown compares them in.
fn links_to_files(text: &str) -> impl Iterator<Item = String> {
    let defined = text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    defined.filter(|(_, to)| !to.contains("://")).map(|(link, _)| link.to_lowercase())
}
