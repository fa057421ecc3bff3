//! Settlements, as the merchant API and the operator API show them.

use super::words;
use ledger_core::bank_files::{BankFile, BankTransfer, PayoutState};
use ledger_core::money::{Amount, Balance};
use ledger_core::settlements::{AssetTotals, Settlement, SettlementState};
use ledger_core::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A settlement of a merchant's period.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SettlementView {
    /// The settlement's id.
    pub settlement_id: String,
    /// The merchant's id.
    pub merchant_id: String,
    /// `collecting`, `held`, `verified`, `released`, `charged`, `paying`, `booked` (a bank file pays it: `payout_status` says how
    /// far that is), `paid` (through Stripe), `carried` (nothing was to be paid: the rest goes into the next one), `undone` (the
    /// next one takes its records) or `returned` (the money was returned: the next one pays it).
    #[schema(value_type = words::SettlementStatus)]
    pub status: String,
    /// Why it was undone: `kyc_refused`, `kyc_unanswered`, `payout_refused` or `step_failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::UndoReason>)]
    pub undo_reason: Option<&'static str>,
    /// The time since which it needs review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_since: Option<String>,
    /// Whether it needs review: it is carried although the merchant was owed something, because fee and tax would leave nothing.
    pub to_review: bool,
    /// The number of its payments and refunds.
    pub records: u32,
    /// The totals of its records, by asset.
    pub totals: BTreeMap<String, AssetTotalsView>,
    /// What the fee is taken on beyond `carried_in`: cash reduced the amount carried over, and not the fee. Absent if
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried_fee_base: Option<String>,
    /// The sum of all totals in yen, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net: Option<String>,
    /// Yen of fee per yen, as agreed when the period was closed.
    pub fee_rate: String,
    /// The same in per cent.
    pub fee_percent: String,
    /// Yen of tax per yen of fee.
    pub tax_rate: String,
    /// The same in per cent.
    pub tax_percent: String,
    /// The fee, rounded down to the yen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee: Option<String>,
    /// The tax on the fee, rounded down to the yen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax: Option<String>,
    /// The amount paid out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payable: Option<String>,
    /// The payout account: bank, branch, and the end of the account number; or the id of the account at Stripe.
    pub destination: String,
    /// The day of the payout that was agreed on.
    pub pay_on: String,
    /// How far the payout is: `scheduled`, `delayed` (a later day than `pay_on`, or its day has come and the bank has not accepted
    /// it), `paid` or `returned`. Absent if nothing is to be paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::PayoutStatus>)]
    pub payout_status: Option<&'static str>,
    /// The day on which the bank pays it; absent before it is booked, and through Stripe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_on: Option<String>,
    /// The bank file that has the transfer, or had it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_file_id: Option<String>,
    /// The run that closed the period; absent if it was closed by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settlement_run_id: Option<String>,
    /// The day at whose end the run closed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing_on: Option<String>,
    /// The room that it returned to the merchant's cash rooms, in yen: for cash that it covered. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_cash_room: Option<String>,
    /// The room that it returned to the merchant's refund room, in yen: for refunds that it covered. Absent if there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_refund_room: Option<String>,
    /// The time at which it was booked as a transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booked_at: Option<String>,
    /// The time of the payout through Stripe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_at: Option<String>,
    /// The id of the payout at Stripe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payout_reference: Option<String>,
    /// The time at which the return of the money became known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_at: Option<String>,
    /// The time at which the period was closed.
    pub created_at: String,
}

/// The part of one asset in a settlement.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AssetTotalsView {
    /// The total of payments.
    pub taken: String,
    /// The total of refunds.
    pub refunded: String,
    /// The amount of an earlier payout that was returned; no fee is taken on it again. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payouts_returned: Option<String>,
    /// The cash that terminals took for cards, which the merchant owes. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cash_taken: Option<String>,
    /// The part of such cash that terminals returned. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cash_reversed: Option<String>,
    /// The money that the merchant brought for such cash, less what of it was taken back; it may be negative. Absent if there
    /// is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deposited: Option<String>,
    /// The amount carried over from the settlement before; it may be negative.
    pub carried_in: String,
}

impl From<&Settlement> for SettlementView {
    fn from(settlement: &Settlement) -> Self {
        let yen = |amount: &Option<Amount>| amount.as_ref().map(Amount::text);
        let totals = settlement.totals.iter().map(|(asset, totals)| (asset.to_string(), totals.into()));
        Self {
            settlement_id: settlement.id.to_string(),
            merchant_id: settlement.merchant.to_string(),
            status: settlement.state.name().to_owned(),
            undo_reason: settlement.undo_reason.map(|why| why.name()),
            stuck_since: settlement.stuck_at.map(|at| at.to_string()),
            to_review: settlement.to_review,
            records: settlement.records,
            totals: totals.collect(),
            carried_fee_base: settlement.carried_base.as_delta().map(|base| base.text()),
            net: yen(&settlement.net),
            fee_rate: settlement.terms.fee_rate.text(),
            fee_percent: settlement.terms.fee_rate.percent(),
            tax_rate: settlement.terms.tax_rate.text(),
            tax_percent: settlement.terms.tax_rate.percent(),
            fee: yen(&settlement.fee),
            tax: yen(&settlement.tax),
            payable: yen(&settlement.payable),
            destination: settlement.destination.shown(),
            pay_on: settlement.pay_on.to_string(),
            settlement_run_id: settlement.run.map(|of| of.run.to_string()),
            closing_on: settlement.run.map(|of| of.closing.to_string()),
            returned_cash_room: yen(&settlement.returned_rooms.cash),
            returned_refund_room: yen(&settlement.returned_rooms.refunds),
            payout_status: payout_status(settlement).map(PayoutState::name),
            transfer_on: None,
            bank_file_id: None,
            booked_at: settlement.booked_at.map(|at| at.to_string()),
            paid_at: settlement.paid_at.map(|at| at.to_string()),
            payout_reference: settlement.payout_reference.clone(),
            returned_at: settlement.returned_at.map(|at| at.to_string()),
            created_at: settlement.created_at.to_string(),
        }
    }
}

impl SettlementView {
    /// The view of a settlement whose transfer was read, with the file that has it.
    #[must_use]
    pub fn with_transfer(
        settlement: &Settlement,
        (transfer, file): (&BankTransfer, Option<&BankFile>),
        now: Timestamp,
    ) -> Self {
        let (pay_on, state) = transfer.shown(settlement.pay_on, file, now);
        Self {
            payout_status: Some(state.name()),
            transfer_on: Some(pay_on.to_string()),
            bank_file_id: transfer.file.map(|id| id.to_string()),
            ..Self::from(settlement)
        }
    }
}

/// How far the payout of a settlement is, by the settlement alone. A payout through Stripe is made when its day begins.
fn payout_status(settlement: &Settlement) -> Option<PayoutState> {
    match settlement.state {
        SettlementState::Collecting
        | SettlementState::Held
        | SettlementState::Verified
        | SettlementState::Released
        | SettlementState::Charged
        | SettlementState::Paying
        | SettlementState::Booked => settlement.undo_reason.is_none().then_some(PayoutState::Scheduled),
        SettlementState::Paid => Some(PayoutState::Paid),
        SettlementState::Returned => Some(PayoutState::Returned),
        SettlementState::Carried | SettlementState::Undone => None,
    }
}

impl From<&AssetTotals> for AssetTotalsView {
    fn from(totals: &AssetTotals) -> Self {
        let [taken, refunded, carried_in] = [&totals.taken, &totals.refunded, &totals.carried_in].map(Balance::text);
        let present = |sum: &Balance| sum.as_delta().map(|_| sum.text());
        let [payouts_returned, cash_taken, cash_reversed, deposited] =
            [&totals.payouts_returned, &totals.cash_taken, &totals.cash_reversed, &totals.deposited].map(present);
        Self { taken, refunded, payouts_returned, cash_taken, cash_reversed, deposited, carried_in }
    }
}
