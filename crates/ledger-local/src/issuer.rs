//! The local identity provider: issues JWTs, and verifies them as API Gateway's authorizer does. Its key pair is stored
//! in the data directory, so that tokens are valid after a restart.

use crate::{clock, private_file};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use p256::SecretKey;
use p256::elliptic_curve::Generate;
use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// `iss` of every token.
pub const ISSUER: &str = "https://issuer.ecopay.local";
/// `aud` of every token.
pub const AUDIENCE: &str = "ecopay";
/// The lifetime of a token that `/dev/token` issues: 12 hours, in seconds.
pub const TOKEN_LIFETIME_S: i64 = 12 * 60 * 60;

const KEY_FILE: &str = "issuer-key.pem";

/// The claims of a token to be issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// Slug of the tenant.
    pub tenant: String,
    /// The customer's, or staff member's, id.
    pub sub: String,
    /// `customer`, `merchant` or `admin`.
    pub face: String,
    /// The merchant that a merchant's staff member works for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merchant_id: Option<String>,
    /// The staff member's roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
}

/// Claims in the form in which API Gateway's HTTP API passes them on: every value a string.
pub type Claims = HashMap<String, String>;

/// Why an issuer could not be created.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// The key file cannot be read or written.
    #[error("cannot use the token issuer's key {}: {cause}; make the directory writable, or use --in-memory", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The key file holds no P-256 key.
    #[error("{} holds no P-256 private key: delete it, and the next start makes a new one", .0.display())]
    KeyFormat(PathBuf),
    /// The system or a library failed on a good key.
    #[error("cannot make the token issuer's key: {0}")]
    Crypto(String),
}

/// Why a token was refused. For the log only: the caller gets a 401.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The token is malformed, expired, or has another algorithm, signature, issuer or audience.
    #[error("token refused: {0}")]
    Refused(#[from] jsonwebtoken::errors::Error),
    /// The key id is not this issuer's.
    #[error("token refused: unknown key id")]
    UnknownKey,
    /// Issued ahead of our clock.
    #[error("token refused: issued in the future")]
    IssuedInFuture,
}

/// Issues tokens and verifies them.
pub struct Issuer {
    signing: EncodingKey,
    verifying: DecodingKey,
    validation: Validation,
    key_id: String,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Body<'a> {
    iss: &'static str,
    aud: &'static str,
    iat: i64,
    exp: i64,
    #[serde(flatten)]
    grant: &'a Grant,
}

impl Issuer {
    /// Creates an issuer whose key ends with the process.
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn in_memory() -> Result<Self, IssuerError> {
        Self::with_key(&generate()?)
    }

    /// Creates an issuer with the key in `directory`, which the first start creates.
    ///
    /// # Errors
    /// If the key file cannot be read or written, or is not a P-256 key.
    pub fn in_directory(directory: &Path) -> Result<Self, IssuerError> {
        let path = directory.join(KEY_FILE);
        let unusable = |cause| IssuerError::KeyFile { path: path.clone(), cause };
        match std::fs::read_to_string(&path) {
            Ok(pem) => {
                let key = SecretKey::from_pkcs8_pem(&pem).map_err(|_| IssuerError::KeyFormat(path.clone()))?;
                Self::with_key(&key)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = generate()?;
                let pem = key.to_pkcs8_pem(LineEnding::LF).map_err(crypto)?;
                private_file::write(&path, &pem).map_err(unusable)?;
                Self::with_key(&key)
            }
            Err(error) => Err(unusable(error)),
        }
    }

    fn with_key(key: &SecretKey) -> Result<Self, IssuerError> {
        let private = key.to_pkcs8_pem(LineEnding::LF).map_err(crypto)?;
        let public = key.public_key().to_public_key_pem(LineEnding::LF).map_err(crypto)?;
        // One algorithm and no leeway: one clock issues and verifies.
        let mut validation = Validation::new(Algorithm::ES256);
        validation.leeway = 0;
        validation.validate_nbf = true;
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        Ok(Self {
            signing: EncodingKey::from_ec_pem(private.as_bytes()).map_err(crypto)?,
            verifying: DecodingKey::from_ec_pem(public.as_bytes()).map_err(crypto)?,
            validation,
            key_id: Sha256::digest(public.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// Issues a token for `grant`, valid from `issued_at_s` (Unix seconds) for `lifetime_s` seconds.
    ///
    /// # Errors
    /// If signing fails.
    pub fn issue(&self, grant: &Grant, issued_at_s: i64, lifetime_s: i64) -> Result<String, TokenError> {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.key_id.clone());
        let exp = issued_at_s.saturating_add(lifetime_s);
        let body = Body { iss: ISSUER, aud: AUDIENCE, iat: issued_at_s, exp, grant };
        Ok(jsonwebtoken::encode(&header, &body, &self.signing)?)
    }

    /// Verifies signature, algorithm, issuer, audience and times, and returns the claims as strings.
    ///
    /// # Errors
    /// [`TokenError`] if any of these is wrong.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        let data = jsonwebtoken::decode::<Map<String, Value>>(token, &self.verifying, &self.validation)?;
        if data.header.kid.as_deref() != Some(self.key_id.as_str()) {
            return Err(TokenError::UnknownKey);
        }
        if data.claims.get("iat").and_then(Value::as_i64).is_some_and(|iat| iat > clock::epoch_s()) {
            return Err(TokenError::IssuedInFuture);
        }
        Ok(data.claims.into_iter().filter_map(|(name, value)| Some((name, as_api_gateway(&value)?))).collect())
    }
}

/// A claim as API Gateway converts it to a string: an array becomes `[a b]`, `null` is left out.
fn as_api_gateway(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(as_api_gateway).collect();
            Some(format!("[{}]", items.join(" ")))
        }
        Value::Object(_) => Some(value.to_string()),
    }
}

fn generate() -> Result<SecretKey, IssuerError> {
    SecretKey::try_generate().map_err(crypto)
}

fn crypto(error: impl std::fmt::Display) -> IssuerError {
    IssuerError::Crypto(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use serde_json::json;

    fn grant() -> Grant {
        Grant {
            tenant: "demo".to_owned(),
            sub: "s1".to_owned(),
            face: "merchant".to_owned(),
            merchant_id: Some("m1".to_owned()),
            roles: Some(vec!["cashier".to_owned(), "manager".to_owned()]),
        }
    }

    fn signed(issuer: &Issuer, body: &Value) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(issuer.key_id.clone());
        jsonwebtoken::encode(&header, body, &issuer.signing).unwrap()
    }

    #[test]
    fn claims_are_returned_as_api_gateway_passes_them() {
        let issuer = Issuer::in_memory().unwrap();
        let now = clock::epoch_s();
        let claims = issuer.verify(&issuer.issue(&grant(), now, 60).unwrap()).unwrap();
        let claim = |name: &str| claims.get(name).cloned();
        assert_eq!(claim("roles").as_deref(), Some("[cashier manager]"));
        assert_eq!(claim("tenant").as_deref(), Some("demo"));
        assert_eq!(claim("merchant_id").as_deref(), Some("m1"));
        assert_eq!(claim("iat"), Some(now.to_string()));
        assert_eq!(claim("iss").as_deref(), Some(ISSUER));
        let plain = Grant { merchant_id: None, roles: None, ..grant() };
        let claims = issuer.verify(&issuer.issue(&plain, now, 60).unwrap()).unwrap();
        assert!(!claims.contains_key("roles") && !claims.contains_key("merchant_id"));
    }

    #[test]
    fn wrong_tokens_are_refused() {
        let issuer = Issuer::in_memory().unwrap();
        let now = clock::epoch_s();
        let good = json!({"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 60, "sub": "s"});
        assert!(issuer.verify(&signed(&issuer, &good)).is_ok());
        for (name, value) in [
            ("iss", json!("https://else.example")),
            ("aud", json!("else")),
            ("exp", json!(now - 1)),
            ("iat", json!(now + 60)),
            ("nbf", json!(now + 60)),
            ("exp", Value::Null),
            ("sub", Value::Null),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            assert!(issuer.verify(&signed(&issuer, &bad)).is_err(), "{bad}");
        }
        let other = Issuer::in_memory().unwrap();
        assert!(issuer.verify(&other.issue(&grant(), now, 60).unwrap()).is_err());
        let hmac = EncodingKey::from_secret(b"secret");
        let forged = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &good, &hmac).unwrap();
        assert!(issuer.verify(&forged).is_err());
        for garbage in ["", ".", "..", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzIn0."] {
            assert!(issuer.verify(garbage).is_err());
        }
    }

    #[test]
    fn token_is_valid_after_a_restart() {
        let dir = TempDir::make();
        let token = Issuer::in_directory(dir.path()).unwrap().issue(&grant(), clock::epoch_s(), 60).unwrap();
        assert!(Issuer::in_directory(dir.path()).unwrap().verify(&token).is_ok());
        std::fs::write(dir.path().join(KEY_FILE), "garbage").unwrap();
        assert!(matches!(Issuer::in_directory(dir.path()), Err(IssuerError::KeyFormat(_))));
    }
}
