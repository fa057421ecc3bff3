//! What customers, merchants and tills do on a day.

use super::Span;
use super::api::{YearError, opt_text, text};
use super::office::Occasion;
use super::town::{Customer, Merchant, Payment, Topup, Town};
use ledger_core::time::BusinessDate;
use serde_json::{Value, json};
use std::time::Duration;

/// The most that a wallet and a card are filled to here, in yen: less than their caps.
const WALLET_MAX: u64 = 40_000;
const CARD_MAX: u64 = 15_000;
/// Payments that may be refunded are remembered up to this number.
const REMEMBERED: usize = 50;
/// The regional currency.
pub(super) const REGIONAL: &str = "REGIONAL#aoba";
/// A hold that is older is not ended by its merchant, but expires; less than the terms' time.
const HOLDS_LAST: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest wait for an event that Stripe delivers.
const LOOKS: u32 = 500;
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Something that is done on a day.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    /// A customer pays a merchant with a phone.
    Pay,
    /// A customer pays some of it in points.
    PayWithPoints,
    /// A customer pays in the regional currency.
    PayRegional,
    /// A merchant charges a code that the customer shows.
    Charge,
    /// A merchant holds an amount.
    Hold,
    /// A merchant captures or voids the oldest hold; some expire instead.
    EndHold,
    /// A merchant refunds a payment, in part or whole.
    Refund,
    /// A customer sends money to another.
    Transfer,
    /// A card pays at a till, or is loaded there for cash.
    Card,
    /// A card's payment is reversed by its till.
    ReverseCard,
    /// A card is loaded at the operator's counter for cash.
    Counter,
    /// What the calendar has on this day.
    Office(Occasion),
}

impl Town {
    /// What is done on a day, in its order.
    pub(super) fn business_of(&mut self, date: BusinessDate, span: Span) -> Vec<Act> {
        self.note_grants();
        let mut acts = Vec::new();
        let mut add = |act: Act, times: u64| {
            for _ in 0..times {
                acts.push(act);
            }
        };
        let dice = &mut self.dice;
        add(Act::Pay, dice.below(9).saturating_add(3));
        add(Act::Charge, dice.below(2));
        add(Act::PayWithPoints, dice.below(2));
        add(Act::PayRegional, dice.below(2));
        add(Act::Card, dice.below(5));
        add(Act::Transfer, dice.below(2));
        for (act, one_in) in
            [(Act::Refund, 3), (Act::Hold, 4), (Act::EndHold, 4), (Act::ReverseCard, 15), (Act::Counter, 4)]
        {
            if dice.below(one_in) == 0 {
                add(act, 1);
            }
        }
        dice.shuffle(&mut acts);
        let office = Occasion::of(date, span).into_iter().map(Act::Office);
        office.chain(acts).collect()
    }

    /// Does it.
    pub(super) async fn act(&mut self, act: Act, date: BusinessDate) -> Result<(), YearError> {
        match act {
            Act::Pay => self.pay().await,
            Act::PayWithPoints => self.pay_with_points().await,
            Act::PayRegional => self.pay_regional().await,
            Act::Charge => self.charge(true).await,
            Act::Hold => self.charge(false).await,
            Act::EndHold => self.end_hold().await,
            Act::Refund => self.refund().await,
            Act::Transfer => self.transfer().await,
            Act::Card => self.use_card().await,
            Act::ReverseCard => self.reverse_card().await,
            Act::Counter => self.load_at_the_counter().await,
            Act::Office(occasion) => self.handle(occasion, date).await,
        }
    }

    async fn pay(&mut self) -> Result<(), YearError> {
        let (customer, merchant, amount) = (self.any_customer(), self.any_merchant(), self.price());
        self.fund(customer, amount).await?;
        let body = json!({"merchant_id": self.merchant(merchant)?.id, "amount": amount.to_string()});
        let id = self.send_payment(customer, &body).await?;
        self.spend(customer, amount)?;
        self.remember(Payment { id, merchant, customer, amount });
        Ok(())
    }

    async fn pay_with_points(&mut self) -> Result<(), YearError> {
        let (customer, merchant, amount) = (self.any_customer(), self.any_merchant(), self.price());
        let points = self.customer(customer)?.points.min(amount);
        if points == 0 {
            return self.pay().await;
        }
        let rest = amount.saturating_sub(points);
        self.fund(customer, rest).await?;
        let body = json!({
            "merchant_id": self.merchant(merchant)?.id, "amount": amount.to_string(), "points": points.to_string(),
        });
        self.send_payment(customer, &body).await?;
        let payer = self.customer(customer)?;
        payer.points = payer.points.saturating_sub(points);
        self.spend(customer, rest)
    }

    async fn pay_regional(&mut self) -> Result<(), YearError> {
        let (customer, merchant) = (self.any_customer(), self.any_merchant());
        let amount = self.customer(customer)?.regional.min(self.price());
        if amount == 0 {
            return self.pay().await;
        }
        let body = json!({
            "merchant_id": self.merchant(merchant)?.id, "amount": amount.to_string(), "asset": REGIONAL,
        });
        self.send_payment(customer, &body).await?;
        let payer = self.customer(customer)?;
        payer.regional = payer.regional.saturating_sub(amount);
        Ok(())
    }

    async fn send_payment(&mut self, customer: usize, body: &Value) -> Result<String, YearError> {
        let token = self.customer(customer)?.token.clone();
        text(&self.api.post(&token, "/v1/me/payments", body).await?, "payment_id")
    }

    /// Charges a code, or holds the amount.
    async fn charge(&mut self, capture: bool) -> Result<(), YearError> {
        let (customer, merchant, amount) = (self.any_customer(), self.any_merchant(), self.price());
        self.fund(customer, amount).await?;
        let token = self.customer(customer)?.token.clone();
        let code = text(&self.api.post(&token, "/v1/me/payment-code", &json!({})).await?, "code")?;
        let token = self.merchant(merchant)?.token.clone();
        let body = json!({"code": code, "amount": amount.to_string(), "capture": capture});
        let id = text(&self.api.post(&token, "/v1/merchant/charges", &body).await?, "payment_id")?;
        self.spend(customer, amount)?;
        let payment = Payment { id, merchant, customer, amount };
        if capture {
            self.remember(payment);
        } else {
            self.held.push_back((self.api.now(), payment));
        }
        Ok(())
    }

    async fn end_hold(&mut self) -> Result<(), YearError> {
        // Older holds have expired, and the money is back in the wallet.
        let now = self.api.now();
        self.held.retain(|(begun, _)| now.since(*begun) < HOLDS_LAST);
        let Some((_, payment)) = self.held.pop_front() else { return Ok(()) };
        let token = self.merchant(payment.merchant)?.token.clone();
        let path = format!("/v1/merchant/payments/{}", payment.id);
        if self.dice.below(3) == 0 {
            self.api.post(&token, &format!("{path}/void"), &json!({})).await?;
            return Ok(());
        }
        let amount = payment.amount.saturating_sub(self.dice.below(payment.amount));
        self.api.post(&token, &format!("{path}/capture"), &json!({"amount": amount.to_string()})).await?;
        self.remember(Payment { amount, ..payment });
        Ok(())
    }

    async fn refund(&mut self) -> Result<(), YearError> {
        let Some(payment) = self.payments.pop_back() else { return Ok(()) };
        let amount = if self.dice.below(2) == 0 { payment.amount } else { payment.amount.div_ceil(3) };
        let token = self.merchant(payment.merchant)?.token.clone();
        let path = format!("/v1/merchant/payments/{}/refunds", payment.id);
        self.api.post(&token, &path, &json!({"amount": amount.to_string(), "reason": "returned"})).await?;
        let payer = self.customer(payment.customer)?;
        payer.yen = payer.yen.saturating_add(amount);
        Ok(())
    }

    async fn transfer(&mut self) -> Result<(), YearError> {
        let (from, to, amount) = (self.any_customer(), self.any_customer(), self.price());
        if from == to || self.customer(to)?.yen > WALLET_MAX {
            return Ok(());
        }
        self.fund(from, amount).await?;
        let body = json!({"to_customer_id": self.customer(to)?.id, "amount": amount.to_string(), "asset": "ECOPAY"});
        let token = self.customer(from)?.token.clone();
        self.api.post(&token, "/v1/me/transfers", &body).await?;
        self.spend(from, amount)?;
        let payee = self.customer(to)?;
        payee.yen = payee.yen.saturating_add(amount);
        Ok(())
    }

    async fn use_card(&mut self) -> Result<(), YearError> {
        let (card, amount) = (self.dice.index(self.cards.len()), self.price());
        let Some(till) = self.any_till() else { return Ok(()) };
        let (id, yen) = match self.cards.get(card) {
            Some(card) if card.is_open => (card.id.clone(), card.yen),
            Some(_) | None => return Ok(()),
        };
        if yen < amount {
            let loaded = self.dice.below(5).saturating_add(2).saturating_mul(1000).min(CARD_MAX.saturating_sub(yen));
            self.at_till(till, &format!("{id}/topup"), loaded).await?;
            self.load(card, loaded);
            if let Some(merchant) = self.merchants.get_mut(till) {
                merchant.cash = merchant.cash.saturating_add(loaded);
            }
            return Ok(());
        }
        self.at_till(till, &format!("{id}/pay"), amount).await?;
        self.unload(card, amount);
        Ok(())
    }

    /// A card pays, and the till takes that back.
    async fn reverse_card(&mut self) -> Result<(), YearError> {
        let Some(at) = self.cards.iter().position(|card| card.is_open && card.yen > 100) else { return Ok(()) };
        let (Some(till), Some(card)) = (self.any_till(), self.cards.get(at)) else { return Ok(()) };
        let path = format!("{}/pay", card.id);
        self.at_till(till, &path, 100).await?;
        let Some(till) = self.merchants.get_mut(till).and_then(|merchant| merchant.till.as_mut()) else {
            return Ok(());
        };
        let path = format!("/v1/terminal/operations/card_pay/{}/reverse", till.last_key());
        self.api.terminal(till, &path, &json!({})).await?;
        Ok(())
    }

    async fn load_at_the_counter(&mut self) -> Result<(), YearError> {
        let at = self.dice.index(self.cards.len());
        let card = self.cards.get(at).filter(|card| card.is_open && card.yen < CARD_MAX.saturating_sub(3000));
        let Some(card) = card else { return Ok(()) };
        let path = format!("/v1/terminal/cards/{}/topup", card.id);
        let counter = self.counter.as_mut().ok_or(YearError::Missing("counter"))?;
        self.api.terminal(counter, &path, &json!({"amount": "3000"})).await?;
        self.load(at, 3000);
        self.counter_cash = self.counter_cash.saturating_add(3000);
        Ok(())
    }

    async fn at_till(&mut self, merchant: usize, path: &str, amount: u64) -> Result<Value, YearError> {
        let till = self.merchants.get_mut(merchant).and_then(|merchant| merchant.till.as_mut());
        let till = till.ok_or(YearError::Missing("till"))?;
        self.api.terminal(till, &format!("/v1/terminal/cards/{path}"), &json!({"amount": amount.to_string()})).await
    }

    /// Tops a wallet up, unless it has this amount.
    async fn fund(&mut self, customer: usize, amount: u64) -> Result<(), YearError> {
        if self.customer(customer)?.yen < amount {
            let amount = self.dice.below(8).saturating_add(3).saturating_mul(1000).max(amount);
            self.top_up(customer, amount).await?;
        }
        Ok(())
    }

    /// Tops a wallet up by card at Stripe, and waits until the event has arrived.
    pub(super) async fn top_up(&mut self, customer: usize, amount: u64) -> Result<Topup, YearError> {
        let token = self.customer(customer)?.token.clone();
        let made = self.api.post(&token, "/v1/me/topups", &json!({"amount": amount.to_string()})).await?;
        let topup = Topup { id: text(&made, "topup_id")?, intent: text(&made, "payment_intent_id")? };
        self.simulator.succeed_payment(&topup.intent).map_err(YearError::failed)?;
        let path = format!("/v1/me/topups/{}", topup.id);
        for _ in 0..LOOKS {
            if opt_text(&self.api.get(&token, &path).await?, "status") == Some("succeeded") {
                let owner = self.customer(customer)?;
                owner.yen = owner.yen.saturating_add(amount);
                return Ok(topup);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Err(YearError::Missing("event of a top-up"))
    }

    /// A price in yen.
    fn price(&mut self) -> u64 {
        self.dice.below(290).saturating_add(10).saturating_mul(10)
    }

    fn any_customer(&mut self) -> usize {
        self.dice.index(Self::TRADING)
    }

    /// A merchant that is open. The last one closes in the year.
    fn any_merchant(&mut self) -> usize {
        let at = self.dice.index(self.merchants.len());
        if self.merchants.get(at).is_some_and(|merchant| merchant.is_open) { at } else { 0 }
    }

    /// A merchant that has a till.
    fn any_till(&mut self) -> Option<usize> {
        let at = self.dice.index(Self::TILLS);
        self.merchants.get(at).filter(|merchant| merchant.till.is_some()).map(|_| at)
    }

    pub(super) fn customer(&mut self, at: usize) -> Result<&mut Customer, YearError> {
        self.customers.get_mut(at).ok_or(YearError::Missing("customer"))
    }

    fn merchant(&self, at: usize) -> Result<&Merchant, YearError> {
        self.merchants.get(at).ok_or(YearError::Missing("merchant"))
    }

    fn spend(&mut self, customer: usize, amount: u64) -> Result<(), YearError> {
        let payer = self.customer(customer)?;
        payer.yen = payer.yen.saturating_sub(amount);
        Ok(())
    }

    fn load(&mut self, card: usize, amount: u64) {
        if let Some(card) = self.cards.get_mut(card) {
            card.yen = card.yen.saturating_add(amount);
        }
    }

    fn unload(&mut self, card: usize, amount: u64) {
        if let Some(card) = self.cards.get_mut(card) {
            card.yen = card.yen.saturating_sub(amount);
        }
    }

    fn remember(&mut self, payment: Payment) {
        self.payments.push_back(payment);
        if self.payments.len() > REMEMBERED {
            let _ = self.payments.pop_front();
        }
    }
}
