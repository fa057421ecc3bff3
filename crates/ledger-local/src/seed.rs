//! Seeds the demo tenant through the same builders that the APIs use. Every id is fixed, so that seeding again changes
//! nothing.

mod members;

use crate::credential::Credential;
use crate::demo::Demo;
use crate::legacy::{self, Legacy};
use aws_sdk_dynamodb::Client;
use ledger_core::account::Account;
use ledger_core::adjustments::decide::Decision;
use ledger_core::adjustments::record::{Adjustment, ReasonCode};
use ledger_core::adjustments::request::AdjustmentRequest;
use ledger_core::bank::{AccountKind, BankParts, Sender, SenderParts};
use ledger_core::cards::record::CardIssue;
use ledger_core::cash_rooms::{self, RoomChange};
use ledger_core::customers::open::CustomerOpen;
use ledger_core::failure::Failure;
use ledger_core::grants::grant::{self, Grant};
use ledger_core::idempotency::{Admission, Answer, CanonicalRequest, Claim, Fields, IdempotencyKey, Window};
use ledger_core::ids::{
    Actor, AdjustmentId, AuditId, CardId, CustomerId, MerchantId, Principal, StaffId, Tenant, TerminalId,
    TerminalOwner, TransactionId,
};
use ledger_core::keys::{Partition, Shards};
use ledger_core::migration::{self, Model};
use ledger_core::money::{Amount, Asset, AssetSpec, Rate, RegionalKey};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::terminals::{self, EnrolmentCode, TerminalRecord};
use ledger_core::terms::{
    ApprovalTerms, AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, KeyPhase, RecordVersion,
    SettlementTerms, SignInTerms, SpentPoints, StaffSource, TenantTerms, TermsVersion, TopupTerms,
};
use ledger_core::transaction::Planned;
use ledger_core::{adjustments, cards, customers, merchants, tenants};
use ledger_runtime::execute::{Ledger, Outcome, with_secret};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use uuid::Uuid;

/// Why the demo data could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SeedError(String);

/// The number of shards of the demo's index keys: more than one, so that lists are merged from several.
const SHARDS: u32 = 4;
/// The time after which a top-up that was not paid releases its headroom.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Creates the demo tenant, its customers, merchants and cards with their opening balances, and enrols its terminal.
///
/// # Errors
/// If the store refuses a write or cannot be reached.
pub async fn seed(ledger: &Ledger, demo: &Demo, terminal_file: Option<&Path>) -> Result<(), SeedError> {
    let seeder = Seeder::new(ledger, demo)?;
    seeder.tenant().await?;
    seeder.seed_parties(demo).await?;
    seeder.members(demo).await?;
    seeder.money(demo).await?;
    if let Some(file) = terminal_file {
        seeder.terminal(demo, file).await?;
    }
    Ok(())
}

/// The demo tenant's terms.
///
/// # Errors
/// Never with the present constants, which are parsed like any other input.
pub fn terms() -> Result<TenantTerms, SeedError> {
    let yen = |text| Amount::parse(&AssetSpec::ECOPAY, text).map_err(failed);
    let rate = |text| Rate::parse(text).map_err(failed);
    let regional = RegionalKey::parse("aoba").map_err(failed)?;
    let regional = AssetSpec::regional(regional, 0).ok_or_else(|| failed("regional scale"))?;
    let asset = |spec: AssetSpec, cap, transferable, spendable| {
        (spec.asset().clone(), AssetTerms { transferable, spendable, ..AssetTerms::running(spec, cap) })
    };
    Ok(TenantTerms {
        version: TermsVersion::FIRST,
        key_phase: KeyPhase::Mandatory,
        assets: BTreeMap::from([
            asset(AssetSpec::ECOPAY, Some(yen("50000")?), true, true),
            asset(AssetSpec::POINT, None, false, true),
            asset(AssetSpec::JCREDIT, None, false, false),
            asset(regional, None, true, true),
        ]),
        co2: Co2Terms { rate: rate("0.01")?, source: "EcoPay estimate".to_owned(), version: "2026-11".to_owned() },
        points_rate: rate("0.01")?,
        card_cap: yen("20000")?,
        card_bonus_rate: Rate::ZERO,
        card_pin: CardPinTerms::NotUsed,
        spent_points: SpentPoints::Deduct,
        due_shards: Shards::new(SHARDS).ok_or_else(|| failed("shards"))?,
        topup: Some(TopupTerms { points_rate: rate("0.05")?, abandoned_after: ABANDONED_AFTER }),
        requests_per_second: None,
        hold_hours: None,
        limits: None,
        settlement: Some(settlement_terms()?),
        settlement_schedule: None,
        records: RecordVersion::NEWEST,
        cash_bonus: CashBonusTerms::WhenCovered,
        ceilings: CeilingTerms { refund: yen("100000")?.as_balance(), cash: yen("1000000")?.as_balance() },
        staff: StaffSource::Tokens,
        approvals: ApprovalTerms::NotRequired,
        sign_ins: SignInTerms::OwnIds,
    })
}

/// The demo's terms as a start for a tenant's, with more shards for its due work.
///
/// # Errors
/// As [`terms`].
pub fn terms_to_begin_with() -> Result<TenantTerms, SeedError> {
    Ok(TenantTerms { due_shards: Shards::DUE_DEFAULT, ..terms()? })
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
    let rate = |text| Rate::parse(text).map_err(failed);
    Ok(SettlementTerms { fee_rate: rate("0.015")?, tax_rate: rate("0.1")?, sender: Some(sender), registration: None })
}

/// Creates the tenant of a legacy model. Terms, merchants and staff are the demo's; customers are in the legacy model.
///
/// # Errors
/// If the store refuses a write or cannot be reached.
pub async fn legacy(
    ledger: &Ledger,
    demo: &Demo,
    legacy: Legacy,
    (client, table): (&Client, &str),
) -> Result<(), SeedError> {
    let demo = Demo { tenant: legacy::TENANT.to_owned(), customers: Vec::new(), terminals: Vec::new(), ..demo.clone() };
    let seeder = Seeder { legacy: Some(legacy.model), ..Seeder::new(ledger, &demo)? };
    seeder.tenant().await?;
    seeder.seed_parties(&demo).await?;
    seeder.members(&demo).await?;
    legacy::write(client, table, &seeder.tenant, legacy).await.map_err(failed)
}

struct Seeder<'a> {
    ledger: &'a Ledger,
    legacy: Option<Model>,
    tenant: Tenant,
    terms: TenantTerms,
    staff: StaffId,
    second_staff: StaffId,
}

impl<'a> Seeder<'a> {
    fn new(ledger: &'a Ledger, demo: &Demo) -> Result<Self, SeedError> {
        let staff = |at: usize| StaffId::parse(demo.staff.get(at).map_or("", String::as_str)).map_err(failed);
        Ok(Self {
            ledger,
            legacy: None,
            tenant: Tenant::parse(&demo.tenant).map_err(failed)?,
            terms: terms()?,
            staff: staff(0)?,
            second_staff: staff(1)?,
        })
    }

    async fn tenant(&self) -> Result<(), SeedError> {
        let transaction = {
            let now = self.ledger.clock().now();
            migration::open_tenant(&self.tenant, &self.terms, self.legacy, now).map_err(failed)?
        };
        match self.ledger.apply(&self.tenant, Operation::TenantConfigure, &transaction).await {
            Ok(()) => Ok(()),
            Err(error) if error.failure() == Some(Failure::AlreadyExists) => self.topups().await,
            Err(error) => Err(failed(ledger_runtime::problem::Problem::from(error).detail())),
        }
    }

    /// Adds terms of top-ups to a tenant whose data file was written before top-ups existed.
    async fn topups(&self) -> Result<(), SeedError> {
        let Some(offered) = &self.terms.topup else { return Ok(()) };
        let transaction = tenants::offer_topups(&self.tenant, offered, self.ledger.clock().now()).map_err(failed)?;
        match self.ledger.apply(&self.tenant, Operation::TenantConfigure, &transaction).await {
            Ok(()) => Ok(()),
            Err(error) if error.failure() == Some(Failure::AlreadyExists) => Ok(()),
            Err(error) => Err(failed(ledger_runtime::problem::Problem::from(error).detail())),
        }
    }

    async fn seed_parties(&self, demo: &Demo) -> Result<(), SeedError> {
        let tenant = &self.tenant;
        let actor = Actor::Staff(self.staff);
        let shards = Shards::new(SHARDS).ok_or_else(|| failed("shards"))?;
        for (at, id) in demo.merchants.iter().enumerate() {
            let id = MerchantId::parse(id).map_err(failed)?;
            let name = text(&format!("Aoba Coffee {}", at.saturating_add(1)))?;
            let seed = Seed::new(Operation::MerchantOpen, at);
            self.perform(seed, |cx| merchants::plan_open(tenant, Some(id), &name, shards, &self.terms, actor, &cx))
                .await?;
        }
        let lookups = self.ledger.lookup_keys().await.map_err(|problem| failed(problem.detail()))?;
        for (at, id) in demo.customers.iter().enumerate() {
            let open = CustomerOpen {
                tenant: tenant.clone(),
                actor,
                customer: Some(CustomerId::parse(id).map_err(failed)?),
                name: text(&format!("Demo Customer {}", at.saturating_add(1)))?,
                kana: None,
                email: None,
                phone: None,
            };
            let seed = Seed::new(Operation::CustomerOpen, at);
            self.perform(seed, |cx| customers::open::plan(&open, &self.terms, lookups.as_deref(), &cx)).await?;
        }
        let owner = demo.customers.first().map(|id| CustomerId::parse(id)).transpose().map_err(failed)?;
        for (at, id) in demo.cards.iter().enumerate() {
            let id = CardId::parse(id).map_err(failed)?;
            let seed = Seed::new(Operation::CardIssue, at);
            let issue = CardIssue { tenant, card: Some(id), owner, expires_at: None, actor };
            self.perform(seed, |cx| cards::record::plan_issue(&issue, self.terms.records, &cx)).await?;
        }
        let owner = demo.merchants.first().map_or("", String::as_str);
        let owner = MerchantId::parse(owner).map_err(failed)?;
        for (at, id) in demo.terminals.iter().enumerate() {
            let id = TerminalId::parse(id).map_err(failed)?;
            let seed = Seed::new(Operation::TerminalOpen, at);
            self.perform(seed, |cx| terminals::plan_open(tenant, Some(id), owner, self.terms.records, actor, &cx))
                .await?;
            self.cash_room((id, TerminalOwner::Merchant(owner)), at).await?;
        }
        Ok(())
    }

    /// Allots cash room to a terminal, so that it can load cards.
    async fn cash_room(&self, (terminal, owner): (TerminalId, TerminalOwner), at: usize) -> Result<(), SeedError> {
        let (tenant, by) = (&self.tenant, (Actor::Staff(self.staff), None));
        let room = RoomChange::Allot(Amount::parse(&AssetSpec::ECOPAY, "500000").map_err(failed)?);
        let seed = Seed::new(Operation::CashRoom, at);
        self.perform(seed, |cx| cash_rooms::plan_room(tenant, (terminal, owner), (&room, self.terms.records), by, &cx))
            .await
    }

    /// Gives 10,000 yen by an adjustment with four eyes, and 500 points and 2,000 of the regional currency by grants.
    /// Direct writes of balances are not used.
    async fn money(&self, demo: &Demo) -> Result<(), SeedError> {
        let customer = CustomerId::parse(demo.customers.first().map_or("", String::as_str)).map_err(failed)?;
        let regional = RegionalKey::parse("aoba").map(Asset::Regional).map_err(failed)?;
        for (at, (asset, amount)) in [(Asset::Point, "500"), (regional, "2000")].into_iter().enumerate() {
            let spec = self.terms.spec(&asset).ok_or_else(|| failed("asset"))?;
            let grant = Grant {
                tenant: self.tenant.clone(),
                actor: Actor::Staff(self.staff),
                customer,
                amount: Amount::parse(spec, amount).map_err(failed)?,
                reason: text("opening balance of the demo")?,
            };
            self.perform(Seed::new(Operation::Grant, at), |cx| grant::plan(&grant, &self.terms, &cx)).await?;
        }
        let amount = Amount::parse(&AssetSpec::ECOPAY, "10000").map_err(failed)?;
        let request = AdjustmentRequest {
            tenant: self.tenant.clone(),
            staff: self.staff,
            account: Account::Customer(customer),
            delta: amount.credit(),
            reason: ReasonCode::Opening,
            note: text("opening balance of the demo")?,
            finding: None,
        };
        let seed = Seed::new(Operation::AdjustmentRequest, 0);
        let id = AdjustmentId::new(seed.id(ID_RESOURCE));
        self.perform(seed, |cx| adjustments::request::plan(&request, &cx)).await?;
        let adjustment = Adjustment {
            id,
            account: request.account,
            delta: request.delta.clone(),
            reason: request.reason,
            requested_by: self.staff,
            state: "pending".to_owned(),
            created_at: self.ledger.clock().now(),
            finding: None,
        };
        let approve = |cx: Context| {
            adjustments::decide::plan(&self.tenant, self.second_staff, Decision::Approve, &adjustment, &self.terms, &cx)
        };
        let seed = Seed { staff: self.second_staff, ..Seed::new(Operation::AdjustmentApprove, 0) };
        self.perform_as(seed, approve).await
    }

    /// Enrols the terminal, unless the credential file has its present enrolment.
    async fn terminal(&self, demo: &Demo, file: &Path) -> Result<(), SeedError> {
        let Some(id) = demo.terminals.first() else { return Ok(()) };
        let id = TerminalId::parse(id).map_err(failed)?;
        let record = self.terminal_record(id).await?;
        let current = Credential::load(file).is_ok_and(|credential| {
            credential.terminal_id == id.to_string()
                && credential.tenant == self.tenant.as_str()
                && credential.epoch == u64::from(record.epoch)
        });
        if current && record.epoch > 0 {
            return Ok(());
        }
        let now = self.ledger.clock().now();
        let cx = self.ledger.context(now).map_err(failed)?;
        let planned = terminals::plan_code(&self.tenant, id, None, self.terms.records, Actor::Staff(self.staff), &cx);
        let planned = planned.map_err(failed)?;
        let code: EnrolmentCode = planned.receipt.code.clone();
        let key = format!("enrol-{}", cx.resource_id);
        let claim = self.claim(self.staff, Operation::EnrolmentCode, &key)?;
        let claim = self.ledger.formed(claim).await.map_err(|problem| failed(problem.detail()))?;
        settled(
            self.ledger
                .perform(claim, Admission::Execute, |_| async { Ok(planned.clone()) }, |_| with_secret(answer()))
                .await,
        )?;
        let (private_key, public_key) = Credential::key_pair().map_err(failed)?;
        let cx = self.ledger.context(now).map_err(failed)?;
        let enrol = terminals::enrol_on_record(&code, &public_key, record.epoch, None, &cx).map_err(failed)?;
        if let Err(error) = self.ledger.apply(&self.tenant, Operation::Enrol, &enrol).await {
            return Err(failed(ledger_runtime::problem::Problem::from(error).detail()));
        }
        let credential = Credential {
            tenant: self.tenant.to_string(),
            terminal_id: id.to_string(),
            epoch: u64::from(record.epoch).saturating_add(1),
            private_key,
        };
        credential.save(file).map_err(failed)
    }

    async fn terminal_record(&self, id: TerminalId) -> Result<TerminalRecord, SeedError> {
        let key = Partition::terminal(&self.tenant, id).profile();
        let item = self.ledger.dynamo().get(&key).await.map_err(failed)?;
        TerminalRecord::read(&item.ok_or_else(|| failed("the demo terminal is missing"))?).map_err(failed)
    }

    async fn perform<R: Clone>(
        &self,
        seed: Seed,
        plan: impl Fn(Context) -> Result<Planned<R>, PlanRefusal>,
    ) -> Result<(), SeedError> {
        self.perform_as(Seed { staff: self.staff, ..seed }, plan).await
    }

    async fn perform_as<R: Clone>(
        &self,
        seed: Seed,
        plan: impl Fn(Context) -> Result<Planned<R>, PlanRefusal>,
    ) -> Result<(), SeedError> {
        let claim = self.claim(seed.staff, seed.operation, &format!("demo-{}-{}", seed.operation, seed.at))?;
        let context = seed.context(claim.now);
        let plan = |_minted: Context| async { plan(context).map_err(Into::into) };
        let claim = self.ledger.formed(claim).await.map_err(|problem| failed(problem.detail()))?;
        settled(self.ledger.perform(claim, Admission::Execute, plan, |_| answer()).await)
    }

    fn claim(&self, staff: StaffId, operation: Operation, key: &str) -> Result<Claim, SeedError> {
        Ok(Claim {
            tenant: self.tenant.clone(),
            principal: Principal::Staff(staff),
            actor: Actor::Staff(staff),
            operation,
            key: IdempotencyKey::parse(key).map_err(failed)?,
            request: CanonicalRequest { method: "POST", path: "/dev/seed".to_owned(), fields: Fields::new() },
            window: Window::WALLET,
            now: self.ledger.clock().now(),
        })
    }
}

/// 2025-11-21T00:00:00Z
const DEMO_BORN_MS: u64 = 1_763_683_200_000;
const ID_TRANSACTION: u8 = 1;
const ID_RESOURCE: u8 = 2;
const ID_AUDIT: u8 = 3;

/// One step of the seeding. Its ids are the same each time.
#[derive(Clone, Copy)]
struct Seed {
    operation: Operation,
    at: usize,
    staff: StaffId,
}

impl Seed {
    fn new(operation: Operation, at: usize) -> Self {
        Self { operation, at, staff: StaffId::new(Uuid::nil()) }
    }

    /// A UUIDv7 with a fixed time, made from the step's name. INVARIANT: every later version makes the same.
    fn id(&self, kind: u8) -> Uuid {
        let digest: [u8; 32] = Sha256::digest(format!("{}-{}-{kind}", self.operation, self.at)).into();
        let [a, b, c, d, e, f, g, h, i, j, ..] = digest;
        let bytes = [a, b, c, d, e, f, g, h, i, j];
        uuid::Builder::from_unix_timestamp_millis(DEMO_BORN_MS, &bytes).into_uuid()
    }

    fn context(&self, now: ledger_core::time::Timestamp) -> Context {
        Context {
            now,
            transaction_id: TransactionId::new(self.id(ID_TRANSACTION)),
            resource_id: self.id(ID_RESOURCE),
            audit_id: AuditId::new(self.id(ID_AUDIT)),
            secret: [0; 16],
            lists_acts: true,
        }
    }
}

/// Whether the step was done by this start or an earlier one.
fn settled(outcome: Outcome) -> Result<(), SeedError> {
    match outcome.status() {
        200..300 | 410 => Ok(()),
        400 | 409 if ["already_exists", "wrong_state"].iter().any(|code| outcome.body().contains(code)) => Ok(()),
        _ => Err(failed(outcome.body())),
    }
}

fn answer() -> Answer {
    Answer { status: 200, content_type: "application/json".to_owned(), location: None, body: "{}".to_owned() }
}

fn text(words: &str) -> Result<FreeText, SeedError> {
    FreeText::parse(words, 140).map_err(failed)
}

fn failed(error: impl ToString) -> SeedError {
    SeedError(error.to_string())
}
