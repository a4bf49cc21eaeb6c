//! The macros, such as `@daily`.

/// The macros and the fields they stand for.
pub(super) const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 0 1 1 *"),
    ("@annually", "0 0 0 1 1 *"),
    ("@monthly", "0 0 0 1 * *"),
    ("@weekly", "0 0 0 * * 0"),
    ("@daily", "0 0 0 * * *"),
    ("@midnight", "0 0 0 * * *"),
    ("@hourly", "0 0 * * * *"),
];

/// The fields that a macro stands for, in any letter case.
pub(super) fn fields_of_macro(text: &str) -> Option<&'static str> {
    let found = MACROS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, fields)| *fields)
}
