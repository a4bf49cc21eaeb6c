//! The async twins of the methods that ask the store.

/// Methods for async code, each with the body of its twin, which a helper's thread executes.
macro_rules! twins {
    ($($twin:ident = $name:ident($($arg:ident: $(&$lent:tt)? $($given:ident)?),*) -> $out:ty;)*) => {$(
        #[doc = concat!("[`Self::", stringify!($name), "`], for async code.")]
        ///
        /// # Errors
        ///
        /// As there.
        pub async fn $twin(&self, $($arg: $(&$lent)? $($given)?),*) -> Result<$out, JobsError> {
            $($(let $arg = <$lent>::to_owned($arg);)?)*
            let ask = move |asked: &Self| {
                asked.$name($($(std::borrow::Borrow::<$lent>::borrow(&$arg))? $({
                    let given: $given = $arg;
                    given
                })?),*)
            };
            self.ask_async(ask).await
        }
    )*};
}

pub(super) use twins;
