//! A response to a keyed request: as it is sent, and as its marker stores it.

use super::fingerprint::ENCODING_VERSION;
use super::marker_keys::{EncryptionError, MarkerKeys};
use super::{Fingerprint, MarkerError};
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::keys::Key;
use std::fmt;

/// A response, replayed byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: String,
    /// The `Location` header, if there is one.
    pub location: Option<String>,
    /// The body, UTF-8.
    pub body: String,
}

/// A response whose body has a one-time secret. It does not print its body.
///
/// Only [`SecretAnswer::expose`] gives the response, to send it: its marker stores it encrypted.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretAnswer(Answer);

impl SecretAnswer {
    /// Declares that a response's body has a one-time secret.
    #[must_use]
    pub fn new(answer: Answer) -> Self {
        Self(answer)
    }

    /// The response, for the caller that it belongs to.
    #[must_use]
    pub fn expose(&self) -> &Answer {
        &self.0
    }
}

impl fmt::Debug for SecretAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretAnswer").field("status", &self.0.status).finish_non_exhaustive()
    }
}

/// A response with or without a one-time secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyAnswer {
    /// It has no one-time secret.
    Plain(Answer),
    /// It has a one-time secret.
    Secret(SecretAnswer),
}

impl AnyAnswer {
    /// The response, for the caller that it belongs to.
    #[must_use]
    pub fn into_exposed(self) -> Answer {
        match self {
            Self::Plain(answer) | Self::Secret(SecretAnswer(answer)) => answer,
        }
    }
}

impl From<Answer> for AnyAnswer {
    fn from(answer: Answer) -> Self {
        Self::Plain(answer)
    }
}

impl From<SecretAnswer> for AnyAnswer {
    fn from(answer: SecretAnswer) -> Self {
        Self::Secret(answer)
    }
}

/// A response that a marker is to store.
#[derive(Clone, Copy, Debug)]
pub struct NewAnswer<'a> {
    answer: &'a Answer,
    has_secret: bool,
}

impl<'a> NewAnswer<'a> {
    pub(super) fn answer(&self) -> &'a Answer {
        self.answer
    }

    pub(super) fn has_secret(&self) -> bool {
        self.has_secret
    }
}

impl<'a> From<&'a Answer> for NewAnswer<'a> {
    fn from(answer: &'a Answer) -> Self {
        Self { answer, has_secret: false }
    }
}

impl<'a> From<&'a SecretAnswer> for NewAnswer<'a> {
    fn from(answer: &'a SecretAnswer) -> Self {
        Self { answer: &answer.0, has_secret: true }
    }
}

impl<'a> From<&'a AnyAnswer> for NewAnswer<'a> {
    fn from(answer: &'a AnyAnswer) -> Self {
        match answer {
            AnyAnswer::Plain(answer) => answer.into(),
            AnyAnswer::Secret(answer) => answer.into(),
        }
    }
}

/// A response as its marker stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The HTTP status.
    pub status: u16,
    content_type: String,
    location: Option<String>,
    body: StoredBody,
}

/// A body as a marker stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum StoredBody {
    Clear(String),
    /// Encrypted with the key of the marker's fingerprint.
    Encrypted(Vec<u8>),
}

const BODY: &str = "body";
const ENCRYPTED_BODY: &str = "encrypted_body";

impl From<&Answer> for StoredAnswer {
    fn from(answer: &Answer) -> Self {
        let Answer { status, content_type, location, body } = answer.clone();
        Self { status, content_type, location, body: StoredBody::Clear(body) }
    }
}

impl StoredAnswer {
    /// Builds what a marker with this fingerprint stores of a response: the body encrypted if it has a one-time secret.
    /// `keys` may be absent for any other.
    ///
    /// # Errors
    /// [`MarkerError::KeyAbsent`] without the fingerprint's key.
    pub fn new(
        answer: NewAnswer<'_>,
        marker: &Key,
        fingerprint: &Fingerprint,
        keys: Option<&MarkerKeys>,
    ) -> Result<Self, MarkerError> {
        if !answer.has_secret {
            return Ok(answer.answer.into());
        }
        let id = &fingerprint.key;
        let keys = keys.ok_or_else(|| MarkerError::KeyAbsent(id.clone()))?;
        let Answer { status, content_type, location, body } = answer.answer;
        let mut stored = Self {
            status: *status,
            content_type: content_type.clone(),
            location: location.clone(),
            body: StoredBody::Encrypted(Vec::new()),
        };
        let encrypted = keys.encrypt(id, &stored.associated_data(marker, fingerprint), body.as_bytes())?;
        stored.body = StoredBody::Encrypted(encrypted);
        Ok(stored)
    }

    /// The response, decrypted if its body is encrypted. `keys` may be absent if it is not.
    ///
    /// # Errors
    /// [`MarkerError::KeyAbsent`] without the fingerprint's key, [`MarkerError::Encrypted`] if the body was not encrypted
    /// for this marker and fingerprint.
    pub fn open(
        &self,
        marker: &Key,
        fingerprint: Option<&Fingerprint>,
        keys: Option<&MarkerKeys>,
    ) -> Result<Answer, MarkerError> {
        let body = match &self.body {
            StoredBody::Clear(body) => body.clone(),
            StoredBody::Encrypted(encrypted) => {
                let fingerprint = fingerprint.ok_or(EncryptionError)?;
                let id = &fingerprint.key;
                let keys = keys.ok_or_else(|| MarkerError::KeyAbsent(id.clone()))?;
                let decrypted = keys.decrypt(id, &self.associated_data(marker, fingerprint), encrypted)?;
                String::from_utf8(decrypted).map_err(|_| EncryptionError)?
            }
        };
        let Self { status, content_type, location, .. } = self.clone();
        Ok(Answer { status, content_type, location, body })
    }

    /// What an encrypted body is bound to: its marker, the request, and the rest of the response.
    fn associated_data(&self, marker: &Key, fingerprint: &Fingerprint) -> Vec<u8> {
        let Self { status, content_type, location, .. } = self;
        let bound = serde_json::json!([
            "ecopay-ledger sealed body 1",
            marker.pk(),
            marker.sk(),
            ENCODING_VERSION,
            fingerprint.digest,
            status,
            content_type,
            location
        ]);
        bound.to_string().into_bytes()
    }

    pub(super) fn item(&self) -> Item {
        let mut item = Item::from([
            ("status".to_owned(), Value::int(self.status.into())),
            ("content_type".to_owned(), Value::s(&self.content_type)),
        ]);
        let (name, body) = self.body();
        item.insert(name.to_owned(), body);
        if let Some(location) = &self.location {
            item.insert("location".to_owned(), Value::s(location));
        }
        item
    }

    /// Sets the attributes of [`StoredAnswer::item`].
    pub(super) fn set(&self, update: Update) -> Update {
        let (name, body) = self.body();
        let update = update
            .set("status", "status", Value::int(self.status.into()))
            .set("content_type", "content_type", Value::s(&self.content_type))
            .set(name, name, body);
        match &self.location {
            Some(location) => update.set("location", "location", Value::s(location)),
            None => update,
        }
    }

    fn body(&self) -> (&'static str, Value) {
        match &self.body {
            StoredBody::Clear(body) => (BODY, Value::s(body)),
            StoredBody::Encrypted(encrypted) => (ENCRYPTED_BODY, Value::B(encrypted.clone())),
        }
    }

    /// Reads the response of a completed marker.
    pub(super) fn read(item: &Item) -> Result<Self, ItemError> {
        let encrypted = item.opt_parsed_bytes(ENCRYPTED_BODY, |encrypted| Some(encrypted.to_vec()))?;
        Ok(Self {
            status: item.int("status")?,
            content_type: item.string("content_type")?,
            location: item.opt_string("location")?,
            body: match encrypted {
                Some(encrypted) => StoredBody::Encrypted(encrypted),
                None => StoredBody::Clear(item.string(BODY)?),
            },
        })
    }
}
