//! Verifies the signature of a storefront terminal's request (RFC 9421, RFC 9530).
//!
//! The functions are pure: the clock and the public key are arguments.

use http::{HeaderMap, Method, Uri};
use httpsig::prelude::message_component::{HttpMessageComponent, HttpMessageComponentId};
use httpsig::prelude::{AlgorithmName, PublicKey, VerifyingKey};
use sfv::{Dictionary, FieldType, InnerList, ListEntry, Parser};
use sha2::{Digest, Sha256};

/// The largest difference between a signature's `created` and our clock, in seconds.
pub const CREATED_SKEW_MAX_S: u64 = 300;

const SIGNATURE_INPUT: &str = "signature-input";
const SIGNATURE: &str = "signature";
const CONTENT_DIGEST: &str = "content-digest";
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const DIGEST_ALGORITHM: &str = "sha-256";

/// The components that every signature covers; `idempotency-key` too when the request has that header.
const ALWAYS_COVERED: [&str; 4] = ["@method", "@path", "@query", CONTENT_DIGEST];

/// The parts of `keyid`, which is `<tenant>/<terminal_id>/<epoch>`.
///
/// Not trusted until [`verify`] has passed with the public key that is stored for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyId {
    /// Slug of the tenant.
    pub tenant: String,
    /// Id of the terminal.
    pub terminal_id: String,
    /// Enrolment epoch: it says which of the terminal's keys signed.
    pub epoch: String,
}

/// Why a request's signature was refused. It holds no secret, so the caller may see it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// A required header is missing.
    #[error("the header `{0}` is missing: sign the request")]
    HeaderMissing(&'static str),
    /// A header occurs more than once.
    #[error("the header `{0}` must appear once")]
    HeaderDuplicated(&'static str),
    /// A header is not the required structured field.
    #[error("the header `{0}` is malformed: {1}")]
    HeaderMalformed(&'static str, &'static str),
    /// No label, several, or different ones in `Signature-Input` and `Signature`.
    #[error("exactly one signature is needed, under one label in `Signature-Input` and `Signature`")]
    OneSignature,
    /// A parameter of the signature is missing or of the wrong type.
    #[error("the signature parameter `{0}` is missing or malformed")]
    Parameter(&'static str),
    /// `keyid` is not of the form `<tenant>/<terminal_id>/<epoch>`.
    #[error("`keyid` must be \"<tenant>/<terminal_id>/<epoch>\"")]
    KeyId,
    /// A required component is not covered.
    #[error("the signature must cover \"{0}\"")]
    NotCovered(&'static str),
    /// Another component is covered, or one twice, or one with parameters.
    #[error(
        "the signature must cover \"@method\", \"@path\", \"@query\", \"content-digest\", \
         \"idempotency-key\" when that header is there, each once, and nothing else"
    )]
    UnexpectedComponent,
    /// `alg` is not `ecdsa-p256-sha256`.
    #[error("`alg` must be \"ecdsa-p256-sha256\"")]
    Algorithm,
    /// `created` is too far from our time: the caller's clock is likely wrong.
    #[error("`created` is more than 300 s from the server's time, {server_time_epoch_s}: set the clock")]
    Created {
        /// Our time, in Unix seconds.
        server_time_epoch_s: i64,
    },
    /// The signer's `expires` has passed.
    #[error("the signature has expired; the server's time is {server_time_epoch_s}")]
    Expired {
        /// Our time, in Unix seconds.
        server_time_epoch_s: i64,
    },
    /// The body does not match `Content-Digest`.
    #[error("`Content-Digest` does not match the body")]
    DigestMismatch,
    /// The stored public key cannot be read: a fault of the ledger's data, not of the request.
    #[error("the terminal's stored public key is not a P-256 key in PEM: enrol the terminal again")]
    PublicKey,
    /// The key did not make this signature over this request.
    #[error("the signature does not match the request")]
    Mismatch,
}

/// Reads the `keyid` of a request, not yet verified, so that the public key can be looked up.
///
/// # Errors
/// [`SignatureError`] if there is not exactly one signature, or its `keyid` is malformed.
pub fn key_id(headers: &HeaderMap) -> Result<KeyId, SignatureError> {
    SignatureInput::parse(headers)?.key_id()
}

/// Verifies that `public_key_pem` signed this request, within [`CREATED_SKEW_MAX_S`] of now.
///
/// # Errors
/// [`SignatureError`] with the reason. No input panics.
pub fn verify(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
    public_key_pem: &str,
    now_epoch_s: i64,
) -> Result<(), SignatureError> {
    let input = SignatureInput::parse(headers)?;
    input.key_id()?;
    input.check_algorithm()?;
    let covered = input.covered(headers)?;
    input.check_time(now_epoch_s)?;
    check_digest(headers, body)?;

    let base = signature_base(&input, &covered, method, uri, headers)?;
    let signature = signature_bytes(headers, &input.label)?;
    let key =
        PublicKey::from_pem(&AlgorithmName::EcdsaP256Sha256, public_key_pem).map_err(|_| SignatureError::PublicKey)?;
    key.verify(base.as_bytes(), &signature).map_err(|_| SignatureError::Mismatch)
}

/// Checks that a text is a P-256 public key in PEM (SubjectPublicKeyInfo), before it is stored.
///
/// # Errors
/// [`SignatureError::PublicKey`] if it is not.
pub fn check_public_key(pem: &str) -> Result<(), SignatureError> {
    PublicKey::from_pem(&AlgorithmName::EcdsaP256Sha256, pem).map(drop).map_err(|_| SignatureError::PublicKey)
}

/// The only member of `Signature-Input`.
struct SignatureInput {
    label: String,
    list: InnerList,
}

impl SignatureInput {
    fn parse(headers: &HeaderMap) -> Result<Self, SignatureError> {
        let mut members = dictionary(headers, SIGNATURE_INPUT)?.into_iter();
        match (members.next(), members.next()) {
            (Some((label, ListEntry::InnerList(list))), None) => Ok(Self { label: label.as_str().to_owned(), list }),
            (Some((_, ListEntry::Item(_))), None) => {
                Err(SignatureError::HeaderMalformed(SIGNATURE_INPUT, "a list of components is expected"))
            }
            (None | Some(_), None | Some(_)) => Err(SignatureError::OneSignature),
        }
    }

    fn key_id(&self) -> Result<KeyId, SignatureError> {
        let text = self.string("keyid")?.ok_or(SignatureError::Parameter("keyid"))?;
        let mut parts = text.split('/');
        let (Some(tenant), Some(terminal_id), Some(epoch), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(SignatureError::KeyId);
        };
        // Only these characters, because the parts become parts of partition keys.
        let slug = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        if is_made_of(tenant, 32, slug)
            && is_made_of(terminal_id, 64, slug)
            && is_made_of(epoch, 19, |c| c.is_ascii_digit())
        {
            Ok(KeyId { tenant: tenant.to_owned(), terminal_id: terminal_id.to_owned(), epoch: epoch.to_owned() })
        } else {
            Err(SignatureError::KeyId)
        }
    }

    fn check_algorithm(&self) -> Result<(), SignatureError> {
        match self.string("alg")? {
            Some(alg) if alg == AlgorithmName::EcdsaP256Sha256.as_str() => Ok(()),
            Some(_) | None => Err(SignatureError::Algorithm),
        }
    }

    fn check_time(&self, now_epoch_s: i64) -> Result<(), SignatureError> {
        let created = self.integer("created")?.ok_or(SignatureError::Parameter("created"))?;
        if created.abs_diff(now_epoch_s) > CREATED_SKEW_MAX_S {
            return Err(SignatureError::Created { server_time_epoch_s: now_epoch_s });
        }
        match self.integer("expires")? {
            Some(expires) if expires < now_epoch_s => Err(SignatureError::Expired { server_time_epoch_s: now_epoch_s }),
            Some(_) | None => Ok(()),
        }
    }

    /// The covered components in the order in which they were signed.
    fn covered(&self, headers: &HeaderMap) -> Result<Vec<&'static str>, SignatureError> {
        let mut required = ALWAYS_COVERED.to_vec();
        if headers.contains_key(IDEMPOTENCY_KEY) {
            required.push(IDEMPOTENCY_KEY);
        }
        let mut covered = Vec::with_capacity(required.len());
        for item in &self.list.items {
            let name = item
                .bare_item
                .as_string()
                .filter(|_| item.params.is_empty())
                .ok_or(SignatureError::UnexpectedComponent)?;
            let known = required
                .iter()
                .find(|required| **required == name.as_str())
                .ok_or(SignatureError::UnexpectedComponent)?;
            if covered.contains(known) {
                return Err(SignatureError::UnexpectedComponent);
            }
            covered.push(*known);
        }
        match required.into_iter().find(|required| !covered.contains(required)) {
            Some(missing) => Err(SignatureError::NotCovered(missing)),
            None => Ok(covered),
        }
    }

    fn string(&self, name: &'static str) -> Result<Option<&str>, SignatureError> {
        self.list
            .params
            .get(name)
            .map(|item| item.as_string().map(|text| text.as_str()).ok_or(SignatureError::Parameter(name)))
            .transpose()
    }

    fn integer(&self, name: &'static str) -> Result<Option<i64>, SignatureError> {
        self.list
            .params
            .get(name)
            .map(|item| item.as_integer().map(i64::from).ok_or(SignatureError::Parameter(name)))
            .transpose()
    }

    /// The value of `@signature-params`: the member as the signer sent it, in canonical form.
    ///
    /// `HttpSignatureBase` is not used: it prints the parameters in a fixed order and drops unknown ones, so it would
    /// refuse signatures of other RFC 9421 libraries.
    fn params_line(&self) -> Result<String, SignatureError> {
        let list = vec![ListEntry::InnerList(self.list.clone())];
        FieldType::serialize(&list)
            .ok_or(SignatureError::HeaderMalformed(SIGNATURE_INPUT, "a list of components is expected"))
    }
}

fn signature_base(
    input: &SignatureInput,
    covered: &[&'static str],
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<String, SignatureError> {
    let mut base = String::new();
    for name in covered {
        let value = match *name {
            "@method" => method.as_str().to_owned(),
            "@path" => uri.path().to_owned(),
            // RFC 9421, 2.2.7: without a query the value is the leading `?` alone.
            "@query" => format!("?{}", uri.query().unwrap_or_default()),
            header => single(headers, header)?.to_owned(),
        };
        let line = HttpMessageComponentId::try_from(*name)
            .and_then(|id| HttpMessageComponent::try_from((&id, [value].as_slice())))
            .map_err(|_| SignatureError::UnexpectedComponent)?;
        base.push_str(&line.to_string());
        base.push('\n');
    }
    base.push_str("\"@signature-params\": ");
    base.push_str(&input.params_line()?);
    Ok(base)
}

fn signature_bytes(headers: &HeaderMap, label: &str) -> Result<Vec<u8>, SignatureError> {
    let mut members = dictionary(headers, SIGNATURE)?.into_iter();
    let (Some((name, ListEntry::Item(item))), None) = (members.next(), members.next()) else {
        return Err(SignatureError::OneSignature);
    };
    if name.as_str() != label {
        return Err(SignatureError::OneSignature);
    }
    item.bare_item
        .as_byte_sequence()
        .map(<[u8]>::to_vec)
        .ok_or(SignatureError::HeaderMalformed(SIGNATURE, "a byte sequence is expected"))
}

/// Checks the sha-256 digest. Other algorithms are ignored, as RFC 9530 allows.
fn check_digest(headers: &HeaderMap, body: &[u8]) -> Result<(), SignatureError> {
    let digests = dictionary(headers, CONTENT_DIGEST)?;
    let Some(ListEntry::Item(item)) = digests.get(DIGEST_ALGORITHM) else {
        return Err(SignatureError::HeaderMalformed(CONTENT_DIGEST, "a sha-256 digest is expected"));
    };
    match item.bare_item.as_byte_sequence() {
        Some(digest) if digest == Sha256::digest(body).as_slice() => Ok(()),
        Some(_) => Err(SignatureError::DigestMismatch),
        None => Err(SignatureError::HeaderMalformed(CONTENT_DIGEST, "a byte sequence is expected")),
    }
}

fn dictionary(headers: &HeaderMap, name: &'static str) -> Result<Dictionary, SignatureError> {
    Parser::new(single(headers, name)?)
        .parse()
        .map_err(|_| SignatureError::HeaderMalformed(name, "not a structured-field dictionary"))
}

fn single<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<&'h str, SignatureError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value
            .to_str()
            .map(str::trim)
            .map_err(|_| SignatureError::HeaderMalformed(name, "only visible ASCII is allowed")),
        (None, _) => Err(SignatureError::HeaderMissing(name)),
        (Some(_), Some(_)) => Err(SignatureError::HeaderDuplicated(name)),
    }
}

fn is_made_of(text: &str, len_max: usize, allowed: impl Fn(u8) -> bool) -> bool {
    (1..=len_max).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests;
