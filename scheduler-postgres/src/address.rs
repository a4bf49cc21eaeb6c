//! The address of a server, with what the client library does not read of it.

use std::path::PathBuf;

use scheduler_store::StoreError;
use tokio_postgres::Config;

use crate::fault::{unavailable, with_causes};

/// Reads an address, a URL or words `name=value`. Beside the options that `tokio-postgres` knows it may have those of
/// `libpq` that say what is checked: `sslmode=verify-ca` and `sslmode=verify-full` are `require`, because a certificate and its
/// name are always checked; and `sslrootcert` is a file with the authorities that are trusted.
pub(crate) fn read(address: &str) -> Result<(Config, Option<PathBuf>), StoreError> {
    let is_url = address.starts_with("postgres://") || address.starts_with("postgresql://");
    let (server, options) = match address.split_once('?') {
        Some((server, options)) if is_url => (server, options),
        _ if is_url => (address, ""),
        _ => ("", address),
    };
    let (mut kept, mut authorities) = (Vec::new(), None);
    for option in options.split(if is_url { '&' } else { ' ' }) {
        match option.split_once('=') {
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            Some(("sslrootcert", path)) => authorities = Some(PathBuf::from(path)),
            _ => kept.push(option),
        }
    }
    let kept = kept.join(if is_url { "&" } else { " " });
    let address = match server {
        "" => kept,
        server if kept.is_empty() => server.to_owned(),
        server => format!("{server}?{kept}"),
    };
    // The text of the error does not have the address, in which a password may be.
    let config = address.parse::<Config>();
    let config =
        config.map_err(|error| unavailable(&format!("the address: {}", with_causes(&error))))?;
    Ok((config, authorities))
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::SslMode;

    use super::*;

    #[test]
    fn what_is_checked_is_read_from_urls_and_words() {
        let url =
            "postgres://shop@db/shop?sslmode=verify-full&connect_timeout=3&sslrootcert=/etc/ca.pem";
        let words = "host=db user=shop sslmode=verify-ca dbname=shop connect_timeout=3 sslrootcert=/etc/ca.pem";
        for address in [url, words] {
            let (config, authorities) = read(address).expect("an address");
            assert_eq!(config.get_ssl_mode(), SslMode::Require);
            assert_eq!((config.get_user(), config.get_dbname()), (Some("shop"), Some("shop")));
            assert_eq!(config.get_connect_timeout().map(|it| it.as_secs()), Some(3));
            assert_eq!(authorities, Some(PathBuf::from("/etc/ca.pem")));
        }
        let (plain, authorities) = read("postgres://shop@db/shop").expect("an address");
        assert_eq!((plain.get_ssl_mode(), authorities), (SslMode::Prefer, None));
    }

    #[test]
    fn an_address_that_is_none_is_refused_without_its_password() {
        let error = read("postgres://shop:secret@db/shop?sslmode=maybe").expect_err("no address");
        assert!(error.to_string().contains("sslmode") && !error.to_string().contains("secret"));
    }
}
