//! Encrypted connections, with the authorities that the system trusts, or those of a file.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use scheduler_store::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::fault::unavailable;

/// What encrypts a connection. A certificate and its name are always checked.
pub(crate) fn connector(file: Option<&Path>) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => roots.add_parsable_certificates(authorities(file)?),
        None => roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unavailable(&format!("no encryption: {error}")))?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn authorities(file: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(unavailable(&format!("`sslrootcert`: no certificate in {}", file.display()))),
        Err(error) => Err(unavailable(&format!("`sslrootcert`: {}: {error}", file.display()))),
    }
}

/// Adds a remedy to the error of a certificate.
pub(crate) fn explain(error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(text) if text.contains("invalid peer certificate") => {
            unavailable(&format!(
                "{text}\nhelp: name the server as its certificate does, and its authority by `sslrootcert=FILE` in the address"
            ))
        }
        error => error,
    }
}
