//! Seeds the demo tenant: opens it with its founders, who do the rest through the API. Every id is fixed, so that seeding
//! again changes nothing.

mod office;

use crate::credential::Credential;
use crate::demo::{Demo, DemoMember};
use crate::legacy::{self, Legacy};
use crate::member_args;
use crate::opening::{LOCAL, Opening, open_tenant};
use aws_sdk_dynamodb::Client;
use axum::Router;
use http::Method;
use ledger_core::bank::{AccountKind, BankParts, Sender, SenderParts};
use ledger_core::dynamo::Attributes;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Shards, attr};
use ledger_core::migration::Model;
use ledger_core::money::{Amount, AssetSpec, Rate, RegionalKey, Share};
use ledger_core::staff::{Founder, Founders};
use ledger_core::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase,
    SettlementTerms, SignInTerms, SpentPoints, TenantTerms, TermsVersion, TopupTerms,
};
use ledger_core::time::Timestamp;
use ledger_runtime::dynamo::Registry;
use ledger_runtime::execute::Ledger;
use office::{Office, Person};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Why the demo data could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SeedError(String);

/// What people call the demo tenant's programme.
pub const DISPLAY_NAME: &str = "Aoba Town EcoPay";
/// What a file of terms to begin with has in its place.
const DISPLAY_NAME_TO_BEGIN_WITH: &str = "Name of the programme";
/// The opening balances of the first customer, by the asset of a grant.
const GRANTS: [(&str, &str); 2] = [("POINT", "500"), ("REGIONAL#aoba", "2000")];
/// The money that the first customer is given by an adjustment, in yen.
const MONEY: &str = "10000";
/// The cash room of each terminal, in yen, so that it can load cards.
const CASH_ROOM: &str = "500000";
/// The number of shards of the demo's index keys: more than one, so that lists are merged from several.
const SHARDS: u32 = 4;
/// The time after which a top-up that was not paid releases its headroom.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Creates the demo tenant, its people, merchants and cards with their opening balances, and enrols its terminal.
///
/// # Errors
/// If a request is refused, or the store cannot be reached.
pub async fn seed(
    (ledger, faces): (&Ledger, &Router),
    demo: &Demo,
    terminal_file: Option<&Path>,
) -> Result<(), SeedError> {
    let seeder = Seeder::opened((ledger, faces), demo, None).await?;
    seeder.people_and_things().await?;
    seeder.money().await?;
    match terminal_file {
        Some(file) => seeder.terminal(file).await,
        None => Ok(()),
    }
}

/// Creates the tenant of a legacy model. Terms, merchants and staff are the demo's; customers are in the legacy model.
///
/// # Errors
/// If a request is refused, or the store cannot be reached.
pub async fn legacy(
    (ledger, faces): (&Ledger, &Router),
    demo: &Demo,
    legacy: Legacy,
    (client, table): (&Client, &str),
) -> Result<(), SeedError> {
    let demo = Demo { tenant: legacy::TENANT.to_owned(), customers: Vec::new(), terminals: Vec::new(), ..demo.clone() };
    let seeder = Seeder::opened((ledger, faces), &demo, Some(legacy.model)).await?;
    seeder.people_and_things().await?;
    legacy::write(client, table, &seeder.tenant, legacy).await.map_err(failed)
}

/// The demo tenant's terms.
///
/// # Errors
/// Never with the present constants, which are parsed like any other input.
pub fn terms() -> Result<TenantTerms, SeedError> {
    let yen = |text| Amount::parse(&AssetSpec::ECOPAY, text).map_err(failed);
    let regional = RegionalKey::parse("aoba").map_err(failed)?;
    let regional = AssetSpec::regional(regional, 0).ok_or_else(|| failed("regional scale"))?;
    let asset = |spec: AssetSpec, cap, transferable, spendable| {
        (spec.asset().clone(), AssetTerms { transferable, spendable, ..AssetTerms::running(spec, cap) })
    };
    Ok(TenantTerms {
        version: TermsVersion::FIRST,
        display_name: DisplayName::parse(DISPLAY_NAME).map_err(failed)?,
        key_phase: KeyPhase::Mandatory,
        assets: BTreeMap::from([
            asset(AssetSpec::ECOPAY, Some(yen("50000")?), true, true),
            asset(AssetSpec::POINT, None, false, true),
            asset(AssetSpec::JCREDIT, None, false, false),
            asset(regional, None, true, true),
        ]),
        co2: Co2Terms {
            rate: Rate::parse("0.01").map_err(failed)?,
            source: "EcoPay estimate".to_owned(),
            version: "2026-11".to_owned(),
        },
        points_rate: Share::parse("0.01").map_err(failed)?,
        card_cap: yen("20000")?,
        card_bonus_rate: Share::ZERO,
        card_pin: CardPinTerms::NotUsed,
        spent_points: SpentPoints::Deduct,
        due_shards: Shards::new(SHARDS).ok_or_else(|| failed("shards"))?,
        topup: Some(TopupTerms {
            points_rate: Share::parse("0.05").map_err(failed)?,
            abandoned_after: ABANDONED_AFTER,
        }),
        requests_per_second: None,
        hold_hours: None,
        limits: None,
        settlement: Some(settlement_terms()?),
        settlement_schedule: None,
        cash_bonus: CashBonusTerms::WhenCovered,
        ceilings: CeilingTerms { refund: yen("100000")?.as_balance(), cash: yen("1000000")?.as_balance() },
        grant_limits: GrantLimits::default(),
        sign_ins: SignInTerms::OwnIds,
    })
}

/// The demo's terms as a start for a tenant's, without its name and with the default number of shards for its due work.
///
/// # Errors
/// As [`terms`].
pub fn terms_to_begin_with() -> Result<TenantTerms, SeedError> {
    let display_name = DisplayName::parse(DISPLAY_NAME_TO_BEGIN_WITH).map_err(failed)?;
    Ok(TenantTerms { display_name, due_shards: Shards::DUE_DEFAULT, ..terms()? })
}

/// Settlement terms: a fee of 1.5 %, a tax of 10 % on the fee, and the account that merchants are paid from.
fn settlement_terms() -> Result<SettlementTerms, SeedError> {
    let account = BankParts {
        bank_code: "0005",
        bank_name: Some("ﾐﾂﾋﾞｼﾕ-ｴﾌｼﾞｴｲ"),
        branch_code: "001",
        branch_name: Some("ﾎﾝﾃﾝ"),
        kind: AccountKind::Ordinary,
        number: "7654321",
        holder: "ｱｵﾊﾞｼﾌﾟﾘﾍﾟｲﾄﾞ",
    };
    let sender = Sender::new(&SenderParts { code: "1234567890", account }).map_err(failed)?;
    let share = |text| Share::parse(text).map_err(failed);
    Ok(SettlementTerms {
        fee_rate: share("0.015")?,
        tax_rate: share("0.1")?,
        sender: Some(sender),
        ..SettlementTerms::free()
    })
}

struct Seeder<'a> {
    ledger: &'a Ledger,
    faces: &'a Router,
    tenant: Tenant,
    demo: &'a Demo,
    founders: [&'a DemoMember; 2],
    /// When the tenant was opened.
    opened_at: Timestamp,
}

impl<'a> Seeder<'a> {
    /// Opens the tenant with its founders, if it is not open.
    async fn opened(
        (ledger, faces): (&'a Ledger, &'a Router),
        demo: &'a Demo,
        legacy: Option<Model>,
    ) -> Result<Self, SeedError> {
        let tenant = Tenant::parse(&demo.tenant).map_err(failed)?;
        let founders = demo.founders();
        let [first, second] = founders[..] else { return Err(failed("the demo has no two founders")) };
        let keys = ledger.marker_keys().await.map_err(|problem| failed(problem.detail()))?;
        let opening = Opening {
            tenant: &tenant,
            region: LOCAL,
            terms: &terms()?,
            legacy,
            founders: (&as_founders(&founders)?, &keys),
        };
        let registry = Registry::of(ledger.dynamo());
        let _ = open_tenant((ledger, &registry), &opening).await.map_err(failed)?;
        let config = ledger.dynamo().get(&keys::config(&tenant)).await.map_err(failed)?;
        let config = config.ok_or_else(|| failed("the tenant is not open"))?;
        let opened_at = config.timestamp(attr::CREATED_AT).map_err(failed)?;
        Ok(Self { ledger, faces, tenant, demo, founders: [first, second], opened_at })
    }

    fn office(&self) -> Office<'_> {
        let founders = self.founders.map(|founder| Person::operator(&founder.staff_id));
        Office { faces: self.faces, tenant: &self.tenant, opened_at: self.opened_at, founders }
    }

    async fn people_and_things(&self) -> Result<(), SeedError> {
        let (office, demo) = (self.office(), self.demo);
        for (at, id) in demo.merchants.iter().enumerate() {
            let name = format!("Aoba Coffee {}", at.saturating_add(1));
            let body = json!({"merchant_id": id, "name": name, "shards": SHARDS});
            office.operate("/v1/admin/merchants", &body).await?;
            let destination = json!({"payout_destination": {
                "bank_code": "0009", "branch_code": "123", "account_type": "ordinary", "account_number": "1234567",
                "account_holder": "カ）ミドリショウテン",
            }});
            office.operate_by(Method::PATCH, &format!("/v1/admin/merchants/{id}"), &destination).await?;
        }
        self.members(&office).await?;
        for (at, id) in demo.customers.iter().enumerate() {
            let body = json!({"customer_id": id, "name": format!("Demo Customer {}", at.saturating_add(1))});
            office.operate("/v1/admin/customers", &body).await?;
        }
        for id in &demo.cards {
            let body = match demo.customers.first() {
                Some(owner) => json!({"card_id": id, "customer_id": owner}),
                None => json!({"card_id": id}),
            };
            office.operate("/v1/admin/cards", &body).await?;
        }
        for id in &demo.terminals {
            let body = json!({"terminal_id": id, "merchant_id": demo.merchants.first()});
            office.operate("/v1/admin/terminals", &body).await?;
            let path = format!("/v1/admin/terminals/{id}/cash-room");
            office.operate(&path, &json!({"allot": CASH_ROOM})).await?;
        }
        Ok(())
    }

    /// Invites everyone else, who accepts at once. A merchant's first owner needs no invitation, and invites its staff.
    async fn members(&self, office: &Office<'_>) -> Result<(), SeedError> {
        let founders = self.founders.map(|founder| &founder.staff_id);
        let mut owners = BTreeMap::<&str, Person<'_>>::new();
        for DemoMember { staff_id, merchant_id, role, email } in &self.demo.members {
            let invited = || json!({"staff_id": staff_id, "email": email, "roles": [role]});
            match merchant_id.as_deref() {
                None if founders.contains(&staff_id) => {}
                None => {
                    office.operate("/v1/admin/staff", &invited()).await?;
                    let person = Person::operator(staff_id).at(email);
                    office.send(&person, "/v1/admin/staff/accept", &json!({})).await?;
                }
                Some(merchant) => match owners.get(merchant) {
                    None => {
                        let first = json!({"staff_id": staff_id, "email": email});
                        office.operate(&format!("/v1/admin/merchants/{merchant}/staff"), &first).await?;
                        owners.insert(merchant, Person::of_merchant(staff_id, merchant));
                    }
                    Some(owner) => {
                        office.send(owner, "/v1/merchant/staff", &invited()).await?;
                        let person = Person::of_merchant(staff_id, merchant).at(email);
                        office.send(&person, "/v1/merchant/staff/accept", &json!({})).await?;
                    }
                },
            }
        }
        Ok(())
    }

    /// Gives the first customer money by an adjustment, and points and regional currency by grants.
    async fn money(&self) -> Result<(), SeedError> {
        const REASON: &str = "opening balance of the demo";
        let (office, customer) = (self.office(), self.demo.customers.first());
        for (asset, amount) in GRANTS {
            let body = json!({"customer_id": customer, "asset": asset, "amount": amount, "reason": REASON});
            office.operate("/v1/admin/grants", &body).await?;
        }
        let body = json!({
            "customer_id": customer, "direction": "credit", "amount": MONEY, "reason_code": "opening", "note": REASON,
        });
        office.operate("/v1/admin/adjustments", &body).await
    }

    /// Enrols the terminal, unless the credential file has its present enrolment.
    async fn terminal(&self, file: &Path) -> Result<(), SeedError> {
        let Some(id) = self.demo.terminals.first() else { return Ok(()) };
        let (office, path) = (self.office(), format!("/v1/admin/terminals/{id}"));
        let [first, _] = &office.founders;
        let epoch = epoch_of(&office.get(first, &path).await?)?;
        let is_current = Credential::load(file).is_ok_and(|credential| {
            credential.terminal_id == *id && credential.tenant == self.demo.tenant && credential.epoch == epoch
        });
        if is_current && epoch > 0 {
            return Ok(());
        }
        let (private_key, public_key) = Credential::key_pair().map_err(failed)?;
        let code = office.code(self.ledger, &format!("{path}/enrolment")).await?;
        let enrolled =
            office.anyone("/v1/terminal/enrolments", &json!({"code": code, "public_key": public_key})).await?;
        let epoch = epoch_of(&enrolled)?;
        let (tenant, terminal_id) = (self.demo.tenant.clone(), id.clone());
        Credential { tenant, terminal_id, epoch, private_key }.save(file).map_err(failed)
    }
}

fn epoch_of(terminal: &Value) -> Result<u64, SeedError> {
    terminal.get("epoch").and_then(Value::as_u64).ok_or_else(|| failed("no epoch"))
}

fn as_founders(members: &[&DemoMember]) -> Result<Founders, SeedError> {
    let founder = |member: &&DemoMember| {
        let id = member_args::id(&member.staff_id).map_err(failed)?;
        Ok(Founder { id, email: member_args::email(&member.email).map_err(failed)? })
    };
    let founders: Result<Vec<Founder>, SeedError> = members.iter().map(founder).collect();
    Founders::new(founders?).map_err(failed)
}

fn failed(error: impl ToString) -> SeedError {
    SeedError(error.to_string())
}
