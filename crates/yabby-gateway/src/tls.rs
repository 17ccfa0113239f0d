//! Encryption, where `gateway.tls` wants it: with the certificate that it names, or one of our own that is made once
//! and kept in the folder.

mod certificate;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;
use yabby_domain::config::Config;
use yabby_domain::session::path::user_path;
use yabby_domain::text;
use yabby_store::disk::LocalDisk;
use yabby_store::files::atomic;
use yabby_store::paths::Place;

use crate::auth::hex;
pub use certificate::self_signed;

/// Why there is no encryption.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read the certificate {}: {why}; name another in gateway.tls.certPath", .path.display())]
    Certificate { path: PathBuf, why: String },
    #[error("cannot read the key {}: {why}; name another in gateway.tls.keyPath", .path.display())]
    Key { path: PathBuf, why: String },
    #[error("the certificate {} and its key do not fit: {why}", .path.display())]
    Misfit { path: PathBuf, why: String },
    #[error("cannot make a certificate in {}: {why}", .path.display())]
    Making { path: PathBuf, why: String },
}

/// What encrypts; `None` if nothing is to be.
pub(crate) fn acceptor(config: &Config, place: &Place) -> Result<Option<TlsAcceptor>, TlsError> {
    if !config.gateway.tls.enabled() {
        return Ok(None);
    }
    let folder = place.folder.path().join("gateway").join("tls");
    let tls = &config.gateway.tls;
    let named = |written: &Option<String>, usual: &str| -> PathBuf {
        match written.as_deref().and_then(text::non_blank) {
            Some(path) => place.with_folders(|folders| user_path(path, folders.home, folders.current)).into(),
            None => folder.join(usual),
        }
    };
    let (certificate, key) =
        (named(&tls.cert_path, "gateway-cert.pem"), named(&tls.key_path, "gateway-key.pem"));
    let may_make = tls.auto_generate();
    if may_make && !certificate.exists() && !key.exists() {
        make(&certificate, &key)?;
    }
    let fault = |path: &Path, why: String| TlsError::Certificate { path: path.to_owned(), why };
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| fault(&certificate, error.to_string()))?;
    let secret = PrivateKeyDer::from_pem_file(&key)
        .map_err(|error| TlsError::Key { path: key.clone(), why: error.to_string() })?;
    if let Some(own) = chain.first() {
        let fingerprint = hex(&Sha256::digest(own));
        tracing::info!(%fingerprint, "connections are encrypted; others know this gateway by its fingerprint");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| TlsError::Misfit { path: certificate, why: error.to_string() })?;
    Ok(Some(TlsAcceptor::from(Arc::new(server))))
}

/// Makes a certificate that nobody but its owner vouches for.
fn make(certificate: &Path, key: &Path) -> Result<(), TlsError> {
    let fault = |why: String| TlsError::Making { path: certificate.to_owned(), why };
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    let made = self_signed(names).map_err(fault)?;
    for (file, text) in [(key, made.key), (certificate, made.certificate)] {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| fault(error.to_string()))?;
        }
        atomic::replace(&LocalDisk, file, text.as_bytes()).map_err(|error| fault(error.to_string()))?;
    }
    Ok(())
}
