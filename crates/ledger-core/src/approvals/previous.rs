//! The payout destination that a change would replace, encrypted. Only the person who decides on the change sees it whole,
//! beside the one that was requested.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::idempotency::{EncryptionError, KeyId, MarkerKeys};
use crate::keys::Key;
use crate::settlements::Destination;
use std::collections::BTreeMap;

const KEY: &str = "key";
const ENCRYPTED: &str = "encrypted";

/// A destination as an approval keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreviousDestination {
    key: KeyId,
    encrypted: Vec<u8>,
}

impl PreviousDestination {
    pub(super) const ATTRIBUTE: &str = "previous_destination";

    /// Encrypts a destination with the current key, bound to the approval at `at`.
    pub(super) fn encrypt(destination: &Destination, at: &Key, keys: &MarkerKeys) -> Result<Self, EncryptionError> {
        let item = destination.item();
        let texts: BTreeMap<&str, &str> =
            item.keys().filter_map(|name| Some((&**name, item.text(name).ok()?))).collect();
        let content = serde_json::to_vec(&texts).map_err(|_| EncryptionError)?;
        let encrypted = keys.encrypt_destination(&bound_to(at), &content)?;
        Ok(Self { key: keys.current().clone(), encrypted })
    }

    /// Decrypts the destination that the approval at `at` keeps.
    pub(super) fn decrypt(&self, at: &Key, keys: &MarkerKeys) -> Result<Destination, EncryptionError> {
        let content = keys.decrypt_destination(&self.key, &bound_to(at), &self.encrypted)?;
        let texts: BTreeMap<String, String> = serde_json::from_slice(&content).map_err(|_| EncryptionError)?;
        let item: Item = texts.into_iter().map(|(name, text)| (name, Value::S(text))).collect();
        Destination::read(&item).map_err(|_| EncryptionError)
    }

    pub(super) fn read(item: &Item) -> Result<Self, ItemError> {
        let encrypted = item.opt_parsed_bytes(ENCRYPTED, |bytes| Some(bytes.to_vec()))?;
        let encrypted = encrypted.ok_or_else(|| ItemError::missing(ENCRYPTED))?;
        Ok(Self { key: item.named(KEY, KeyId::parse)?, encrypted })
    }

    pub(super) fn item(&self) -> Item {
        Item::from([(KEY.to_owned(), Value::s(&self.key)), (ENCRYPTED.to_owned(), Value::B(self.encrypted.clone()))])
    }
}

/// What the content is bound to: one copied to another approval is not decrypted.
fn bound_to(at: &Key) -> Vec<u8> {
    serde_json::json!(["ecopay-ledger previous destination 1", at.pk(), at.sk()]).to_string().into_bytes()
}
