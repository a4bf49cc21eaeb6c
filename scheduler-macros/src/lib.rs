//! The `#[scheduled]` attribute.
