//! The partition of a job: a text here and in the store.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use scheduler_store::{JobId, Uuid};

/// A value that can say to which partition a job belongs: a text, a whole number, a [`Uuid`](crate::store::Uuid), or a tuple of
/// them.
///
/// A number is written in digits, and a tuple with `/` between its parts. A `/` or a `\` in a part has a `\` before it, so that two
/// tuples never have the same text.
///
/// ```
/// use scheduler::store::Partition;
///
/// struct Tenant(u64);
///
/// impl Partition for Tenant {
///     fn to_text(&self) -> std::borrow::Cow<'_, str> {
///         format!("tenant-{}", self.0).into()
///     }
/// }
///
/// assert_eq!((Tenant(17), "eu").to_text(), "tenant-17/eu");
/// assert_eq!(("a/b", "c").to_text(), r"a\/b/c");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the partition of a job",
    label = "neither a text nor a whole number",
    note = "a partition is a text, a whole number, a `Uuid` or a tuple of them: write such a field of the payload, or \
            `format!(…)`",
    note = "a type of yours can implement `scheduler::store::Partition`"
)]
pub trait Partition {
    /// The text that the store keeps; the same for the same partition.
    fn to_text(&self) -> Cow<'_, str>;
}

impl Partition for str {
    fn to_text(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

/// Those of another type.
macro_rules! as_inner {
    ($($outer:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Partition + ?Sized> Partition for $outer {
            fn to_text(&self) -> Cow<'_, str> {
                (**self).to_text()
            }
        }
    )*};
}

as_inner!(&T, Box<T>, Rc<T>, Arc<T>);

macro_rules! texts {
    ($($ty:ty),*) => {$(
        impl Partition for $ty {
            fn to_text(&self) -> Cow<'_, str> {
                Cow::Borrowed(self)
            }
        }
    )*};
}

texts!(String, Cow<'_, str>);

macro_rules! displayed {
    ($($ty:ty),*) => {$(
        impl Partition for $ty {
            fn to_text(&self) -> Cow<'_, str> {
                Cow::Owned(self.to_string())
            }
        }
    )*};
}

displayed!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, Uuid, JobId);

macro_rules! tuples {
    ($(($($part:ident $index:tt),*))*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($part: Partition),*> Partition for ($($part,)*) {
            fn to_text(&self) -> Cow<'_, str> {
                Cow::Owned([$(escaped(&self.$index.to_text())),*].join("/"))
            }
        }
    )*};
}

tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

/// A part of a tuple, whose `/` is none between two parts.
fn escaped(part: &str) -> String {
    part.replace('\\', r"\\").replace('/', r"\/")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn tuples_of_different_parts_have_different_texts() {
        let parts = ["", "a", "/", "\\", "\\/", "/\\", "a/", "//", "\\\\"];
        let pairs = parts.iter().flat_map(|one| parts.iter().map(move |other| (*one, *other)));
        let texts: BTreeSet<String> = pairs.map(|pair| pair.to_text().into_owned()).collect();
        assert_eq!(texts.len(), parts.len() * parts.len());
        let nested: BTreeSet<String> = parts
            .iter()
            .flat_map(|one| {
                [
                    (("x", *one), "y").to_text().into_owned(),
                    ("x", (*one, "y")).to_text().into_owned(),
                ]
            })
            .collect();
        assert_eq!(nested.len(), 2 * parts.len());
    }

    #[test]
    fn a_text_or_a_number_is_written_as_it_is() {
        assert_eq!("a/b\\".to_text(), "a/b\\");
        assert_eq!((&Box::new(String::from("eu")), -5_i64).to_text(), "eu/-5");
        assert_eq!(Uuid::nil().to_text(), "00000000-0000-0000-0000-000000000000");
    }
}
