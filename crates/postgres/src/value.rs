//! Values of the contract as PostgreSQL has them.

use std::error::Error;

use scheduler_store::StoreTime;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// From 1970 to 2000, where PostgreSQL begins to count, in microseconds.
const EPOCH: i64 = 946_684_800_000_000;

/// The parameters of a statement.
pub(crate) type Params<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// An instant as `timestamptz`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(pub(crate) StoreTime);

impl ToSql for At {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&(self.0.as_micros() - EPOCH).to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(type_: &Type) -> bool {
        *type_ == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for At {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(StoreTime::from_micros(micros.saturating_add(EPOCH))))
    }

    fn accepts(type_: &Type) -> bool {
        *type_ == Type::TIMESTAMPTZ
    }
}

/// A count as `bigint`, at most its greatest value.
pub(crate) fn long(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count from `bigint`: negative ones, which only other programs write, are zero.
pub(crate) fn count(long: i64) -> u64 {
    u64::try_from(long).unwrap_or(0)
}

/// As [`count`], in 32 bits.
pub(crate) fn small(long: i64) -> u32 {
    u32::try_from(count(long)).unwrap_or(u32::MAX)
}
