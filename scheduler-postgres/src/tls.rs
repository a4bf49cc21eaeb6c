//! Encrypted connections, with the certificates that the system trusts.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use scheduler_store::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::fault::unavailable;

/// What encrypts a connection. A certificate is always checked.
pub(crate) fn connector() -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unavailable(&format!("no encryption: {error}")))?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
