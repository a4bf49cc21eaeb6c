//! Every file in `tests/`, `examples/` and `benches/` is compiled.
//!
//! Cargo looks for no targets there: a file that nothing names is never compiled.

use std::fs;
use std::path::Path;

#[test]
fn every_file_belongs_to_a_target() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    for folder in ["tests", "examples", "benches"] {
        // The root has the example `hello`, and most tests share a process with others.
        let own = format!("{folder}/Cargo.toml");
        let places =
            ["Cargo.toml", "tests/main.rs", "tests/annotations.rs", "tests/annotated.rs", &own];
        let named =
            places.map(|place| fs::read_to_string(root.join(place)).expect("a text")).concat();
        for entry in fs::read_dir(root.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            let lines = [
                format!("name = \"{name}\"\n"),
                format!("path = \"{name}.rs\"\n"),
                format!("mod {name};\n"),
            ];
            let is_named = lines.iter().any(|line| named.contains(line));
            let is_source = path.extension() == Some("rs".as_ref());
            assert!(!is_source || is_named, "no target has {}", path.display());
        }
    }
}
