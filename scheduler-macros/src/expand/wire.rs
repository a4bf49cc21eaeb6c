//! The function that looks up the arguments, and gives something that calls the user's function.
//!
//! Every argument is looked up before the first missing one ends it, so that all of them are noted.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{ReturnType, Type};

use super::{Names, Task};
use crate::check::Argument;

/// Generates the wire function of an entry.
pub(super) fn wire(task: &Task<'_>, names: &Names) -> TokenStream {
    let private = &names.private;
    let wiring = local("wiring");
    let run = local("run");
    let found: Vec<Ident> = (0..task.arguments.len()).map(|n| local(&format!("a{n}"))).collect();
    let sources: Vec<TokenStream> =
        task.arguments.iter().map(|argument| source(argument, task, names)).collect();
    let call = if task.function.sig.asyncness.is_some() {
        async_call(task, names, &run, &found)
    } else {
        sync_call(task, names, &run, &found)
    };
    if found.is_empty() {
        return quote!(|_| #call);
    }
    quote! {
        |#wiring| {
            #(let #found = #sources(#wiring);)*
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

/// The function that looks up what an argument is made of. Rustc reports a type that does not do
/// where it stands in the signature.
fn source(argument: &Argument, task: &Task<'_>, names: &Names) -> TokenStream {
    let private = &names.private;
    match argument {
        Argument::Receiver => {
            let ty = task.owner.map(|owner| &owner.ty);
            quote!(#private::receiver::<#ty>)
        }
        Argument::State(ty) => {
            let ty = named(ty, names);
            quote!(#private::state::<#ty>)
        }
        Argument::OptionalState(ty) => {
            let ty = named(ty, names);
            quote!(#private::optional_state::<#ty>)
        }
        Argument::Extracted(ty) => {
            let ty = named(ty, names);
            quote!(#private::resolve::<#ty>)
        }
    }
}

/// The argument of one run, made of what was looked up.
fn argument(argument: &Argument, found: &Ident, names: &Names) -> TokenStream {
    let private = &names.private;
    match argument {
        Argument::Receiver | Argument::State(_) => quote!(&*#found),
        Argument::OptionalState(_) => quote!(#found.as_deref()),
        Argument::Extracted(ty) => {
            let ty = named(ty, names);
            let run = local("run");
            quote!(#private::extract::<#ty>(&#found, #run))
        }
    }
}

/// Calls a plain function.
fn sync_call(task: &Task<'_>, names: &Names, run: &Ident, found: &[Ident]) -> TokenStream {
    let private = &names.private;
    let path = super::path(task);
    let arguments = task.arguments.iter().zip(found);
    let arguments = arguments.map(|(each, found)| argument(each, found, names));
    let settle = settle(quote!(#path(#(#arguments),*)), task, names);
    quote!(#private::sync_call(move |#run| #settle))
}

/// Begins the future of an async function. What it borrows goes into the future, which is judged at
/// the function's name.
fn async_call(task: &Task<'_>, names: &Names, run: &Ident, found: &[Ident]) -> TokenStream {
    let private = &names.private;
    let path = super::path(task);
    let ident_span = task.function.sig.ident.span();
    let given = task.arguments.iter().zip(found).map(|(each, found)| match each {
        Argument::Extracted(_) => {
            let extracted = argument(each, found, names);
            quote!(let #found = #extracted;)
        }
        _ => quote!(let #found = #private::share(&#found);),
    });
    let passed = task.arguments.iter().zip(found).map(|(each, found)| match each {
        Argument::Extracted(_) => quote!(#found),
        _ => argument(each, found, names),
    });
    let settle = settle(quote!(#path(#(#passed),*).await), task, names);
    let mut body = Group::new(Delimiter::Brace, settle);
    body.set_span(ident_span);
    let future = quote_spanned!(ident_span=> async move #body);
    quote! {
        #private::async_call(move |#run| {
            #(#given)*
            #private::begin(#future)
        })
    }
}

/// Judges what the function returned, at its return type.
fn settle(returned: TokenStream, task: &Task<'_>, names: &Names) -> TokenStream {
    let private = &names.private;
    let output = &task.function.sig.output;
    let value = local("value");
    let how = quote! {
        |#value| {
            use #private::{FromAny as _, FromError as _, FromPointer as _, FromReturn as _};
            (&&&&#private::Returns::of(&#value)).settle(#value)
        }
    };
    let function = place(quote!(#private::settle), output);
    quote!(#function(#returned, #how))
}

/// Moves the tokens to where the return type stands, from its first token to its last.
///
/// Rustc reports an unfulfilled bound at the path of the function that has it, and a path reaches
/// from its first token to its last.
fn place(path: TokenStream, output: &ReturnType) -> TokenStream {
    let ReturnType::Type(_, ty) = output else {
        return path;
    };
    let mut spans = ty.to_token_stream().into_iter().map(|token| token.span());
    let Some(first) = spans.next() else {
        return path;
    };
    let last = spans.last().unwrap_or(first);
    let length = path.clone().into_iter().count();
    let placed = path.into_iter().enumerate().map(|(index, mut token)| {
        token.set_span(if index + 1 == length { last } else { first });
        token
    });
    placed.collect()
}

/// The type of an argument, outside of the `impl` block.
fn named(ty: &Type, names: &Names) -> TokenStream {
    without_self(ty.to_token_stream(), &names.own_type).0
}

/// A name for `Self`, if an argument of a method mentions it.
pub(super) fn own_type(task: &Task<'_>, names: &Names) -> Option<TokenStream> {
    let owner = task.owner?;
    let own_type = &names.own_type;
    let mentions = |argument: &Argument| match argument {
        Argument::Receiver => false,
        Argument::State(ty) | Argument::OptionalState(ty) | Argument::Extracted(ty) => {
            without_self(ty.to_token_stream(), own_type).1
        }
    };
    let ty = &owner.ty;
    task.arguments.iter().any(mentions).then(|| quote!(type #own_type = #ty;))
}

/// Puts a name in place of `Self`, and says whether there was one.
fn without_self(tokens: TokenStream, name: &Ident) -> (TokenStream, bool) {
    let mut is_found = false;
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(word) if word == "Self" => {
            is_found = true;
            TokenTree::Ident(format_ident!("{name}", span = word.span()))
        }
        TokenTree::Group(group) => {
            let (inside, is_inside) = without_self(group.stream(), name);
            is_found |= is_inside;
            let mut replaced = Group::new(group.delimiter(), inside);
            replaced.set_span(group.span());
            TokenTree::Group(replaced)
        }
        other => other,
    });
    let replaced = replaced.collect();
    (replaced, is_found)
}
