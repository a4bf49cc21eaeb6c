//! Checks the annotated function with its arguments, and `impl` blocks.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{
    FnArg, GenericParam, Meta, Path, Receiver, ReturnType, Signature, Token, Type, TypeImplTrait,
    TypeParamBound,
};

use super::form::{self, Argument, bare};
use super::job;
use crate::args::{Args, Form, Key};
use crate::diagnostic::Faults;
use crate::item::{self, Function, ImplBlock};

/// Checks that the scheduler can call the function. Returns where its arguments come from.
pub(crate) fn function(
    function: &Function,
    form: Form,
    owner: Option<&Owner>,
    faults: &mut Faults,
) -> Option<Vec<Argument>> {
    let sig = &function.sig;
    if !function.has_body() {
        let message = format!(
            "`#[{}]` goes on a function with a body, \
             not on a declaration in a trait or an `extern` block",
            form.name()
        );
        faults.push(&sig.ident, message);
        return None;
    }
    let mut found = Faults::default();
    check_qualifiers(sig, &mut found);
    check_generics(sig, &mut found);
    let arguments = check_arguments(&sig.inputs, form, owner, &mut found);
    check_return(sig, &mut found);
    let is_callable = found.is_empty();
    faults.append(found);
    is_callable.then_some(arguments)
}

fn check_qualifiers(sig: &Signature, faults: &mut Faults) {
    if let Some(word) = &sig.constness {
        let message = "a scheduled function cannot be `const`, \
                       because it is called only while the program runs; remove `const`";
        faults.push(word, message);
    }
    if let Some(word) = &sig.unsafety {
        let message = "a scheduled function cannot be `unsafe`, \
                       because the scheduler cannot uphold its contract\n\
                       remove `unsafe`, and write an `unsafe` block in the body";
        faults.push(word, message);
    }
    if let Some(abi) = &sig.abi {
        let message = "a scheduled function cannot be `extern`, \
                       because the scheduler calls it from Rust; remove the `extern`";
        faults.push(abi, message);
    }
}

fn check_generics(sig: &Signature, faults: &mut Faults) {
    let params = &sig.generics.params;
    if params.is_empty() {
        return;
    }
    let message = if params.iter().all(|param| matches!(param, GenericParam::Lifetime(_))) {
        "a scheduled function has no lifetime parameters, because its arguments are lent for one \
         run\nremove them, and write `&T`"
            .to_owned()
    } else {
        format!(
            "a scheduled function cannot be generic, \
             because nothing says for which types it is to run\n\
             schedule a function without parameters that calls `{}` with the right types",
            sig.ident
        )
    };
    faults.push(&sig.generics, message);
}

fn check_return(sig: &Signature, faults: &mut Faults) {
    let ReturnType::Type(_, ty) = &sig.output else {
        return;
    };
    match &**ty {
        Type::Never(never) => {
            let message = "a scheduled function has to return, or it would run only once\n\
                           return `()`, and leave the repetition to the scheduler";
            faults.push(never, message);
        }
        Type::ImplTrait(future) if is_future(future) => {
            let message = "a scheduled function has to be `async` to give a future\n\
                           write `async fn`, and return what the future gives";
            faults.push(future, message);
        }
        _ => {}
    }
}

fn is_future(ty: &TypeImplTrait) -> bool {
    ty.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            bound.path.segments.last().is_some_and(|word| word.ident == "Future")
        }
        _ => false,
    })
}

/// Reports something that is no function, and gives it back together with the report.
pub(crate) fn not_a_function(form: Form, item: &TokenStream) -> TokenStream {
    let other = item::name_of_other_item(item);
    let is_item = other.is_some();
    let (noun, place) = other.unwrap_or_else(|| ("an expression", item.clone()));
    let mut faults = Faults::default();
    let message = match form {
        Form::Schedule => {
            format!("`#[scheduled]` goes on a function or an `impl` block, not on {noun}")
        }
        Form::Job => format!("`#[job]` goes on a function, not on {noun}"),
    };
    faults.push(place, message);
    let report = faults.to_tokens();
    if is_item { quote!(#item #report) } else { quote!({ #report #item }) }
}

/// The most arguments of a function; one type can hold what belongs together.
const ARGUMENTS_MAX: usize = 12;

/// Checks the arguments of a function. Returns where each comes from.
fn check_arguments(
    inputs: &Punctuated<FnArg, Token![,]>,
    form: Form,
    owner: Option<&Owner>,
    faults: &mut Faults,
) -> Vec<Argument> {
    if let Some(extra) = inputs.iter().nth(ARGUMENTS_MAX) {
        let message = format!(
            "a scheduled function takes at most {ARGUMENTS_MAX} arguments; \
             put what belongs together into one type"
        );
        faults.push(extra, message);
    }
    let arguments = inputs.iter().filter_map(|input| match input {
        FnArg::Receiver(receiver) => check_receiver(receiver, form, owner, faults),
        FnArg::Typed(argument) => {
            for attr in argument.attrs.iter().filter(|attr| item::condition(&attr.meta).is_some()) {
                let message = "an argument of a scheduled function cannot be conditional\n\
                               write the function twice, each under a condition of its own";
                faults.push(attr, message);
            }
            if let Some(mark) = job::payload_mark(&argument.attrs) {
                return job::payload(mark, &argument.ty, form, faults);
            }
            let found = form::classify(&argument.ty);
            found.map_err(|message| faults.push(&argument.ty, message)).ok()
        }
    });
    let arguments: Vec<Argument> = arguments.collect();
    job::check_one_payload(inputs, faults);
    arguments
}

fn check_receiver(
    receiver: &Receiver,
    form: Form,
    owner: Option<&Owner>,
    faults: &mut Faults,
) -> Option<Argument> {
    let Some(owner) = owner else {
        let what = if form == Form::Job { "runs jobs" } else { "is scheduled" };
        let message = format!(
            "a method {what} through its `impl` block, \
             because only there the type of `self` can be seen\n\
             put `#[scheduled]` on the `impl` block, too; \
             if a macro writes the method, let it write the block"
        );
        faults.push(receiver, message);
        return None;
    };
    if is_shared(receiver, owner) {
        return Some(Argument::Receiver);
    }
    let by_mut = receiver.reference.is_some() && receiver.mutability.is_some();
    let name = &owner.name;
    let message = if by_mut {
        "a scheduled method cannot take `&mut self`, because several tasks may use the value \
         at the same time\nwrite `&self`, and put what changes into a `Mutex` or an atomic"
            .to_owned()
    } else {
        format!(
            "a scheduled method takes `&self`: the `{name}` that is managed by the scheduler, \
             which all its runs share; write `&self`"
        )
    };
    faults.push(receiver, message);
    None
}

/// Returns true if this is `&self`, or a longer form of it.
fn is_shared(receiver: &Receiver, owner: &Owner) -> bool {
    let Type::Reference(reference) = bare(&receiver.ty) else { return false };
    let is_own = match bare(&reference.elem) {
        Type::Path(path) if path.path.is_ident("Self") => true,
        ty => quote!(#ty).to_string() == owner.ty.to_token_stream().to_string(),
    };
    let is_kept = reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident != "_");
    is_own && !is_kept && reference.mutability.is_none()
}

/// The type whose methods are scheduled.
pub(crate) struct Owner {
    pub(crate) ty: Type,
    /// The last segment of its path.
    pub(crate) name: String,
    /// The lints that the attributes of the block allow, as the inside of `#[…]`.
    pub(crate) allowances: Vec<Meta>,
    /// The value of `crate = …` on the block.
    pub(super) facade: Option<Path>,
}

/// Checks a block and its options; `None` if its methods cannot be scheduled.
pub(crate) fn block(args: &Args, block: &ImplBlock, faults: &mut Faults) -> Option<Owner> {
    check_options(args, faults);
    let head = &block.head;
    if let Some((bang, path, _)) = &head.trait_ {
        let shown = path.segments.last().map(|word| word.ident.to_string()).unwrap_or_default();
        let message = format!(
            "`#[scheduled]` goes on an `impl` block of the type itself, not of a trait, \
             because a task is a method of one type\n\
             write an `impl` block without `{shown} for`, \
             with a scheduled method that calls the trait's"
        );
        let place = bang.to_token_stream().into_iter().chain(path.to_token_stream());
        faults.push(place.collect::<proc_macro2::TokenStream>(), message);
        return None;
    }
    if !head.generics.params.is_empty() {
        let message = "an `impl` block with scheduled methods cannot be generic, \
                       because nothing says for which types they are to run\n\
                       write a block for one type, such as `impl Reports<Database>`";
        faults.push(&head.generics, message);
        return None;
    }
    let Some(name) = name_of(&head.self_ty) else {
        let message = "scheduled methods belong to a type with a name; \
                       write `impl` and the name of a type";
        faults.push(&head.self_ty, message);
        return None;
    };
    let (ty, allowances) = ((*head.self_ty).clone(), item::allowances(block.attrs()));
    Some(Owner { ty, name, allowances, facade: super::facade(args) })
}

/// The options between the parentheses on the block.
fn check_options(args: &Args, faults: &mut Faults) {
    for option in args.iter().filter(|option| option.key != Key::Crate) {
        let message = format!(
            "`{0}` goes on a method of this block, which takes no option but `crate`\n\
             write `#[scheduled({0} …)]` on the method, and `#[scheduled]` here",
            option.key.name()
        );
        faults.push(&option.word, message);
    }
}

fn name_of(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|word| word.ident.unraw().to_string()),
        Type::Paren(inner) => name_of(&inner.elem),
        Type::Group(inner) => name_of(&inner.elem),
        _ => None,
    }
}

/// Reports a block in which nothing is annotated.
pub(crate) fn nothing_annotated(block: &ImplBlock, faults: &mut Faults) {
    let message = "no method of this `impl` block is scheduled\n\
                   write `#[scheduled(…)]` or `#[job(…)]`, by this name, on those that are to be, \
                   such as `#[scheduled(fixed_rate = \"5s\")]`";
    faults.push(&block.head.self_ty, message);
}
