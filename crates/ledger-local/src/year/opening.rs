//! Opens the tenant of a year, and registers its people and things.

use super::api::{Api, Till, YearError, opt_text, text};
use super::town::{Card, Customer, Merchant, Town};
use super::{Stage, TENANT};
use crate::dice::Dice;
use crate::opening::{self, LOCAL, Opening};
use crate::seed;
use ledger_core::ids::{StaffId, Tenant};
use ledger_core::keys::Shards;
use ledger_core::money::Share;
use ledger_core::personal::FreeText;
use ledger_core::staff::{Founder, Founders};
use ledger_core::terms::{RegistrationNumber, SettlementTerms, TenantTerms};
use ledger_runtime::dynamo::Registry;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The seed of everything that chance decides.
const SEED: u64 = 2023;
/// The ceiling of a merchant's cash, and the room of its till, in yen.
const CASH_CEILING: &str = "5000000";
const CASH_ROOM: &str = "4000000";
/// The ceiling of a merchant's refunds, in yen.
const REFUND_CEILING: &str = "1000000";
/// One shop in so many has several index shards for its payments. Each shard is one more query of every sweep of the workers.
const SHOPS_PER_BUSY_ONE: usize = 10;
/// The number of cards without owner or money, for replacements.
const BLANK_CARDS: usize = 5;
/// When merchants are paid that have a schedule of their own; the first merchants are among them.
const SCHEDULES: [&str; 3] =
    ["twice_a_month:15,month_end bank_days:2", "weekly:friday bank_days:3", "monthly:20 bank_days:5"];

impl Town {
    /// Opens the tenant at the clock's time.
    pub(super) async fn open(stage: &Stage) -> Result<Self, YearError> {
        let tenant = Tenant::parse(TENANT).map_err(YearError::failed)?;
        let api = Api::new(stage, TENANT)?;
        let simulator = stage.stack.simulator().cloned().ok_or_else(|| YearError::failed("Stripe is not simulated"))?;
        let ids = [api.id()?, api.id()?];
        open_tenant(stage, &tenant, &ids).await?;
        let issuer = stage.stack.issuer();
        let tokens = [api.token(issuer, ("admin", &ids[0]), None)?, api.token(issuer, ("admin", &ids[1]), None)?];
        let ([one, two], [first, second]) = (ids, tokens);
        let mut town = Self {
            tenant,
            api,
            simulator,
            dice: Dice::new(SEED),
            owners: [(one, first), (two, second)],
            customers: Vec::new(),
            merchants: Vec::new(),
            cards: Vec::new(),
            blank_cards: Vec::new(),
            counter: None,
            counter_cash: 0,
            payments: VecDeque::new(),
            held: VecDeque::new(),
            kept_topups: Vec::new(),
            is_granting: false,
            disputes: Vec::new(),
        };
        for at in 0..Self::MERCHANTS {
            let merchant = town.open_merchant(stage, at).await?;
            town.merchants.push(merchant);
        }
        for at in 0..Self::CUSTOMERS {
            let id = town.api.id()?;
            let operator = town.operator();
            let body = json!({"customer_id": id, "name": format!("Customer {}", at.saturating_add(1))});
            town.api.post(&operator, "/v1/admin/customers", &body).await?;
            let token = town.api.token(issuer, ("customer", &id), None)?;
            town.customers.push(Customer { id, token, yen: 0, points: 0, regional: 0 });
        }
        for at in 0..Self::CARDS.saturating_add(BLANK_CARDS) {
            let id = town.api.id()?;
            // Every third card has an owner.
            let owner = town.customers.get(at).filter(|_| at < Self::CARDS && at.is_multiple_of(3));
            let body = match owner {
                Some(owner) => json!({"card_id": id, "customer_id": owner.id}),
                None => json!({"card_id": id}),
            };
            town.operate("/v1/admin/cards", &body).await?;
            if at < Self::CARDS {
                town.cards.push(Card { id, yen: 0, is_open: true });
            } else {
                town.blank_cards.push(id);
            }
        }
        town.counter = Some(town.open_counter().await?);
        town.open_shops().await?;
        Ok(town)
    }

    /// Sends a command of the first owner, and approves it as the second one if that is needed.
    pub(super) async fn operate(&mut self, path: &str, body: &Value) -> Result<Value, YearError> {
        let operator = self.operator();
        let answer = self.api.post(&operator, path, body).await?;
        self.approve(answer).await
    }

    /// Approves a command, as the second owner, if it was stored for that.
    pub(super) async fn approve(&mut self, answer: Value) -> Result<Value, YearError> {
        let Some(id) = opt_text(&answer, "approval_id") else { return Ok(answer) };
        let (approver, path) = (self.owners[1].1.clone(), format!("/v1/admin/approvals/{id}/approve"));
        self.api.post(&approver, &path, &json!({})).await
    }

    async fn open_merchant(&mut self, stage: &Stage, at: usize) -> Result<Merchant, YearError> {
        let (id, owner) = (self.api.id()?, self.api.id()?);
        let number = at.saturating_add(1);
        let shards = if at.is_multiple_of(SHOPS_PER_BUSY_ONE) { 4 } else { 1 };
        let body = json!({"merchant_id": id, "name": format!("Shop {number}"), "shards": shards});
        self.operate("/v1/admin/merchants", &body).await?;
        let body = json!({"email": format!("shop-{number}@example.com"), "staff_id": owner});
        self.operate(&format!("/v1/admin/merchants/{id}/staff"), &body).await?;
        let destination = json!({"payout_destination": {
            "bank_code": "0009", "bank_name": "ミツイスミトモ", "branch_code": "123", "branch_name": "アオバ",
            "account_type": "ordinary", "account_number": format!("{:07}", number.saturating_add(1_000_000)),
            "account_holder": format!("シヨウテン{number}"),
        }});
        self.operate(&format!("/v1/admin/merchants/{id}/refund-room"), &json!({"ceiling": REFUND_CEILING})).await?;
        let operator = self.operator();
        let changed = self.api.patch(&operator, &format!("/v1/admin/merchants/{id}"), &destination).await?;
        self.approve(changed).await?;
        if let Some(schedule) = SCHEDULES.get(at) {
            let body = json!({"schedule": schedule, "reason": "agreed in the contract"});
            self.operate(&format!("/v1/admin/merchants/{id}/settlement-schedule"), &body).await?;
        }
        let token = self.api.token(stage.stack.issuer(), ("merchant", &owner), Some(&id))?;
        let till = if at < Self::TILLS { Some(self.open_till(&id).await?) } else { None };
        Ok(Merchant { id, token, till, cash: 0, is_open: true })
    }

    async fn open_till(&mut self, merchant: &str) -> Result<Till, YearError> {
        let terminal = self.api.id()?;
        let body = json!({"terminal_id": terminal, "merchant_id": merchant});
        self.operate("/v1/admin/terminals", &body).await?;
        let path = format!("/v1/admin/merchants/{merchant}/cash-room");
        self.operate(&path, &json!({"ceiling": CASH_CEILING})).await?;
        self.enrolled_with_room(&terminal).await
    }

    async fn open_counter(&mut self) -> Result<Till, YearError> {
        let terminal = self.api.id()?;
        self.operate("/v1/admin/terminals", &json!({"terminal_id": terminal, "kind": "counter"})).await?;
        self.operate("/v1/admin/cash-room", &json!({"ceiling": CASH_CEILING})).await?;
        self.enrolled_with_room(&terminal).await
    }

    async fn enrolled_with_room(&mut self, terminal: &str) -> Result<Till, YearError> {
        let till = self.enrol(terminal).await?;
        self.operate(&format!("/v1/admin/terminals/{terminal}/cash-room"), &json!({"allot": CASH_ROOM})).await?;
        Ok(till)
    }

    /// Enrols a terminal, also one that was enrolled before.
    pub(super) async fn enrol(&mut self, terminal: &str) -> Result<Till, YearError> {
        let (operator, path) = (self.operator(), format!("/v1/admin/terminals/{terminal}/enrolment"));
        let mut issued = self.api.post(&operator, &path, &json!({})).await?;
        if opt_text(&issued, "approval_id").is_some() {
            self.approve(issued).await?;
            issued = self.api.post(&operator, &path, &json!({})).await?;
        }
        self.api.enrol(terminal, &text(&issued, "code")?).await
    }

    /// Two shops of the first merchant, one of which has the till.
    async fn open_shops(&mut self) -> Result<(), YearError> {
        let Some(merchant) = self.merchants.first() else { return Ok(()) };
        let token = merchant.token.clone();
        let terminal = merchant.till.as_ref().map(|till| till.credential.terminal_id.clone());
        let station = self.api.id()?;
        self.api.post(&token, "/v1/merchant/shops", &json!({"shop_id": station, "name": "Station"})).await?;
        self.api.post(&token, "/v1/merchant/shops", &json!({"name": "Market"})).await?;
        if let Some(terminal) = terminal {
            let path = format!("/v1/merchant/terminals/{terminal}");
            self.api.patch(&token, &path, &json!({"shop": station})).await?;
        }
        Ok(())
    }
}

async fn open_tenant(stage: &Stage, tenant: &Tenant, owners: &[String; 2]) -> Result<(), YearError> {
    let ledger = stage.workers.app().ledger();
    let keys = ledger.marker_keys().await.map_err(|problem| YearError::problem(&problem))?;
    let founders = owners.iter().enumerate().map(|(at, id)| {
        let email =
            FreeText::email(&format!("owner-{}@example.com", at.saturating_add(1))).map_err(YearError::failed)?;
        Ok(Founder { id: StaffId::parse(id).map_err(YearError::failed)?, email })
    });
    let founders = Founders::new(founders.collect::<Result<Vec<_>, YearError>>()?).map_err(YearError::failed)?;
    let opening = Opening { tenant, region: LOCAL, terms: &terms()?, legacy: None, founders: (&founders, &keys) };
    let registry = Registry::of(ledger.dynamo());
    let _ = opening::open_tenant((ledger, &registry), &opening).await.map_err(YearError::failed)?;
    Ok(())
}

/// The terms that the year begins with.
fn terms() -> Result<TenantTerms, YearError> {
    let terms = seed::terms().map_err(YearError::failed)?;
    let settlement = terms.settlement.ok_or(YearError::Missing("settlement"))?;
    let registration = RegistrationNumber::parse("T1234567890123");
    Ok(TenantTerms {
        // One process does the due work, so more partitions of it would only be more queries.
        due_shards: Shards::ONE,
        card_bonus_rate: Share::parse("0.01").map_err(YearError::failed)?,
        settlement: Some(SettlementTerms { registration, ..settlement }),
        settlement_schedule: Some("monthly:month_end bank_days:3".parse().map_err(YearError::failed)?),
        ..terms
    })
}
