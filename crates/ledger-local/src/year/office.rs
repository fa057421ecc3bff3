//! What the operator does on certain days of the year.

use super::Span;
use super::api::{YearError, opt_text, text};
use super::town::Town;
use super::trade::REGIONAL;
use ledger_core::time::BusinessDate;
use serde_json::{Value, json};

/// The points and the regional currency that a campaign grants to each customer.
const CAMPAIGN_POINTS: u64 = 300;
const CAMPAIGN_REGIONAL: u64 = 1000;
/// The most cash that a merchant brings in a month, in yen.
const DEPOSIT_MAX: u64 = 10_000;
/// The amount of each top-up of the customers that do not trade.
const KEPT: u64 = 5000;

/// Something that the calendar has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// Customers that do not trade top their wallets up.
    KeptTopups,
    /// Terms are changed from a later day on, the first time.
    PointsChange,
    /// Terms are changed from a later day on, the second time.
    BonusChange,
    /// Points and regional currency are granted to every customer, from a budget.
    Campaign,
    /// A balance is corrected.
    Adjustment,
    /// A lost card is blocked and replaced.
    CardReplacement,
    /// A till is replaced: another device is enrolled.
    TillReplacement,
    /// A payer disputes a top-up at the bank.
    Dispute,
    /// The bank decides the oldest dispute for the payer.
    DisputeLost,
    /// The bank decides the oldest dispute for the programme.
    DisputeWon,
    /// A top-up is refunded.
    TopupRefund,
    /// A merchant begins to close.
    MerchantCloses,
    /// What that merchant has is settled: no run on schedule pays one that is suspended.
    MerchantSettled,
    /// That merchant is closed.
    MerchantClosed,
    /// A customer leaves, and what the wallet has is kept as unclaimed.
    CustomerCloses,
    /// What the customer had is paid out.
    UnclaimedPayout,
    /// A card is closed with what is on it.
    CardCloses,
    /// A merchant's bank returns a payout.
    PayoutReturned,
    /// Merchants bring cash that their tills took.
    CashDeposits,
    /// The cash of the counter is collected.
    CashCollection,
}

impl Occasion {
    /// What the calendar has on a day.
    pub(super) fn of(date: BusinessDate, span: Span) -> Vec<Self> {
        let date_text = date.to_string();
        let mut occasions: Vec<Self> =
            calendar(span).iter().filter(|(on, _)| *on == date_text).map(|(_, occasion)| *occasion).collect();
        match date.month_and_day().1 {
            5 => occasions.push(Self::CashDeposits),
            10 | 20 | 28 => occasions.push(Self::CashCollection),
            _ => {}
        }
        occasions
    }
}

/// The occasions of a span that have one day.
const fn calendar(span: Span) -> &'static [(&'static str, Occasion)] {
    use Occasion as On;
    match span {
        Span::Year => &[
            ("2023-04-02", On::KeptTopups),
            ("2023-06-15", On::PointsChange),
            ("2023-07-31", On::Campaign),
            ("2023-08-20", On::Adjustment),
            ("2023-09-10", On::CardReplacement),
            ("2023-09-20", On::TillReplacement),
            ("2023-10-05", On::Dispute),
            ("2023-10-25", On::DisputeLost),
            ("2023-11-10", On::TopupRefund),
            ("2023-11-15", On::MerchantCloses),
            ("2023-11-20", On::Dispute),
            ("2023-11-25", On::MerchantSettled),
            ("2023-12-05", On::DisputeWon),
            ("2023-12-10", On::BonusChange),
            ("2023-12-20", On::CustomerCloses),
            ("2024-01-10", On::UnclaimedPayout),
            ("2024-01-15", On::CardCloses),
            ("2024-02-10", On::PayoutReturned),
            ("2024-03-29", On::MerchantClosed),
        ],
        Span::LastQuarter => &[
            ("2024-01-02", On::KeptTopups),
            ("2024-01-05", On::Dispute),
            ("2024-01-10", On::PointsChange),
            ("2024-01-12", On::Campaign),
            ("2024-01-14", On::Adjustment),
            ("2024-01-16", On::CardReplacement),
            ("2024-01-17", On::TillReplacement),
            ("2024-01-18", On::MerchantCloses),
            ("2024-01-19", On::TopupRefund),
            ("2024-01-22", On::Dispute),
            ("2024-01-25", On::DisputeLost),
            ("2024-01-28", On::MerchantSettled),
            ("2024-02-05", On::DisputeWon),
            ("2024-02-06", On::BonusChange),
            ("2024-02-07", On::CustomerCloses),
            ("2024-02-14", On::UnclaimedPayout),
            ("2024-02-15", On::CardCloses),
            ("2024-03-10", On::PayoutReturned),
            ("2024-03-29", On::MerchantClosed),
        ],
    }
}

impl Town {
    /// Handles an occasion.
    pub(super) async fn handle(&mut self, occasion: Occasion, date: BusinessDate) -> Result<(), YearError> {
        match occasion {
            Occasion::KeptTopups => self.keep_topups().await,
            Occasion::PointsChange => self.change_terms(date, &json!({"points_rate": "0.02"})).await,
            Occasion::BonusChange => {
                self.change_terms(date, &json!({"card.bonus_rate": "0.02", "topup.points_rate": "0.03"})).await
            }
            Occasion::Campaign => self.grant_to_all().await,
            Occasion::Adjustment => self.adjust().await,
            Occasion::CardReplacement => self.replace_card().await,
            Occasion::TillReplacement => self.replace_till().await,
            Occasion::Dispute => self.dispute(),
            Occasion::DisputeLost => self.decide_dispute(false),
            Occasion::DisputeWon => self.decide_dispute(true),
            Occasion::TopupRefund => self.refund_topup().await,
            Occasion::MerchantCloses | Occasion::MerchantClosed => self.close_merchant().await,
            Occasion::MerchantSettled => self.settle_merchant().await,
            Occasion::CustomerCloses => self.close_customer().await,
            Occasion::UnclaimedPayout => self.pay_out_unclaimed().await,
            Occasion::CardCloses => self.close_card().await,
            Occasion::PayoutReturned => self.return_payout().await,
            Occasion::CashDeposits => self.deposit_cash().await,
            Occasion::CashCollection => self.collect_cash().await,
        }
    }

    async fn keep_topups(&mut self) -> Result<(), YearError> {
        for customer in Self::TRADING..Self::CUSTOMERS {
            let topup = self.top_up(customer, KEPT).await?;
            self.kept_topups.push(topup);
        }
        Ok(())
    }

    /// Changes terms from the first day of the next month on.
    async fn change_terms(&mut self, date: BusinessDate, changes: &Value) -> Result<(), YearError> {
        let from = date.month().last().next().bounds().0.to_string();
        let body = json!({"changes": changes, "from": from, "reason": "decided by the council"});
        self.operate("/v1/admin/terms/changes", &body).await.map(drop)
    }

    async fn grant_to_all(&mut self) -> Result<(), YearError> {
        let customers: Vec<String> = self.customers.iter().map(|customer| customer.id.clone()).collect();
        for (asset, amount) in [("POINT", CAMPAIGN_POINTS), (REGIONAL, CAMPAIGN_REGIONAL)] {
            let body = json!({
                "customer_ids": customers, "asset": asset, "amount": amount.to_string(), "reason": "summer campaign",
            });
            self.operate("/v1/admin/grants", &body).await?;
        }
        self.is_granting = true;
        Ok(())
    }

    /// Notes what the job has granted in the night before.
    pub(super) fn note_grants(&mut self) {
        if std::mem::take(&mut self.is_granting) {
            for customer in &mut self.customers {
                customer.points = customer.points.saturating_add(CAMPAIGN_POINTS);
                customer.regional = customer.regional.saturating_add(CAMPAIGN_REGIONAL);
            }
        }
    }

    async fn adjust(&mut self) -> Result<(), YearError> {
        let body = json!({
            "customer_id": self.kept(0)?, "direction": "credit", "amount": "500", "reason_code": "goodwill",
            "note": "apology for a delay",
        });
        self.operate("/v1/admin/adjustments", &body).await.map(drop)
    }

    async fn replace_card(&mut self) -> Result<(), YearError> {
        let next = self.blank_cards.pop().ok_or(YearError::Missing("blank card"))?;
        let at = self.cards.iter().position(|card| card.yen > 0).ok_or(YearError::Missing("card"))?;
        let Some(card) = self.cards.get_mut(at) else { return Ok(()) };
        let lost = std::mem::replace(&mut card.id, next.clone());
        self.operate(&format!("/v1/admin/cards/{lost}/block"), &json!({"reason": "lost"})).await?;
        let body = json!({"new_card_id": next, "reason": "lost"});
        self.operate(&format!("/v1/admin/cards/{lost}/replace"), &body).await.map(drop)
    }

    async fn replace_till(&mut self) -> Result<(), YearError> {
        let till = self.merchants.first().and_then(|merchant| merchant.till.as_ref());
        let terminal = till.map(|till| till.credential.terminal_id.clone()).ok_or(YearError::Missing("till"))?;
        let enrolled = self.enrol(&terminal).await?;
        if let Some(merchant) = self.merchants.first_mut() {
            merchant.till = Some(enrolled);
        }
        Ok(())
    }

    /// Disputes the newest top-up of the customers that do not trade.
    fn dispute(&mut self) -> Result<(), YearError> {
        let topup = self.kept_topups.pop().ok_or(YearError::Missing("top-up"))?;
        let dispute = self.simulator.dispute_payment(&topup.intent, None, None).map_err(YearError::failed)?;
        self.disputes.insert(0, text(&dispute, "id")?);
        Ok(())
    }

    fn decide_dispute(&mut self, is_won: bool) -> Result<(), YearError> {
        let dispute = self.disputes.pop().ok_or(YearError::Missing("dispute"))?;
        let decided = if is_won { self.simulator.win_dispute(&dispute) } else { self.simulator.lose_dispute(&dispute) };
        decided.map(drop).map_err(YearError::failed)
    }

    async fn refund_topup(&mut self) -> Result<(), YearError> {
        let topup = self.kept_topups.pop().ok_or(YearError::Missing("top-up"))?;
        let body = json!({"amount": "2000", "reason": "the customer asked for it"});
        self.operate(&format!("/v1/admin/topups/{}/refunds", topup.id), &body).await.map(drop)
    }

    /// Begins to close the last merchant, or closes it if that was begun long enough ago.
    async fn close_merchant(&mut self) -> Result<(), YearError> {
        let merchant = self.merchants.last_mut().ok_or(YearError::Missing("merchant"))?;
        merchant.is_open = false;
        let path = format!("/v1/admin/merchants/{}/close", merchant.id);
        let last = self.merchants.len().saturating_sub(1);
        self.payments.retain(|payment| payment.merchant != last);
        self.operate(&path, &json!({"reason": "retires"})).await.map(drop)
    }

    async fn settle_merchant(&mut self) -> Result<(), YearError> {
        let merchant = self.merchants.last().ok_or(YearError::Missing("merchant"))?;
        let body = json!({"merchant_id": merchant.id});
        self.operate("/v1/admin/settlements", &body).await.map(drop)
    }

    async fn close_customer(&mut self) -> Result<(), YearError> {
        let path = format!("/v1/admin/customers/{}/close", self.kept(1)?);
        self.operate(&path, &json!({"pay_out": "unclaimed", "reason": "moved away"})).await.map(drop)
    }

    async fn pay_out_unclaimed(&mut self) -> Result<(), YearError> {
        let body = json!({
            "account": format!("customer:{}", self.kept(1)?), "asset": "ECOPAY", "amount": KEPT.to_string(),
            "reason": "transfer 4711",
        });
        self.operate("/v1/admin/unclaimed/payouts", &body).await.map(drop)
    }

    async fn close_card(&mut self) -> Result<(), YearError> {
        let card = self.cards.iter_mut().rev().find(|card| card.yen > 0).ok_or(YearError::Missing("card"))?;
        card.is_open = false;
        let path = format!("/v1/admin/cards/{}/close", card.id);
        self.operate(&path, &json!({"pay_out": "unclaimed", "reason": "not wanted any more"})).await.map(drop)
    }

    /// A bank returns the newest payout of the second merchant.
    async fn return_payout(&mut self) -> Result<(), YearError> {
        let returned = self.newest_paid(1).await?;
        self.operate(&format!("{returned}/returns"), &json!({"note": "the account was closed"})).await.map(drop)
    }

    /// Records that the bank has accepted the files that are written, and, as the other owner, that it has debited those whose day is
    /// over.
    pub(super) async fn mark_bank_files(&mut self, date: BusinessDate) -> Result<(), YearError> {
        let [operator, other] = [self.operator(), self.owners[1].1.clone()];
        let page = self.api.get(&operator, "/v1/admin/bank-files").await?;
        for file in page.get("items").and_then(Value::as_array).into_iter().flatten() {
            let path = format!("/v1/admin/bank-files/{}", text(file, "bank_file_id")?);
            let is_over = text(file, "pay_on")? < date.to_string();
            match opt_text(file, "status") {
                Some("written") => {
                    let body = json!({"reference": "receipt 4711"});
                    drop(self.api.post(&operator, &format!("{path}/accept"), &body).await?);
                }
                Some("accepted") if is_over => {
                    drop(self.api.post(&other, &format!("{path}/debit"), &json!({})).await?);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The path of a merchant's newest settlement that was paid.
    async fn newest_paid(&mut self, merchant: usize) -> Result<String, YearError> {
        let merchant = self.merchants.get(merchant).ok_or(YearError::Missing("merchant"))?;
        let path = format!("/v1/admin/merchants/{}/settlements", merchant.id);
        let operator = self.operator();
        let page = self.api.get(&operator, &path).await?;
        let items = page.get("items").and_then(Value::as_array);
        let paid = items.and_then(|items| items.iter().find(|item| opt_text(item, "payout_status") == Some("paid")));
        let id = text(paid.ok_or(YearError::Missing("paid settlement"))?, "settlement_id")?;
        Ok(format!("{path}/{id}"))
    }

    async fn deposit_cash(&mut self) -> Result<(), YearError> {
        for at in 0..Self::TILLS {
            let Some(merchant) = self.merchants.get_mut(at) else { continue };
            let brought = merchant.cash.min(DEPOSIT_MAX);
            merchant.cash = merchant.cash.saturating_sub(brought);
            let path = format!("/v1/admin/merchants/{}/cash-deposits", merchant.id);
            if brought > 0 {
                let body = json!({"amount": brought.to_string(), "reason": "brought to the office"});
                self.operate(&path, &body).await?;
            }
        }
        Ok(())
    }

    async fn collect_cash(&mut self) -> Result<(), YearError> {
        let counter = self.counter.as_ref().ok_or(YearError::Missing("counter"))?;
        if self.counter_cash == 0 {
            return Ok(());
        }
        let path = format!("/v1/admin/terminals/{}/cash-collections", counter.credential.terminal_id);
        let body = json!({"amount": self.counter_cash.to_string(), "reason": "slip of the bank"});
        self.counter_cash = 0;
        self.operate(&path, &body).await.map(drop)
    }

    /// The id of a customer that does not trade.
    fn kept(&mut self, at: usize) -> Result<String, YearError> {
        Ok(self.customer(Self::TRADING.saturating_add(at))?.id.clone())
    }
}
