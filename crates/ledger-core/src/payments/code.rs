//! One-time payment codes: issued to a customer, shown to a merchant, consumed by the charge. A customer has one
//! slot, which the next code overwrites. The table holds only the code's hash.

use crate::failure::Failure;
use crate::forms;
use crate::ids::{CustomerId, SubjectId, Tenant};
use crate::keys::{self, Partition};
use crate::personal::Masked;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Draft, Planned, Role, TransactItem, exists};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::time::Duration;
use uuid::Uuid;

/// How long a code can be used.
pub const CODE_LIFETIME: Duration = Duration::from_secs(5 * 60);

const PREFIX: &str = "epc_";

/// A code: the customer's id and 128 random bits, in URL-safe base64 behind `epc_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentCode {
    customer: CustomerId,
    text: Masked<String>,
}

/// What a response says about an issued code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeReceipt {
    /// The code. Only a replay shows it again.
    pub code: PaymentCode,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl PaymentCode {
    fn mint(customer: CustomerId, secret: [u8; 16]) -> Self {
        let bytes = [customer.uuid().into_bytes(), secret].concat();
        Self { customer, text: Masked::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))) }
    }

    /// Reads a code that a merchant was shown; `None` if it does not have a code's form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        let (customer, secret) = bytes.split_at_checked(16)?;
        if secret.len() != 16 {
            return None;
        }
        let customer = CustomerId::new(Uuid::from_slice(customer).ok()?);
        Some(Self { customer, text: Masked::new(text.to_owned()) })
    }

    /// The customer whose wallet it debits.
    #[must_use]
    pub fn customer(&self) -> CustomerId {
        self.customer
    }

    /// The text, to be shown to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.text.expose()
    }

    /// The hash that the table and a fingerprint hold instead of the code.
    #[must_use]
    pub fn hash(&self) -> String {
        forms::code_hash(self.text.expose())
    }

    /// The action that consumes the code in the transaction of its debit.
    pub(super) fn consume(&self, tenant: &Tenant, now: Timestamp) -> TransactItem {
        forms::consume_code(keys::payment_code(tenant, self.customer), self.hash(), now)
    }
}

/// Issues a code to a customer whose wallet is open and not frozen. `sign_in` is the subject that asks for it, if the tenant
/// has moved customers: one that is not the customer's sign-in any more gets no code, however old a cache is.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan(
    tenant: &Tenant,
    customer: CustomerId,
    sign_in: Option<SubjectId>,
    cx: &Context,
) -> Result<Planned<CodeReceipt>, PlanRefusal> {
    let code = PaymentCode::mint(customer, cx.secret);
    let expires_at = cx.now.plus(CODE_LIFETIME);
    let profile = Partition::customer(tenant, customer).profile();
    let own = sign_in.map(|subject| forms::signs_in_with(customer, subject, Failure::AccountMissing));
    let guards = [exists(), forms::not_frozen()].into_iter().chain(own).collect();
    let items = vec![
        TransactItem::check(Role::Profile, profile, guards),
        forms::issue_code(keys::payment_code(tenant, customer), code.hash(), expires_at, cx.now),
    ];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: CodeReceipt { code, expires_at } })
}
