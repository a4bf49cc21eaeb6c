//! The table of features in the documentation, held against the manifest.

use std::fs;
use std::path::Path;

#[test]
fn the_table_of_features_lists_each_feature_of_the_facade() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    let features = features(&manifest);
    assert!(features.len() > 5, "only {features:?} were found");
    let document = fs::read_to_string(root.join("docs/features.md")).expect("a document");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let rows: Vec<&str> = rows.collect();
    assert_eq!(rows, features, "docs/features.md against Cargo.toml");
}

/// The public features, in their order.
fn features(manifest: &str) -> Vec<&str> {
    let (_, rest) = manifest.split_once("\n[features]\n").expect("features");
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    let names =
        lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    names.map(|(name, _)| name).filter(|name| !name.starts_with('_')).collect()
}
