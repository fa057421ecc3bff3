//! A merchant's payout destination, as the operator sends it.

use ledger_core::bank::{AccountKind, BankAccount, BankError, BankParts};
use ledger_core::psp::PspId;
use ledger_core::settlements::Destination;
use ledger_runtime::problem::Problem;
use ledger_runtime::request;
use ledger_runtime::views::words;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Where a merchant is paid: a bank account unless `kind` is `stripe`.
#[derive(Debug, ToSchema)]
#[schema(as = DestinationBody)]
#[serde(untagged)]
pub(crate) enum DestinationBody {
    /// A bank account, paid by a file for the tenant's bank.
    Bank(BankBody),
    /// An external account, paid through Stripe.
    Stripe(StripeBody),
}

/// A bank account. Names are in katakana; they are stored half-width, as banks write them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BankBody {
    /// `bank`, or absent.
    #[serde(rename = "kind")]
    #[schema(value_type = Option<words::BankKind>)]
    _kind: Option<String>,
    /// The bank code, four digits.
    #[schema(pattern = r"^\d{4}$", example = "0001")]
    bank_code: String,
    /// The bank's name; at most 15 characters.
    #[schema(min_length = 1, max_length = 15, example = "ミズホ")]
    bank_name: Option<String>,
    /// The branch code, three digits.
    #[schema(pattern = r"^\d{3}$", example = "001")]
    branch_code: String,
    /// The branch's name; at most 15 characters.
    #[schema(min_length = 1, max_length = 15, example = "トウキョウ")]
    branch_name: Option<String>,
    /// `ordinary`, `checking` or `savings`.
    #[schema(value_type = words::BankAccountType)]
    account_type: String,
    /// The account number, seven digits.
    #[schema(pattern = r"^\d{7}$", example = "1234567")]
    account_number: String,
    /// The account holder's name; at most 30 characters, where a voiced kana counts as two.
    #[schema(min_length = 1, max_length = 30, example = "アオバコーヒー")]
    account_holder: String,
}

/// An external account that is registered at the Stripe account through which the tenant is paid.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StripeBody {
    /// `stripe`.
    #[serde(rename = "kind")]
    #[schema(value_type = words::StripeKind)]
    _kind: String,
    /// Stripe's id of the external account: `ba_...` or `card_...`.
    #[schema(pattern = "^(ba|card)_[A-Za-z0-9_]{1,250}$", example = "ba_1QYxZ2LkdIwHu7ix")]
    external_account: String,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

impl<'de> Deserialize<'de> for DestinationBody {
    /// Deserializes by `kind`, so that an error names an unknown field.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let Kind { kind } = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        match kind.as_deref() {
            None | Some("bank") => serde_json::from_str(raw.get()).map(Self::Bank).map_err(D::Error::custom),
            Some("stripe") => serde_json::from_str(raw.get()).map(Self::Stripe).map_err(D::Error::custom),
            Some(_) => Err(D::Error::custom("a kind, expected bank or stripe")),
        }
    }
}

impl DestinationBody {
    pub(crate) fn read(&self) -> Result<Destination, Problem> {
        match self {
            Self::Bank(bank) => bank.read(),
            Self::Stripe(StripeBody { external_account, .. }) => {
                let registered = |id: &PspId| ["ba_", "card_"].iter().any(|prefix| id.as_str().starts_with(prefix));
                let id = PspId::parse(external_account).filter(registered);
                let wrong =
                    || Problem::invalid_field("payout_destination.external_account", "must be ba_... or card_...");
                Ok(Destination::Stripe { external_account: id.ok_or_else(wrong)? })
            }
        }
    }
}

impl BankBody {
    fn read(&self) -> Result<Destination, Problem> {
        let words = "ordinary, checking or savings";
        let parts = BankParts {
            bank_code: &self.bank_code,
            bank_name: self.bank_name.as_deref(),
            branch_code: &self.branch_code,
            branch_name: self.branch_name.as_deref(),
            kind: request::word("payout_destination.account_type", &self.account_type, AccountKind::parse, words)?,
            number: &self.account_number,
            holder: &self.account_holder,
        };
        let wrong = |error: BankError| Problem::invalid_field("payout_destination", error);
        BankAccount::new(&parts).map(Destination::Bank).map_err(wrong)
    }
}
