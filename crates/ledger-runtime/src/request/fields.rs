//! Fields that several requests share: amounts with their asset, memos, profiles, statuses.

use super::{AmountText, PatchField};
use crate::problem::Problem;
use crate::views::words;
use ledger_core::customers::profile::ProfilePatch;
use ledger_core::forms::Patch;
use ledger_core::idempotency::Fields;
use ledger_core::ids::IdError;
use ledger_core::money::{Amount, Asset, RequestedAmount};
use ledger_core::personal::FreeText;
use ledger_core::terms::TenantTerms;
use serde::Deserialize;
use utoipa::ToSchema;

/// The largest number of characters of a memo or a reason.
pub const MEMO_CHARS_MAX: usize = 140;
/// The error text for an asset that the tenant's terms do not have.
pub const ASSET_NOT_RUN: &str = "is not enabled for this tenant";
const NAME_CHARS_MAX: usize = 80;

/// A body without fields.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// A change of a profile. `null` clears a field, an absent field keeps it; a name cannot be cleared.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Hanako Aoba", "phone": null}))]
pub struct ProfileBody {
    /// The name.
    #[serde(default)]
    #[schema(value_type = String, required = false)]
    pub name: PatchField<String>,
    /// The e-mail address.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub email: PatchField<String>,
    /// The telephone number.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub phone: PatchField<String>,
}

impl ProfileBody {
    /// The typed change, and the fields of the key's fingerprint.
    ///
    /// # Errors
    /// 400 that names the field.
    pub fn read(self) -> Result<(ProfilePatch, Fields), Problem> {
        let name = match self.name.into_patch() {
            Patch::Keep => None,
            Patch::Set(text) => Some(name("name", &text)?),
            Patch::Clear => return Err(Problem::invalid_field("name", "cannot be cleared")),
        };
        let email = self.email.try_map(|text| email("email", &text))?;
        let phone = self.phone.try_map(|text| phone("phone", &text))?;
        let mut fields = Fields::new().with_some("name", name.as_ref().map(FreeText::expose));
        for (field, patch) in [("email", &email), ("phone", &phone)] {
            fields = match patch {
                Patch::Keep => fields,
                Patch::Set(text) => fields.with(field, text.expose()),
                Patch::Clear => fields.with_cleared(field),
            };
        }
        Ok((ProfilePatch { name, email, phone }, fields))
    }
}

/// An amount in the named asset, or in `ECOPAY` if none is named.
///
/// It does not depend on the tenant's terms, because a retry's fingerprint is computed from it.
///
/// # Errors
/// 400 that names `asset` or `amount`.
pub fn amount(asset: Option<&str>, amount: &AmountText) -> Result<RequestedAmount, Problem> {
    let asset = asset.map_or(Ok(Asset::Ecopay), Asset::parse).map_err(|why| Problem::invalid_field("asset", why))?;
    amount.requested(asset, "amount")
}

/// A requested amount in the scale of the tenant's terms.
///
/// Use it only in plans: terms may change, and a stored response must be returned even so.
///
/// # Errors
/// 400 that names `asset` or `amount`.
pub fn amount_in(terms: &TenantTerms, amount: &RequestedAmount) -> Result<Amount, Problem> {
    let spec = terms.spec(amount.asset()).ok_or_else(|| Problem::invalid_field("asset", ASSET_NOT_RUN))?;
    amount.in_scale(spec).map_err(|why| Problem::invalid_field("amount", why))
}

/// A memo or a reason, if there is one.
///
/// # Errors
/// 400 that names the field.
pub fn memo(field: &str, text: Option<&str>) -> Result<Option<FreeText>, Problem> {
    text.map(|text| FreeText::parse(text, MEMO_CHARS_MAX)).transpose().map_err(|why| Problem::invalid_field(field, why))
}

/// A reason that must be given.
///
/// # Errors
/// 400 that names the field.
pub fn reason(field: &str, text: &str) -> Result<FreeText, Problem> {
    FreeText::parse(text, MEMO_CHARS_MAX).map_err(|why| Problem::invalid_field(field, why))
}

/// A person's or a merchant's name.
///
/// # Errors
/// 400 that names the field.
pub fn name(field: &str, text: &str) -> Result<FreeText, Problem> {
    FreeText::parse(text, NAME_CHARS_MAX).map_err(|why| Problem::invalid_field(field, why))
}

/// An e-mail address.
///
/// # Errors
/// 400 that names the field.
pub fn email(field: &str, text: &str) -> Result<FreeText, Problem> {
    FreeText::email(text).map_err(|why| Problem::invalid_field(field, why))
}

/// A telephone number.
///
/// # Errors
/// 400 that names the field.
pub fn phone(field: &str, text: &str) -> Result<FreeText, Problem> {
    FreeText::phone(text).map_err(|why| Problem::invalid_field(field, why))
}

/// An id in a body.
///
/// # Errors
/// 400 that names the field.
pub fn id<T>(field: &str, text: &str, parse: impl FnOnce(&str) -> Result<T, IdError>) -> Result<T, Problem> {
    parse(text).map_err(|why| Problem::invalid_field(field, why))
}

/// One of a few words.
///
/// # Errors
/// 400 that names the field and the words.
pub fn word<T>(field: &str, text: &str, parse: impl FnOnce(&str) -> Option<T>, words: &str) -> Result<T, Problem> {
    parse(text).ok_or_else(|| Problem::invalid_field(field, format!("must be {words}")))
}

/// A change of status.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"status": "frozen", "reason": "the card was lost"}))]
pub struct StatusBody {
    /// `frozen` or `active`.
    #[schema(value_type = words::AccountStatus)]
    pub status: String,
    /// The reason, at most 140 characters.
    pub reason: Option<String>,
}
