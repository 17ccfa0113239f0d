//! What is secret by its name, or by where it stands.

/// Whether a key of the configuration holds a secret: `apiKey`, `botToken`, `signingSecret` and the like.
pub fn is_secret_key(key: &str) -> bool {
    const ENDS: [&str; 14] = [
        "apikey",
        "token",
        "password",
        "passwd",
        "passphrase",
        "secret",
        "secretkey",
        "privatekey",
        "accesskey",
        "encryptkey",
        "encryptionkey",
        "credential",
        "credentials",
        "authorization",
    ];
    let plain: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    ENDS.iter().any(|end| plain.ends_with(end))
}

/// Whether a variable of the environment holds a secret: `…_TOKEN`, `…_SECRET`, `…_KEY` and the like.
pub fn is_secret_variable(name: &str) -> bool {
    const ENDS: [&str; 12] = [
        "TOKEN",
        "SECRET",
        "_KEY",
        "APIKEY",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "_PASS",
        "_PAT",
        "CREDENTIAL",
        "CREDENTIALS",
        "_AUTH",
    ];
    let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    is_name && ENDS.iter().any(|end| name.ends_with(end)) && !name.ends_with("PUBLIC_KEY")
}

/// Whether an address has a password in it.
pub fn has_password(value: &str) -> bool {
    password_in_address(value).is_some()
}

/// The password of `https://user:password@host`.
pub fn password_in_address(value: &str) -> Option<String> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password.to_owned())
}
