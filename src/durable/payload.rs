//! The argument of a job: a value here, JSON in the store.

use std::any::Any;
use std::error::Error;
use std::fmt::Display;

use scheduler_store::DecodeError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::finite::check_finite;
use crate::observe::catch;
use crate::run::{JobErrorKind, Run, TaskError, UNDECODABLE_LIMIT};

/// A value that can be the payload of a job. There is nothing to implement but `serde`'s traits.
///
/// ```
/// use scheduler::Payload;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Invoice {
///     number: u32,
/// }
///
/// fn is_payload<T: Payload>(_: &T) {}
/// is_payload(&Invoice { number: 17 });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the payload of a job",
    label = "not a payload",
    note = "a store keeps payloads as JSON: write `#[derive(serde::Serialize, serde::Deserialize)]` on `{Self}`",
    note = "a payload owns what it has, and can be sent to other threads: \
            `Serialize + DeserializeOwned + Send + 'static`"
)]
pub trait Payload: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Payload for T {}

/// Makes a payload of the value of an older version.
pub(crate) type Upgrade<T> = fn(Value) -> Result<T, String>;

/// The bytes that a store keeps, or why there are none.
pub(super) fn encoded<T: Payload>(payload: &T) -> Result<Vec<u8>, String> {
    let bytes = serde_json::to_vec(payload)
        .map_err(|error| format!("its payload cannot be encoded: {error}"))?;
    // A NaN would come back as another value, or not at all.
    if bytes.windows(4).any(|word| word == b"null") {
        check_finite(payload).map_err(|error| format!("its payload cannot be encoded: {error}"))?;
    }
    Ok(bytes)
}

/// The payload of a run, whose type has this version.
pub(crate) fn decoded<T: Payload>(
    run: &Run,
    version: u32,
    upgrade: Option<Upgrade<T>>,
) -> Result<T, TaskError> {
    let Some(claimed) = run.claimed() else {
        let why = "it was not called as a job, and so has no payload";
        return Err(TaskError::from_display(why));
    };
    let stored = &claimed.job().payload;
    // The program's code: it may panic.
    let decoded = catch(|| match upgrade {
        // The change is not known here, also if the bytes could be read.
        _ if stored.version > version => Err("a newer build has written it".to_owned()),
        Some(upgrade) if stored.version < version => upgraded(&stored.bytes, upgrade),
        _ => parsed(&stored.bytes).map_err(|error| error.to_string()),
    });
    let why = match decoded {
        Ok(Ok(payload)) => return Ok(payload),
        Ok(Err(why)) => why,
        Err(failure) => format!("it panicked: {}", failure.message()),
    };
    let which = match stored.version {
        current if current == version => String::new(),
        other => format!(" of version {other} as version {version}"),
    };
    let cure = cure(stored.version, version, upgrade.is_some());
    let (time, limit) = (claimed.job().undecoded + 1, UNDECODABLE_LIMIT);
    let error = TaskError::from_display(&format!(
        "its payload cannot be decoded{which}: {why}; this is time {time} of {limit}, a minute apart, \
         and then it is parked; help: {cure}"
    ));
    Err(error.of_kind(JobErrorKind::Undecodable))
}

fn cure(stored: u32, current: u32, has_upgrade: bool) -> String {
    match (stored, current) {
        (stored, current) if stored > current => {
            format!("deploy the build with version {stored} of the payload everywhere")
        }
        (stored, current) if stored == current => format!(
            "a type that has changed needs `version = {}` and `upgrade = …` in `#[job]`",
            current.saturating_add(1)
        ),
        _ if has_upgrade => "mend the function of `upgrade = …` in `#[job]`".to_owned(),
        _ => format!("`upgrade = …` in `#[job]` makes version {current} of version {stored}"),
    }
}

fn upgraded<T>(bytes: &[u8], upgrade: Upgrade<T>) -> Result<T, String> {
    upgrade(parsed(bytes).map_err(|error| error.to_string())?)
}

/// Reads JSON. No part of it stands in the error.
fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(bytes).map_err(|error| DecodeError::of::<T>(&error))
}

/// The text of the program's error, for generated code. One of `serde_json` has parts of the payload, and gets another text.
pub(crate) fn stringify_error<T, E: Display + 'static>(
    upgraded: Result<T, E>,
) -> Result<T, String> {
    upgraded.map_err(|error| {
        let any: &dyn Any = &error;
        let boxed = any.downcast_ref::<Box<dyn Error>>();
        let sent = any.downcast_ref::<Box<dyn Error + Send + Sync>>();
        let inner = boxed.map(|error| error.downcast_ref());
        let inner = inner.or_else(|| sent.map(|error| error.downcast_ref())).flatten();
        match any.downcast_ref().or(inner) {
            Some(error) => DecodeError::of::<T>(error).to_string(),
            None => error.to_string(),
        }
    })
}
