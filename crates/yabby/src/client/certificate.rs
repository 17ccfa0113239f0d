//! What a gateway is known by that nobody else vouches for.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use sha2::{Digest as _, Sha256};
use tokio_tungstenite::Connector;
use yabby_domain::config::Config;
use yabby_domain::session::path::user_path;
use yabby_domain::text;

use crate::commands::gateway::listen;
use crate::setting::Setting;

/// What a gateway shows that it is the one that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The certificate in this file.
    By(PathBuf),
    /// A certificate with this fingerprint, as the configuration has it.
    ByFingerprint(String),
}

impl Known {
    /// What the gateway on this machine shows, if it encrypts: the certificate that is named, or its own.
    pub(super) fn here(setting: &Setting, config: &Config) -> Option<Self> {
        let place = &setting.place;
        let named = config.gateway.tls.cert_path.as_deref().and_then(text::non_blank);
        let path = match named {
            Some(path) => place.with_folders(|folders| user_path(path, folders.home, folders.current)).into(),
            None => place.folder.path().join("gateway/tls/gateway-cert.pem"),
        };
        listen::is_encrypted(config).then_some(Self::By(path))
    }

    /// What the gateway elsewhere shows, if the configuration says so.
    pub(super) fn elsewhere(config: &Config) -> Option<Self> {
        let written = config.gateway.remote.tls_fingerprint.as_deref().and_then(text::non_blank);
        written.map(|written| Self::ByFingerprint(written.to_owned()))
    }

    /// Trusts nobody else, whatever name the certificate is for: our own gateway is asked by an address. `None` if a
    /// certificate cannot be read, and then whoever the system trusts.
    pub(super) fn connector(&self) -> Option<Connector> {
        let shown = match self {
            // The first one of a chain is the gateway's own.
            Self::By(file) => Shown::This(CertificateDer::pem_file_iter(file).ok()?.next()?.ok()?),
            Self::ByFingerprint(written) => Shown::WithFingerprint(digits(written)),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let pinned = Pinned { shown, provider: provider.clone() };
        let builder =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.ok()?.dangerous().with_custom_certificate_verifier(Arc::new(pinned));
        Some(Connector::Rustls(Arc::new(builder.with_no_client_auth())))
    }
}

/// The digits of a fingerprint: `SHA256:AB:CD…` is `abcd…`.
fn digits(written: &str) -> String {
    let written = written.trim().to_ascii_lowercase();
    let digits =
        ["sha256:", "sha-256:"].iter().find_map(|name| written.strip_prefix(name)).unwrap_or(&written);
    digits.chars().filter(char::is_ascii_hexdigit).collect()
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    Sha256::digest(certificate).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One certificate. Whoever shows it has to prove that they have its key.
#[derive(Debug)]
struct Pinned {
    shown: Shown,
    provider: Arc<CryptoProvider>,
}

#[derive(Debug)]
enum Shown {
    This(CertificateDer<'static>),
    WithFingerprint(String),
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
        match &self.shown {
            Shown::This(known) if shown == known => Ok(ServerCertVerified::assertion()),
            Shown::WithFingerprint(known) if fingerprint(shown) == *known => {
                Ok(ServerCertVerified::assertion())
            }
            Shown::This(_) => Err(rustls::CertificateError::UnknownIssuer.into()),
            Shown::WithFingerprint(_) => Err(rustls::Error::General(format!(
                "gateway tls fingerprint mismatch: it shows {}",
                fingerprint(shown)
            ))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_may_be_written_in_many_ways() {
        for written in ["ab01", "AB:01", "sha256:AB:01", " SHA-256: ab 01 "] {
            assert_eq!(digits(written), "ab01", "{written}");
        }
    }
}
