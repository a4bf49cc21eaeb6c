//! The function that looks up the arguments and makes the call.
//!
//! Every argument is looked up before the first missing one ends it, so that all of them are noted.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{ReturnType, Type};

use super::{FacadeCall, Idents, Task, job, path, without_self};
use crate::check::Argument;

/// Generates the closure that an entry resolves arguments with.
pub(super) fn resolve(task: &Task<'_>, names: &Idents) -> TokenStream {
    let private = &names.private;
    let resolver = local("resolver");
    let run = run_parameter(task.arguments);
    let found: Vec<Ident> = (0..task.arguments.len()).map(|n| local(&format!("a{n}"))).collect();
    let sources: Vec<TokenStream> =
        task.arguments.iter().map(|argument| source(argument, task, names, &resolver)).collect();
    let call = if task.function.sig.asyncness.is_some() {
        async_call(task, names, &run, &found)
    } else {
        sync_call(task, names, &run, &found)
    };
    if found.is_empty() {
        return quote!(|_| #call);
    }
    quote! {
        |#resolver| {
            #(let #found = #sources;)*
            let (#(#private::Some(#found),)*) = (#(#found,)*) else {
                return #private::None;
            };
            #call
        }
    }
}

/// A local variable that generated code alone can see.
fn local(name: &str) -> Ident {
    Ident::new(&format!("scheduled_{name}"), Span::mixed_site())
}

/// The name of the run, if anything is extracted from it.
fn run_parameter(arguments: &[Argument]) -> TokenStream {
    let is_used = arguments.iter().any(|each| {
        matches!(each, Argument::Extracted(_) | Argument::Lent(_) | Argument::Payload(_))
    });
    if is_used { local("run").to_token_stream() } else { quote!(_) }
}

/// Looks up what an argument is made of.
fn source(argument: &Argument, task: &Task<'_>, names: &Idents, resolver: &Ident) -> TokenStream {
    let (function, ty) = match argument {
        Argument::Receiver => ("receiver", task.owner.map(|owner| owner.ty.to_token_stream())),
        Argument::State(ty) => ("state", Some(named(ty, names))),
        Argument::Lent(ty) => return lending(ty, "__scheduler_find", &quote!(#resolver), names),
        Argument::OptionalState(ty) => ("optional_state", Some(named(ty, names))),
        Argument::Extracted(ty) => ("resolve", Some(named(ty, names))),
        Argument::Payload(_) => {
            let private = &names.private;
            return quote!(#private::Some(()));
        }
    };
    let ty = ty.unwrap_or_default();
    FacadeCall { function, generic: Some(&ty), arguments: quote!(#resolver) }.seen_at(&ty, names)
}

/// The argument of one run, made of what was looked up.
fn argument(argument: &Argument, found: &Ident, names: &Idents) -> TokenStream {
    match argument {
        Argument::Receiver | Argument::State(_) => quote!(&*#found),
        Argument::Lent(ty) => {
            let run = local("run");
            lending(ty, LEND, &quote!(&#found, #run), names)
        }
        Argument::OptionalState(_) => {
            let private = &names.private;
            quote!(#private::as_deref(&#found))
        }
        Argument::Payload(_) => local("payload").to_token_stream(),
        Argument::Extracted(ty) => {
            let ty = named(ty, names);
            let run = local("run");
            let arguments = quote!(&#found, #run);
            FacadeCall { function: "extract", generic: Some(&ty), arguments }.seen_at(&ty, names)
        }
    }
}

/// The method of `Lending` that gives the argument for a run.
const LEND: &str = "__scheduler_lend";

/// A call of a method of `Lending`; the type `Run` has methods of its own.
fn lending(ty: &Type, method: &str, arguments: &TokenStream, names: &Idents) -> TokenStream {
    let span = ty.span();
    let method = Ident::new(method, span);
    let here = Ident::new(&names.private.to_string(), span);
    let ty = named(ty, names);
    let call = quote_spanned!(span=> #here::Lending::<#ty>::NEW.#method(#arguments));
    // Where the macro stands: lints are silent there, and one of the two types leaves this unused.
    let private = &names.private;
    quote!({ use #private::LendState as _; #call })
}

/// Calls a plain function.
fn sync_call(task: &Task<'_>, names: &Idents, run: &TokenStream, found: &[Ident]) -> TokenStream {
    let private = &names.private;
    let path = path(task);
    let arguments = task.arguments.iter().zip(found);
    let arguments = arguments.map(|(each, found)| argument(each, found, names));
    let settle = settle(&quote!((#path)(#(#arguments),*)), task, names);
    let decoded = decoded(task, names, &quote!(#private::Err));
    quote!(#private::sync_call(move |#run| { #decoded #settle }))
}

/// Begins the future of an async function. Its borrowed arguments go into the future, which is checked at
/// the function's name.
fn async_call(task: &Task<'_>, names: &Idents, run: &TokenStream, found: &[Ident]) -> TokenStream {
    let private = &names.private;
    let path = path(task);
    let ident_span = task.function.sig.ident.span();
    let arguments = task.arguments.iter().zip(found).map(|(each, found)| match each {
        Argument::Extracted(_) => {
            let extracted = argument(each, found, names);
            quote!(let #found = #extracted;)
        }
        Argument::Lent(_) => {
            quote!(let #found = (#private::share(&#found), #private::share(#run));)
        }
        Argument::Payload(_) => TokenStream::new(),
        _ => quote!(let #found = #private::share(&#found);),
    });
    let passed = task.arguments.iter().zip(found).map(|(each, found)| match each {
        Argument::Extracted(_) => quote!(#found),
        Argument::Lent(ty) => lending(ty, LEND, &quote!(&#found.0, &#found.1), names),
        _ => argument(each, found, names),
    });
    let settle = settle(&quote!((#path)(#(#passed),*).await), task, names);
    let mut body = Group::new(Delimiter::Brace, settle);
    body.set_span(ident_span);
    let future = quote_spanned!(ident_span=> async move #body);
    let ident = task.function.sig.ident.to_token_stream();
    let begin = FacadeCall { function: "box_future", generic: None, arguments: future };
    let begin = begin.seen_at(&ident, names);
    let decoded = decoded(task, names, &quote!(#private::failed));
    quote! {
        #private::async_call(move |#run| {
            #decoded
            #(#arguments)*
            #begin
        })
    }
}

/// Decodes the payload, if there is one, before anything is called.
fn decoded(task: &Task<'_>, names: &Idents, failed: &TokenStream) -> Option<TokenStream> {
    let ty = task.arguments.iter().find_map(|argument| match argument {
        Argument::Payload(ty) => Some(ty),
        _ => None,
    })?;
    let private = &names.private;
    let (payload, error) = (local("payload"), local("error"));
    let decode = job::decode(task, ty, names, ("payload", &local("run")));
    Some(quote! {
        let #payload = match #decode {
            #private::Ok(#payload) => #payload,
            #private::Err(#error) => return #failed(#error),
        };
    })
}

/// Converts what the function returned, with errors at its return type.
fn settle(returned: &TokenStream, task: &Task<'_>, names: &Idents) -> TokenStream {
    let ty = match &task.function.sig.output {
        ReturnType::Default => TokenStream::new(),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    };
    FacadeCall { function: "into_task_result", generic: None, arguments: quote!(#returned, |_| {}) }
        .seen_at(&ty, names)
}

/// The type of an argument, outside of the `impl` block.
fn named(ty: &Type, names: &Idents) -> TokenStream {
    without_self(ty.to_token_stream(), &names.own_type)
}
