//! The fingerprint that binds a key to its request: a keyed, versioned hash of the *typed* request. Field order, white
//! space and the spelling of an amount do not matter.

use super::marker_keys::{KeyId, MarkerKeys};
use crate::dynamo::{Attributes, Item, ItemError, Value as Stored};
use crate::ids::{Principal, Tenant};
use crate::money::{Amount, RequestedAmount};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The version of the encoding.
pub(super) const ENCODING_VERSION: u32 = 1;

/// The typed fields of a request. Values are text, lists or maps. An absent field is left out; a cleared field is
/// `null`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Map<String, Value>);

impl Fields {
    /// An empty set of fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.0.insert(name.to_owned(), Value::String(value.to_string()));
        self
    }

    /// Adds a field if it has a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds an amount with its asset. Equal amounts have one text.
    #[must_use]
    pub fn with_amount(mut self, name: &str, amount: &Amount) -> Self {
        self.0.insert(name.to_owned(), json!({"asset": amount.asset().to_string(), "amount": amount.text()}));
        self
    }

    /// Adds an amount whose asset's terms have not been read.
    #[must_use]
    pub fn with_requested(mut self, name: &str, amount: &RequestedAmount) -> Self {
        self.0.insert(name.to_owned(), json!({"asset": amount.asset().to_string(), "amount": amount.text()}));
        self
    }

    /// Adds amounts, by asset.
    #[must_use]
    pub fn with_amounts<'a>(mut self, name: &str, amounts: impl IntoIterator<Item = &'a RequestedAmount>) -> Self {
        let amounts = amounts.into_iter().map(|amount| (amount.asset().to_string(), Value::String(amount.text())));
        self.0.insert(name.to_owned(), Value::Object(amounts.collect()));
        self
    }

    /// Adds a field that the request clears.
    #[must_use]
    pub fn with_cleared(mut self, name: &str) -> Self {
        self.0.insert(name.to_owned(), Value::Null);
        self
    }

    /// Adds a list. Its order matters.
    #[must_use]
    pub fn with_list(mut self, name: &str, values: impl IntoIterator<Item = impl ToString>) -> Self {
        let values = values.into_iter().map(|value| Value::String(value.to_string())).collect();
        self.0.insert(name.to_owned(), Value::Array(values));
        self
    }
}

/// Everything that a key is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalRequest {
    /// The HTTP method.
    pub method: &'static str,
    /// The path, built from typed ids and not from the text that was sent.
    pub path: String,
    /// The typed body.
    pub fields: Fields,
}

/// A request's fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// HMAC-SHA256, in lower-case hexadecimal.
    pub digest: String,
    /// The key that it was made with. A response that is stored with it may be encrypted with the same key.
    pub key: KeyId,
}

impl CanonicalRequest {
    /// Computes the fingerprint; `None` if `keys` lack the key.
    ///
    /// It is the HMAC-SHA256 of the RFC 8785 canonical JSON of method, path, tenant, principal and fields: without the key,
    /// a reader of the table cannot find a request out by trying requests.
    #[must_use]
    pub fn fingerprint(
        &self,
        tenant: &Tenant,
        principal: Principal,
        keys: &MarkerKeys,
        id: &KeyId,
    ) -> Option<Fingerprint> {
        let digest = hex::encode(keys.fingerprint(id, &self.canonical(tenant, principal)?)?);
        Some(Fingerprint { digest, key: id.clone() })
    }

    fn canonical(&self, tenant: &Tenant, principal: Principal) -> Option<Vec<u8>> {
        let bytes = serde_json_canonicalizer::to_vec(&Canonical {
            v: &ENCODING_VERSION.to_string(),
            method: self.method,
            path: &self.path,
            tenant: tenant.as_str(),
            principal: &principal.to_string(),
            fields: &self.fields.0,
        });
        bytes.ok()
    }
}

const DIGEST: &str = "fp";
const VERSION: &str = "fp_v";
const KEY: &str = "fp_key";

impl Fingerprint {
    pub(super) fn item(&self) -> Item {
        Item::from([
            (DIGEST.to_owned(), Stored::s(&self.digest)),
            (VERSION.to_owned(), Stored::int(ENCODING_VERSION.into())),
            (KEY.to_owned(), Stored::s(&self.key)),
        ])
    }

    /// Reads the fingerprint of a marker.
    pub(super) fn read(item: &Item) -> Result<Self, ItemError> {
        item.checked_int(VERSION, |version: u32| (version == ENCODING_VERSION).then_some(()))?;
        Ok(Self { digest: item.string(DIGEST)?, key: item.named(KEY, KeyId::parse)? })
    }

    /// As [`Fingerprint::read`]; `None` for the marker of a step that no request carries.
    pub(super) fn read_if_any(item: &Item) -> Result<Option<Self>, ItemError> {
        item.contains_key(DIGEST).then(|| Self::read(item)).transpose()
    }
}

/// What a fingerprint is made of.
#[derive(Serialize)]
struct Canonical<'a> {
    v: &'a str,
    method: &'static str,
    path: &'a str,
    tenant: &'a str,
    principal: &'a str,
    fields: &'a Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CustomerId;
    use crate::money::AssetSpec;

    fn request(fields: Fields) -> Option<Fingerprint> {
        let tenant = Tenant::parse("demo").unwrap();
        let customer = CustomerId::parse("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
        let keys = MarkerKeys::of_tests();
        let request = CanonicalRequest { method: "POST", path: "/v1/me/payments".to_owned(), fields };
        request.fingerprint(&tenant, Principal::Customer(customer), &keys, keys.current())
    }

    #[test]
    fn equal_amounts_match_and_cleared_differs_from_absent() {
        let yen = |text| Amount::parse(&AssetSpec::ECOPAY, text).unwrap();
        let of = |text| request(Fields::new().with_amount("amount", &yen(text)));
        assert_eq!(of("100"), of("100.0"));
        let requested = |text| RequestedAmount::parse(crate::money::Asset::Ecopay, text).unwrap();
        assert_eq!(of("100"), request(Fields::new().with_requested("amount", &requested("100.0"))));
        assert_ne!(of("100"), of("101"));
        assert_ne!(request(Fields::new()), request(Fields::new().with_cleared("phone")));
        let ab = Fields::new().with("a", "1").with("b", "2");
        let ba = Fields::new().with("b", "2").with("a", "1");
        assert_eq!(request(ab), request(ba));
    }

    #[test]
    fn fingerprint_of_an_unknown_version_is_unreadable() {
        let mut item = request(Fields::new()).unwrap().item();
        assert!(Fingerprint::read(&item).is_ok());
        for version in [0, 2, 3] {
            item.insert(VERSION.to_owned(), Stored::int(version));
            assert_eq!(Fingerprint::read(&item).unwrap_err().attribute, VERSION);
        }
    }
}
