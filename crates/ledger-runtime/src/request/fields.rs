//! Fields that several requests share: amounts with their asset, memos, profiles, statuses.

use super::{AmountText, PatchField};
use crate::problem::Problem;
use crate::views::words;
use ledger_core::customers::profile::ProfilePatch;
use ledger_core::forms::Patch;
use ledger_core::idempotency::Fields;
use ledger_core::ids::IdError;
use ledger_core::money::{Amount, Asset, RequestedAmount};
use ledger_core::personal::{FreeText, Masked, TextError};
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
    /// How the name is read, in kana.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub kana: PatchField<String>,
    /// The e-mail address.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub email: PatchField<String>,
    /// The telephone number.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub phone: PatchField<String>,
}

/// A change of a profile as it was sent.
pub struct SentProfile {
    name: Option<SentText>,
    kana: Patch<SentText>,
    email: Patch<SentText>,
    phone: Patch<SentText>,
}

impl ProfileBody {
    /// The change as it was sent, and the fields of the key's fingerprint.
    ///
    /// # Errors
    /// 400 if the name is cleared.
    pub fn read(self) -> Result<(SentProfile, Fields), Problem> {
        let name = match self.name.into_patch() {
            Patch::Keep => None,
            Patch::Set(text) => Some(name("name", &text)),
            Patch::Clear => return Err(Problem::invalid_field("name", "cannot be cleared")),
        };
        let kana = self.kana.map(|text| kana("kana", &text));
        let email = self.email.map(|text| email("email", &text));
        let phone = self.phone.map(|text| phone("phone", &text));
        let mut fields = Fields::new().with_some("name", name.as_ref().map(SentText::as_sent));
        for (field, patch) in [("kana", &kana), ("email", &email), ("phone", &phone)] {
            fields = match patch {
                Patch::Keep => fields,
                Patch::Set(text) => fields.with(field, text.as_sent()),
                Patch::Clear => fields.with_cleared(field),
            };
        }
        Ok((SentProfile { name, kana, email, phone }, fields))
    }
}

impl SentProfile {
    /// The change, for a plan.
    ///
    /// # Errors
    /// 400 that names the field.
    pub fn patch(&self) -> Result<ProfilePatch, Problem> {
        let patch = |sent: &Patch<SentText>| match sent {
            Patch::Keep => Ok(Patch::Keep),
            Patch::Set(text) => text.text().map(Patch::Set),
            Patch::Clear => Ok(Patch::Clear),
        };
        Ok(ProfilePatch {
            name: text_of(self.name.as_ref())?,
            kana: patch(&self.kana)?,
            email: patch(&self.email)?,
            phone: patch(&self.phone)?,
        })
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

/// A text as the client sent it.
///
/// The fingerprint of the key covers it as it was sent. Only a plan can get the [`FreeText`] that may be stored, so a
/// request whose response is stored is answered with it, whatever the rules for texts are by then.
pub struct SentText {
    field: &'static str,
    sent: Masked<String>,
    text: Result<FreeText, TextError>,
}

impl SentText {
    fn new(field: &'static str, sent: &str, parse: impl FnOnce(&str) -> Result<FreeText, TextError>) -> Self {
        Self { field, sent: Masked::new(sent.trim().to_owned()), text: parse(sent) }
    }

    /// The text as it was sent, for the fingerprint.
    #[must_use]
    pub fn as_sent(&self) -> &str {
        self.sent.expose()
    }

    /// The text that may be stored, for a plan.
    ///
    /// # Errors
    /// 400 that names the field.
    pub fn text(&self) -> Result<FreeText, Problem> {
        self.text.clone().map_err(|why| Problem::invalid_field(self.field, why))
    }
}

/// The text that may be stored, if one was sent.
///
/// # Errors
/// As [`SentText::text`].
pub fn text_of(sent: Option<&SentText>) -> Result<Option<FreeText>, Problem> {
    sent.map(SentText::text).transpose()
}

/// A memo or a reason.
#[must_use]
pub fn memo(field: &'static str, text: &str) -> SentText {
    SentText::new(field, text, |text| FreeText::parse(text, MEMO_CHARS_MAX))
}

/// A person's or a merchant's name.
#[must_use]
pub fn name(field: &'static str, text: &str) -> SentText {
    SentText::new(field, text, |text| FreeText::parse(text, NAME_CHARS_MAX))
}

/// How a name is read.
#[must_use]
pub fn kana(field: &'static str, text: &str) -> SentText {
    SentText::new(field, text, |text| FreeText::kana(text, NAME_CHARS_MAX))
}

/// An e-mail address.
#[must_use]
pub fn email(field: &'static str, text: &str) -> SentText {
    SentText::new(field, text, FreeText::email)
}

/// A telephone number.
#[must_use]
pub fn phone(field: &'static str, text: &str) -> SentText {
    SentText::new(field, text, FreeText::phone)
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
