//! A certificate that nobody but its owner vouches for, with a key of its own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, PublicKeyData, SerialNumber, SignatureAlgorithm, SigningKey};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};

/// A certificate and its key, as texts of files.
pub struct SelfSigned {
    pub certificate: String,
    pub key: String,
}

/// Makes a certificate for these names and addresses.
pub fn self_signed(names: Vec<String>) -> Result<SelfSigned, String> {
    let random = SystemRandom::new();
    let private = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)
        .map_err(|_| "no key can be made".to_owned())?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, private.as_ref(), &random)
        .map_err(|error| error.to_string())?;
    let key = Key { pair, random };
    let mut serial = Sha256::digest(key.der_bytes()).to_vec();
    // At most 20 bytes, and a positive number: RFC 5280, section 4.1.2.2.
    serial.truncate(20);
    serial[0] &= 0x7f;
    let mut wanted = CertificateParams::new(names).map_err(|error| error.to_string())?;
    wanted.serial_number = Some(SerialNumber::from(serial));
    let made = wanted.self_signed(&key).map_err(|error| error.to_string())?;
    Ok(SelfSigned { certificate: made.pem(), key: pem("PRIVATE KEY", private.as_ref()) })
}

struct Key {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

impl SigningKey for Key {
    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signed = self.pair.sign(&self.random, text).map_err(|_| rcgen::Error::RemoteKeyError)?;
        Ok(signed.as_ref().to_vec())
    }
}

/// Bytes as the text of a file: RFC 7468.
fn pem(label: &str, bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}
