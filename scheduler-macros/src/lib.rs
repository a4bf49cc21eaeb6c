//! The `#[scheduled]` attribute of the `scheduler` crate.

mod args;
mod check;
mod diagnostic;
mod expand;
mod item;
mod repeat;

use proc_macro::TokenStream;
use quote::ToTokens;

use crate::args::Args;
use crate::diagnostic::Faults;
use crate::item::Function;

/// Schedules a function.
#[proc_macro_attribute]
pub fn scheduled(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(options.into(), item.into()).into()
}

/// The item as it was written, and after it its entry or else the faults.
fn expand(
    options: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let mut faults = Faults::default();
    let Ok(mut function) = syn::parse2::<Function>(item.clone()) else {
        check::not_a_function(&item, &mut faults);
        return [item, faults.to_tokens()].into_iter().collect();
    };
    let args = Args::parse(options, &mut faults);
    let plan = check::check(&args, &function, &mut faults);
    if !check::is_repeated(&args) {
        repeat::number(&mut function.attrs);
    }
    let added = match plan {
        Some(plan) => expand::entry(&function, &plan),
        None => faults.to_tokens(),
    };
    [function.into_token_stream(), added].into_iter().collect()
}
