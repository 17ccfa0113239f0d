//! The certificate of the gateway on this machine, which nobody else vouches for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio_tungstenite::Connector;
use yabby_domain::config::Config;
use yabby_domain::session::path::user_path;
use yabby_domain::text;

use crate::commands::gateway::listen;
use crate::setting::Setting;

/// The certificate of the gateway on this machine: the one that is named, or its own.
pub(super) fn of_gateway(setting: &Setting, config: &Config) -> Option<PathBuf> {
    let place = &setting.place;
    let named = config.text(&["gateway", "tls", "certPath"]).and_then(text::non_blank);
    let path = match named {
        Some(path) => place.with_folders(|folders| user_path(path, folders.home, folders.current)).into(),
        None => place.folder.path().join("gateway/tls/gateway-cert.pem"),
    };
    listen::is_encrypted(config).then_some(path)
}

/// Trusts this certificate and no other, whatever name it is for: our own gateway is asked by an address. `None` if it
/// cannot be read, and then whoever the system trusts.
pub(super) fn trusting(certificate: &Path) -> Option<Connector> {
    // The first one of a chain is the gateway's own.
    let certificate = CertificateDer::pem_file_iter(certificate).ok()?.next()?.ok()?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pinned = Pinned { certificate, provider: provider.clone() };
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.ok()?.dangerous().with_custom_certificate_verifier(Arc::new(pinned));
    Some(Connector::Rustls(Arc::new(builder.with_no_client_auth())))
}

/// One certificate, known byte for byte. Whoever shows it has to prove that they have its key.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match *shown == self.certificate {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(rustls::CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, shown, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, shown, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
