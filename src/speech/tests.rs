//! What the reporter says.
