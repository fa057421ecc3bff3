//! A field of a PATCH body: absent keeps, `null` clears, a value sets.

use ledger_core::forms::Patch;
use serde::de::{Deserialize, Deserializer};

/// A field that may be absent, `null` or a value. Its struct needs `#[serde(default)]` on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchField<T>(Patch<T>);

impl<T> PatchField<T> {
    /// The change that the request makes to the field.
    pub fn into_patch(self) -> Patch<T> {
        self.0
    }

    /// The change, with its value converted by `convert`.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Patch<U> {
        match self.0 {
            Patch::Keep => Patch::Keep,
            Patch::Clear => Patch::Clear,
            Patch::Set(value) => Patch::Set(convert(value)),
        }
    }
}

impl<T> Default for PatchField<T> {
    fn default() -> Self {
        Self(Patch::Keep)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PatchField<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<T>::deserialize(deserializer)?.map_or(Patch::Clear, Patch::Set)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Body {
        #[serde(default)]
        phone: PatchField<String>,
    }

    #[test]
    fn absent_field_keeps_and_null_clears() {
        let read = |json: &str| serde_json::from_str::<Body>(json).map(|body| body.phone.into_patch());
        assert_eq!(read("{}").unwrap(), Patch::Keep);
        assert_eq!(read(r#"{"phone":null}"#).unwrap(), Patch::Clear);
        assert_eq!(read(r#"{"phone":"1"}"#).unwrap(), Patch::Set("1".to_owned()));
        assert!(read(r#"{"phone":1}"#).is_err());
    }
}
