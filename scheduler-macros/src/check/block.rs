//! Checks an `impl` block with annotated methods.

use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Meta, Path, Type};

use crate::args::{Args, Key};
use crate::diagnostic::Faults;
use crate::item::{self, Block};

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
pub(crate) fn block(args: &Args, block: &Block, faults: &mut Faults) -> Option<Owner> {
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
pub(crate) fn nothing_annotated(block: &Block, faults: &mut Faults) {
    let message = "no method of this `impl` block is scheduled\n\
                   write `#[scheduled(…)]` or `#[job(…)]`, by this name, on those that are to be, \
                   such as `#[scheduled(fixed_rate = \"5s\")]`";
    faults.push(&block.head.self_ty, message);
}
