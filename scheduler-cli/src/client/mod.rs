//! stub
use crate::{fault::Fault, surroundings::Surroundings};
use clap::Subcommand;
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// list
    List,
}
pub(crate) fn run(_c: &Command, _a: &mut Surroundings<'_>) -> Result<(), Fault> {
    Ok(())
}
