//! The local identity provider's tokens: signs JWTs as Cognito does, and verifies them as API Gateway's authorizer does.
//! Its key pair is stored in the data directory, so that tokens are valid after a restart on the same port.

use crate::{clock, private_file};
use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
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

/// The lifetime of a token that `/dev/token` issues: 12 hours, in seconds.
pub const TOKEN_LIFETIME_S: i64 = 12 * 60 * 60;

const KEY_FILE: &str = "issuer-key.pem";

/// An API whose callers have tokens. The issuer has one client for each, whose id is the API's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    /// The customer API.
    Customer,
    /// The merchant API.
    Merchant,
    /// The operator API.
    Admin,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Customer, Self::Merchant, Self::Admin];

    /// Its name, and the id of its client.
    pub fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Merchant => "merchant",
            Self::Admin => "admin",
        }
    }

    /// The API with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.name() == name)
    }

    /// The API of a route under `/v1` that requires a token. A route of no other API is the operator's.
    pub fn of_route(route: &str) -> Self {
        let is_below =
            |root: &str| route.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_below("/v1/me") {
            Self::Customer
        } else if is_below("/v1/merchant") {
            Self::Merchant
        } else {
            Self::Admin
        }
    }
}

/// The claims of a token to be issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// Slug of the tenant.
    pub tenant: String,
    /// The customer's, or staff member's, id.
    pub sub: String,
    /// `customer`, `merchant` or `admin`: the API to whose client the token is issued. It is no claim: what verifies the
    /// token sees the API from `client_id`.
    #[serde(skip)]
    pub face: String,
    /// The merchant whose staff record is asked at the merchant API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merchant_id: Option<String>,
    /// The staff member's roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// The person's e-mail address, which counts as verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// `true` with an e-mail address.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub email_verified: bool,
}

impl Grant {
    /// The same with a verified e-mail address, if there is one.
    #[must_use]
    pub fn with_email(self, email: Option<String>) -> Self {
        Self { email_verified: email.is_some(), email, ..self }
    }
}

/// The claims that a sign-in adds to an access token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignInClaims {
    /// The granted scopes, separated by spaces.
    pub scope: String,
    /// When the person signed in, in Unix seconds.
    pub auth_time: i64,
    /// The token's own id.
    pub jti: String,
    /// The id of the sign-in, which its refresh tokens share.
    pub origin_jti: String,
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
    /// Issued to a client of another API.
    #[error("token refused: issued to another client")]
    OtherClient,
    /// Issued ahead of our clock.
    #[error("token refused: issued in the future")]
    IssuedInFuture,
}

/// Issues tokens and verifies them.
pub struct Issuer {
    url: String,
    signing: EncodingKey,
    verifying: DecodingKey,
    validation: Validation,
    key_id: String,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("url", &self.url).field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Body<'a> {
    iss: &'a str,
    client_id: &'a str,
    token_use: &'static str,
    iat: i64,
    exp: i64,
    #[serde(flatten)]
    grant: &'a Grant,
    #[serde(flatten)]
    sign_in: Option<&'a SignInClaims>,
}

impl Issuer {
    /// Creates the issuer at `url`, whose key ends with the process.
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn in_memory(url: &str) -> Result<Self, IssuerError> {
        Self::with_key(url, &generate()?)
    }

    /// Creates the issuer at `url` with the key in `directory`, which the first start creates.
    ///
    /// # Errors
    /// If the key file cannot be read or written, or is not a P-256 key.
    pub fn in_directory(url: &str, directory: &Path) -> Result<Self, IssuerError> {
        let path = directory.join(KEY_FILE);
        let unusable = |cause| IssuerError::KeyFile { path: path.clone(), cause };
        match std::fs::read_to_string(&path) {
            Ok(pem) => {
                let key = SecretKey::from_pkcs8_pem(&pem).map_err(|_| IssuerError::KeyFormat(path.clone()))?;
                Self::with_key(url, &key)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = generate()?;
                let pem = key.to_pkcs8_pem(LineEnding::LF).map_err(crypto)?;
                private_file::write(&path, &pem).map_err(unusable)?;
                Self::with_key(url, &key)
            }
            Err(error) => Err(unusable(error)),
        }
    }

    fn with_key(url: &str, key: &SecretKey) -> Result<Self, IssuerError> {
        let private = key.to_pkcs8_pem(LineEnding::LF).map_err(crypto)?;
        let public = key.public_key().to_public_key_pem(LineEnding::LF).map_err(crypto)?;
        // One algorithm and no leeway: one clock issues and verifies.
        let mut validation = Validation::new(Algorithm::ES256);
        validation.leeway = 0;
        validation.validate_nbf = true;
        validation.set_issuer(&[url]);
        // The client is compared by `verify_for`: API Gateway reads it from either of two claims.
        validation.validate_aud = false;
        validation.set_required_spec_claims(&["exp", "iss", "sub"]);
        Ok(Self {
            url: url.to_owned(),
            signing: EncodingKey::from_ec_pem(private.as_bytes()).map_err(crypto)?,
            verifying: DecodingKey::from_ec_pem(public.as_bytes()).map_err(crypto)?,
            validation,
            key_id: Sha256::digest(public.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// The issuer's URL: `iss` of every token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The public key, as a set of JSON Web Keys.
    ///
    /// # Errors
    /// If the library cannot encode it.
    pub fn key_set(&self) -> Result<JwkSet, TokenError> {
        let mut key = Jwk::from_encoding_key(&self.signing, Algorithm::ES256)?;
        key.common.key_id = Some(self.key_id.clone());
        key.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(JwkSet { keys: vec![key] })
    }

    /// Issues an access token for `grant` to the client of its API, valid from `issued_at_s` (Unix seconds) for
    /// `lifetime_s` seconds.
    ///
    /// # Errors
    /// If signing fails.
    pub fn issue(&self, grant: &Grant, issued_at_s: i64, lifetime_s: i64) -> Result<String, TokenError> {
        self.access_token(grant, None, (issued_at_s, lifetime_s))
    }

    /// Issues the access token of a sign-in to the client of its API.
    ///
    /// # Errors
    /// If signing fails.
    pub fn issue_signed_in(
        &self,
        grant: &Grant,
        sign_in: &SignInClaims,
        time: (i64, i64),
    ) -> Result<String, TokenError> {
        self.access_token(grant, Some(sign_in), time)
    }

    fn access_token(
        &self,
        grant: &Grant,
        sign_in: Option<&SignInClaims>,
        (iat, lifetime_s): (i64, i64),
    ) -> Result<String, TokenError> {
        let (client_id, exp) = (grant.face.as_str(), iat.saturating_add(lifetime_s));
        self.sign(&Body { iss: &self.url, client_id, token_use: "access", iat, exp, grant, sign_in })
    }

    /// Signs claims of any kind.
    ///
    /// # Errors
    /// If signing fails.
    pub(crate) fn sign(&self, claims: &impl Serialize) -> Result<String, TokenError> {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.key_id.clone());
        Ok(jsonwebtoken::encode(&header, claims, &self.signing)?)
    }

    /// Verifies a token as [`Issuer::verify`], and that it was issued to the API's own client: `aud` names the client,
    /// or `client_id` does if there is no `aud`, as API Gateway compares them.
    ///
    /// # Errors
    /// [`TokenError`] if any of these is wrong.
    pub fn verify_for(&self, api: Api, token: &str) -> Result<Claims, TokenError> {
        let claims = self.verified(token)?;
        let is_client = |value: &Value| value.as_str() == Some(api.name());
        let named = match (claims.get("aud"), claims.get("client_id")) {
            (Some(Value::Array(names)), _) => names.iter().any(is_client),
            (Some(name), _) | (None, Some(name)) => is_client(name),
            (None, None) => false,
        };
        if named { Ok(as_strings(claims)) } else { Err(TokenError::OtherClient) }
    }

    /// Verifies signature, algorithm, issuer and times, and returns the claims as strings.
    ///
    /// # Errors
    /// [`TokenError`] if any of these is wrong.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        self.verified(token).map(as_strings)
    }

    fn verified(&self, token: &str) -> Result<Map<String, Value>, TokenError> {
        let data = jsonwebtoken::decode::<Map<String, Value>>(token, &self.verifying, &self.validation)?;
        if data.header.kid.as_deref() != Some(self.key_id.as_str()) {
            return Err(TokenError::UnknownKey);
        }
        if data.claims.get("iat").and_then(Value::as_i64).is_some_and(|iat| iat > clock::epoch_s()) {
            return Err(TokenError::IssuedInFuture);
        }
        Ok(data.claims)
    }
}

fn as_strings(claims: Map<String, Value>) -> Claims {
    claims.into_iter().filter_map(|(name, value)| Some((name, as_api_gateway(&value)?))).collect()
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
mod tests;
