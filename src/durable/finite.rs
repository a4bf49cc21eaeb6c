//! The search for numbers that JSON cannot keep.

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

/// Fails if the value has a NaN or an infinity: JSON has neither, and `serde_json` writes `null`.
pub(super) fn check_finite<T: Serialize>(value: &T) -> Result<(), Error> {
    value.serialize(Finite)
}

/// Writes nothing.
#[derive(Clone, Copy)]
struct Finite;

impl Finite {
    fn float(number: f64) -> Result<(), Error> {
        match number.is_finite() {
            true => Ok(()),
            false => Err(Error::custom(format!("JSON has no {number}"))),
        }
    }
}

macro_rules! fine {
    ($($method:ident($($kind:ty),*))*) => {
        $(fn $method(self, $(_: $kind),*) -> Result<(), Error> {
            Ok(())
        })*
    };
}

macro_rules! compound {
    ($($method:ident($($kind:ty),*))*) => {
        $(fn $method(self, $(_: $kind),*) -> Result<Self, Error> {
            Ok(self)
        })*
    };
}

type Name = &'static str;

impl Serializer for Finite {
    type Ok = ();
    type Error = Error;
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

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        Self::float(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        Self::float(number)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: Name,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: Name,
        _: u32,
        _: Name,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }
}

/// Each part is looked at; a text before it is its name.
macro_rules! parts {
    ($($compound:ident: $($method:ident($($name:ty)?)),*;)*) => {
        $(impl $compound for Finite {
            type Ok = ();
            type Error = Error;

            $(fn $method<T: Serialize + ?Sized>(
                &mut self,
                $(_: $name,)?
                value: &T,
            ) -> Result<(), Error> {
                value.serialize(*self)
            })*

            fn end(self) -> Result<(), Error> {
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
