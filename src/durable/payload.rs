//! The argument of a job: a value here, JSON in the store.

use std::any::Any;
use std::error::Error;
use std::fmt::Display;

use scheduler_store::DecodeError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Value;

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
type Upgrade<T> = fn(Value) -> Result<T, String>;

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
    let why = match decode((stored.version, &stored.bytes), version, upgrade) {
        Ok(payload) => return Ok(payload),
        Err(why) => why,
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

/// The payload of a stored version as the type of this version, or why that is not possible.
pub(crate) fn decode<T: Payload>(
    (stored, bytes): (u32, &[u8]),
    version: u32,
    upgrade: Option<Upgrade<T>>,
) -> Result<T, String> {
    // The program's code: it may panic.
    let decoded = catch(|| match upgrade {
        // The change is not known here, also if the bytes could be read.
        _ if stored > version => Err("a newer build has written it".to_owned()),
        Some(upgrade) if stored < version => upgraded(bytes, upgrade),
        _ => parsed(bytes).map_err(|error| error.to_string()),
    });
    decoded.unwrap_or_else(|failure| Err(format!("it panicked: {}", failure.message())))
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

/// Fails if the value has a NaN or an infinity: JSON has neither, and `serde_json` writes `null`.
fn check_finite<T: Serialize>(value: &T) -> Result<(), serde_json::Error> {
    value.serialize(Finite)
}

/// Writes nothing.
#[derive(Clone, Copy)]
struct Finite;

impl Finite {
    fn float(number: f64) -> Result<(), serde_json::Error> {
        match number.is_finite() {
            true => Ok(()),
            false => Err(serde_json::Error::custom(format!("JSON has no {number}"))),
        }
    }
}

macro_rules! fine {
    ($($method:ident($($kind:ty),*))*) => {
        $(fn $method(self, $(_: $kind),*) -> Result<(), serde_json::Error> {
            Ok(())
        })*
    };
}

macro_rules! compound {
    ($($method:ident($($kind:ty),*))*) => {
        $(fn $method(self, $(_: $kind),*) -> Result<Self, serde_json::Error> {
            Ok(self)
        })*
    };
}

type Name = &'static str;

impl Serializer for Finite {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fine! {
        serialize_bool(bool) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
        serialize_none() serialize_unit() serialize_unit_struct(Name) serialize_unit_variant(Name, u32, Name)
    }
    compound! {
        serialize_seq(Option<usize>) serialize_tuple(usize) serialize_tuple_struct(Name, usize)
        serialize_tuple_variant(Name, u32, Name, usize) serialize_map(Option<usize>)
        serialize_struct(Name, usize) serialize_struct_variant(Name, u32, Name, usize)
    }

    fn serialize_f32(self, number: f32) -> Result<(), serde_json::Error> {
        Self::float(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), serde_json::Error> {
        Self::float(number)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: Name,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: Name,
        _: u32,
        _: Name,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }
}

/// Each part is looked at; a text before it is its name.
macro_rules! parts {
    ($($compound:ident: $($method:ident($($name:ty)?)),*;)*) => {
        $(impl $compound for Finite {
            type Ok = ();
            type Error = serde_json::Error;

            $(fn $method<T: Serialize + ?Sized>(
                &mut self,
                $(_: $name,)?
                value: &T,
            ) -> Result<(), serde_json::Error> {
                value.serialize(*self)
            })*

            fn end(self) -> Result<(), serde_json::Error> {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeMap: serialize_key(), serialize_value();
    SerializeStruct: serialize_field(Name);
    SerializeStructVariant: serialize_field(Name);
}
