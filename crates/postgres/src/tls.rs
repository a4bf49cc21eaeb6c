//! Encrypted connections, and the authorities that they trust.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::builder::Authorities;
use crate::error::ConnectError;

/// The encryption of connections. A certificate and its name are always checked.
pub(crate) struct Tls {
    connector: MakeRustlsConnect,
    /// Why no authority is trusted, if none is. A server that needs no encryption can be connected all the same.
    distrust: Option<String>,
}

impl Tls {
    pub(crate) fn new(authorities: &Authorities) -> Result<Self, ConnectError> {
        let (found, faults) = match authorities {
            Authorities::File(file) => (in_file(file)?, Vec::new()),
            Authorities::System => {
                let found = rustls_native_certs::load_native_certs();
                (found.certs, found.errors.iter().map(ToString::to_string).collect())
            }
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found);
        let distrust = roots.is_empty().then(|| distrust(authorities, &faults));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ConnectError::Encryption(format!("no encryption: {error}")))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Self { connector: MakeRustlsConnect::new(config), distrust })
    }

    pub(crate) fn connector(&self) -> MakeRustlsConnect {
        self.connector.clone()
    }

    /// Tells a connection that could not be encrypted from a server that does not answer.
    pub(crate) fn explain(&self, error: ConnectError) -> ConnectError {
        let ConnectError::Unavailable(text) = error else { return error };
        if !text.contains("TLS handshake") {
            return ConnectError::Unavailable(text);
        }
        let why = match &self.distrust {
            Some(distrust) => format!("\n{distrust}"),
            None if text.contains("invalid peer certificate") => {
                "\nhelp: name the server as its certificate does, and its authority by `sslrootcert=FILE` in the address"
                    .to_owned()
            }
            None => String::new(),
        };
        ConnectError::Encryption(format!("the connection to PostgreSQL: {text}{why}"))
    }
}

fn in_file(file: &Path) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let fault = |why: String| ConnectError::Encryption(format!("`sslrootcert`: {why}"));
    match read {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(fault(format!("no certificate in {}", file.display()))),
        Err(error) => Err(fault(format!("{}: {error}", file.display()))),
    }
}

/// Why no authority is trusted, and what to do about it.
fn distrust(authorities: &Authorities, faults: &[String]) -> String {
    if let Authorities::File(file) = authorities {
        return format!("note: no certificate in {} is one of an authority", file.display());
    }
    let faults = match faults {
        [] => String::new(),
        faults => format!(": {}", faults.join("; ")),
    };
    format!(
        "note: no certificate of an authority was found on this system{faults}\n\
         help: install the package `ca-certificates`, or write `sslrootcert=FILE` in the address"
    )
}
