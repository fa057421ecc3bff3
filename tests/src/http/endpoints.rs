//! Every endpoint that changes state: a request that succeeds, its effect, and one that is refused under the same key.

use super::migrating::last;
use super::prepared::{Prepared, change, frozen, grant, make, prepared};
use super::settling::{payable, payment_day, settled};
use super::stripe::signed;
use super::world::{new_id, new_key};
use super::{
    Call, Customer, Merchant, Terminal, World, account_limits, approvals, breaks, card_life, card_pins, closing,
    parked, settlement_runs, shops, staff, terminal_charges, tills, wind_downs,
};
use ledger_core::migration::Model;
use ledger_core::settlements::Task;
use ledger_core::settlements::saga::STEPS;
use serde_json::json;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A tenant with a merchant and a terminal.
#[derive(Debug)]
pub struct Stage {
    /// The tenant.
    pub world: World,
    /// The merchant.
    pub merchant: Merchant,
    /// The merchant's terminal.
    pub terminal: Terminal,
}

macro_rules! endpoints {
    ($($name:ident = $operation_id:literal,)*) => {
        /// An endpoint.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each is named as its path is")]
        pub enum Endpoint { $($name,)* }

        impl Endpoint {
            /// Every endpoint.
            pub const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            /// Its operation in openapi.json.
            #[must_use]
            pub fn operation_id(self) -> &'static str {
                match self { $(Self::$name => $operation_id,)* }
            }
        }
    };
}

endpoints! {
    Pay = "post_me_payments",
    Transfer = "post_me_transfers",
    PaymentCode = "post_me_payment_code",
    ProfilePatch = "patch_me",
    TopupCancel = "post_me_topups_id_cancel",
    CardPatch = "patch_me_cards_card_id",
    CardPin = "post_me_cards_card_id_pin",
    Charge = "post_merchant_charges",
    Refund = "post_merchant_payments_id_refunds",
    CustomerOpen = "post_admin_customers",
    CustomerPatch = "patch_admin_customers_customer_id",
    MerchantOpen = "post_admin_merchants",
    MerchantPatch = "patch_admin_merchants_merchant_id",
    MerchantOwner = "post_admin_merchants_merchant_id_staff",
    StaffStrike = "post_admin_merchants_merchant_id_staff_staff_id_strike",
    StaffInvite = "post_admin_staff",
    StaffChange = "patch_admin_staff_staff_id",
    StaffAccept = "post_admin_staff_accept",
    StaffDeclare = "post_admin_staff_me_beneficiaries",
    RecoveryCancel = "post_admin_owner_recovery_cancel",
    ShopStaffInvite = "post_merchant_staff",
    ShopStaffChange = "patch_merchant_staff_staff_id",
    ShopStaffAccept = "post_merchant_staff_accept",
    ShopOpen = "post_merchant_shops",
    ShopChange = "patch_merchant_shops_shop_id",
    TerminalAssign = "patch_merchant_terminals_terminal_id",
    CardIssue = "post_admin_cards",
    CardAdminPatch = "patch_admin_cards_card_id",
    CardPinReset = "post_admin_cards_card_id_pin_reset",
    TerminalOpen = "post_admin_terminals",
    TerminalPatch = "patch_admin_terminals_terminal_id",
    Enrolment = "post_admin_terminals_terminal_id_enrolment",
    AccountLimits = "post_admin_account_limits",
    TermsChange = "post_admin_terms_changes",
    TermsCancel = "post_admin_terms_cancellation",
    TermsPreview = "post_admin_terms_previews",
    CashCeiling = "post_admin_merchants_merchant_id_cash_room",
    CashRoom = "post_admin_terminals_terminal_id_cash_room",
    CounterCeiling = "post_admin_cash_room",
    CashCollection = "post_admin_terminals_terminal_id_cash_collections",
    RefundCeiling = "post_admin_merchants_merchant_id_refund_room",
    AssetBudget = "post_admin_assets_budget",
    CashDeposit = "post_admin_merchants_merchant_id_cash_deposits",
    CashDepositReversal = "post_admin_merchants_merchant_id_cash_deposits_deposit_id_reversal",
    CashReversal = "post_admin_terminals_terminal_id_cash_reversals",
    OperatorRefund = "post_admin_merchants_merchant_id_refunds",
    Grant = "post_admin_grants",
    BulkGrant = "post_admin_grants",
    AdjustmentRequest = "post_admin_adjustments",
    ApprovalApprove = "post_admin_approvals_approval_id_approve",
    ApprovalReject = "post_admin_approvals_approval_id_reject",
    ApprovalWithdraw = "post_admin_approvals_approval_id_withdraw",
    CardTopup = "post_terminal_cards_card_id_topup",
    CardPay = "post_terminal_cards_card_id_pay",
    CardRefund = "post_terminal_cards_card_id_refund",
    CardReverse = "post_terminal_operations_operation_key_reverse",
    EventDismiss = "post_admin_attention_events_event_id_dismiss",
    ParkedResolve = "post_admin_attention_operations_resource_id_resolve",
    DecisionRequest = "post_admin_topups_id_decisions",
    SettlementOpen = "post_admin_settlements",
    SettlementResume = "post_admin_merchants_merchant_id_settlements_id_resume",
    ReturnRequest = "post_admin_merchants_merchant_id_settlements_id_returns",
    SettlementRunStart = "post_admin_settlement_runs",
    SettlementSchedule = "post_admin_merchants_merchant_id_settlement_schedule",
    BankFileCut = "post_admin_bank_files",
    BankFileAccept = "post_admin_bank_files_bank_file_id_accept",
    BankFileDebit = "post_admin_bank_files_bank_file_id_debit",
    BankFileReject = "post_admin_bank_files_bank_file_id_reject",
    BankFileWithdraw = "post_admin_bank_files_bank_file_id_withdraw",
    BankFileReopen = "post_admin_bank_files_bank_file_id_reopen",
    BankFileSupersede = "post_admin_bank_files_bank_file_id_supersede",
    FileRequest = "post_admin_files",
    Topup = "post_me_topups",
    TopupRefund = "post_admin_topups_id_refunds",
    Authorize = "post_merchant_charges",
    Capture = "post_merchant_payments_id_capture",
    Void = "post_merchant_payments_id_void",
    ReconciliationRequest = "post_admin_reconciliation_runs",
    BreakAdjustment = "post_admin_reconciliation_runs_id_findings_finding_id_adjustment",
    CardBatch = "post_admin_card_batches",
    CardAssign = "post_admin_cards_card_id_assign",
    CardBlock = "post_admin_cards_card_id_block",
    CardReplace = "post_admin_cards_card_id_replace",
    CardClose = "post_admin_cards_card_id_close",
    CustomerClose = "post_admin_customers_customer_id_close",
    CustomerErase = "post_admin_customers_customer_id_erase",
    TerminalClose = "post_admin_terminals_terminal_id_close",
    MerchantClose = "post_admin_merchants_merchant_id_close",
    UnclaimedClaim = "post_admin_unclaimed_claims",
    UnclaimedPayout = "post_admin_unclaimed_payouts",
    WindDown = "post_admin_wind_downs",
    JobStop = "post_admin_jobs_job_id_stop",
    SignInMove = "post_admin_customers_customer_id_sign_in",
    TerminalCharge = "post_terminal_charges",
    TerminalChargeReverse = "post_terminal_charges_key_reverse",
    // Last, because a tenant that migrates is refused some of the others.
    MigrationBackfill = "post_admin_migration_backfill",
    MigrationVerify = "post_admin_migration_verify",
    MigrationContract = "post_admin_migration_contract",
}

impl Stage {
    /// Makes a merchant and a terminal in a world. The terminal has cash room.
    pub async fn new(world: World) -> Self {
        let merchant = world.merchant().await;
        let terminal = world.terminal_with_cash(&merchant, "100000").await;
        Self { world, merchant, terminal }
    }

    /// A customer who has paid the merchant, with the payment's id.
    pub async fn paid(&self, amount: &str) -> (Customer, String) {
        let customer = self.world.customer_with(amount).await;
        let paid = self.world.api.settle(&customer.pays(&self.merchant, amount)).await.good();
        (customer, paid.text("/payment_id"))
    }

    /// A customer with an authorized payment to the merchant, with the payment's id.
    pub async fn held(&self, amount: &str) -> (Customer, String) {
        let customer = self.world.customer_with(amount).await;
        let authorize = self.merchant.authorizes(&customer.code(&self.world).await, amount);
        let held = self.world.api.settle(&authorize).await.good();
        (customer, held.text("/payment_id"))
    }

    /// A card that has paid at the terminal, with the request and the payment's id.
    pub async fn paid_by_card(&self, amount: &str) -> (String, Call, String) {
        let card = self.world.card(None, amount).await;
        let call = self.terminal.does("pay", &card, &json!({"amount": amount}));
        let payment = self.world.api.settle(&call).await.good().text("/payment_id");
        (card, call, payment)
    }
}

impl Endpoint {
    /// Whether the endpoint calls the PSP.
    #[must_use]
    pub fn calls_psp(self) -> bool {
        matches!(self, Self::Topup | Self::TopupRefund)
    }

    /// The endpoints whose whole effect is one transaction of the ledger: they do not call the PSP.
    pub fn wallet() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|endpoint| !endpoint.calls_psp())
    }

    /// Whether the endpoint requires a tenant with a legacy model; preparing it gives the tenant one.
    #[must_use]
    pub fn is_migrations(self) -> bool {
        matches!(self, Self::MigrationBackfill | Self::MigrationVerify | Self::MigrationContract)
    }

    /// How long its keys are replayed.
    #[must_use]
    pub fn window(self) -> Duration {
        if self.calls_psp() { DAY } else { DAY * 90 }
    }

    /// Whether a terminal calls it: a terminal's keys have another form.
    #[must_use]
    pub fn is_terminals(self) -> bool {
        matches!(self, Self::CardTopup | Self::CardPay | Self::CardRefund | Self::CardReverse)
            || matches!(self, Self::TerminalCharge | Self::TerminalChargeReverse)
    }

    /// A fresh key in the form that this endpoint takes.
    pub fn new_key(self, stage: &Stage) -> String {
        if self.is_terminals() { stage.terminal.next_key() } else { new_key() }
    }

    /// Creates what the request needs, and returns the request, as it is executed.
    pub async fn prepare_executed(self, stage: &Stage) -> Prepared {
        let Stage { world, merchant, terminal } = stage;
        match self {
            Self::Pay => prepared(rich(world).await.pays(merchant, "300"), 201, 1).with_other("amount", "301"),
            Self::Transfer => {
                let call = rich(world).await.sends(&world.customer().await, "300");
                prepared(call, 201, 1).with_other("amount", "301")
            }
            Self::PaymentCode => prepared(rich(world).await.requests_code(), 200, 0),
            Self::ProfilePatch => {
                let body = json!({"name": "Taro", "email": "taro@example.com"});
                prepared(Call::patch("/v1/me", &rich(world).await.who, &body).key(new_key()), 200, 0)
                    .with_other("name", "Jiro")
            }
            Self::CardPatch => {
                let customer = world.customer().await;
                let path = format!("/v1/me/cards/{}", world.card(Some(&customer), "0").await);
                let call = Call::patch(&path, &customer.who, &json!({"status": "frozen"})).key(new_key());
                prepared(call, 200, 0).with_other("status", "active")
            }
            Self::Charge => {
                let code = rich(world).await.code(world).await;
                prepared(merchant.charges(&code, "300"), 201, 1).with_other("amount", "301")
            }
            Self::Refund => {
                let (_, payment) = stage.paid("1000").await;
                prepared(merchant.refunds(&payment, "300"), 201, 1).with_other("amount", "301")
            }
            Self::CustomerOpen => {
                make(world, "/v1/admin/customers", &json!({"name": "Yuki"})).with_other("name", "Yuna")
            }
            Self::CustomerPatch => {
                let path = format!("/v1/admin/customers/{}", world.customer().await.id);
                change(world, &path, &frozen()).with_other("status", "active")
            }
            Self::SignInMove => super::sign_ins::prepare(world).await,
            Self::MerchantOpen => {
                make(world, "/v1/admin/merchants", &json!({"name": "Baker"})).with_other("name", "Butcher")
            }
            Self::MerchantPatch => {
                let path = format!("/v1/admin/merchants/{}", world.merchant().await.id);
                change(world, &path, &json!({"status": "suspended", "name": "Baker"})).with_other("status", "active")
            }
            Self::MerchantOwner
            | Self::StaffStrike
            | Self::StaffInvite
            | Self::StaffChange
            | Self::StaffAccept
            | Self::StaffDeclare
            | Self::RecoveryCancel
            | Self::ShopStaffInvite
            | Self::ShopStaffChange
            | Self::ShopStaffAccept => staff::prepare(self, world).await,
            Self::ShopOpen | Self::ShopChange | Self::TerminalAssign => shops::prepare(self, stage).await,
            Self::CardIssue => make(world, "/v1/admin/cards", &json!({})).with_other("card_id", new_id()),
            Self::CardAdminPatch => {
                let path = format!("/v1/admin/cards/{}", world.card(None, "0").await);
                change(world, &path, &frozen()).with_other("status", "active")
            }
            Self::CardPin | Self::CardPinReset => card_pins::prepare(self, world).await,
            Self::CardBatch | Self::CardAssign | Self::CardBlock | Self::CardReplace => {
                card_life::prepare(self, world).await
            }
            Self::CardClose | Self::CustomerClose | Self::TerminalClose | Self::MerchantClose => {
                closing::prepare(self, world).await
            }
            Self::CustomerErase => super::erasures::prepare(world).await,
            Self::UnclaimedClaim | Self::UnclaimedPayout => closing::prepare_of_unclaimed(self, world).await,
            Self::SettlementRunStart | Self::SettlementSchedule => settlement_runs::prepare(self, world).await,
            Self::BankFileCut
            | Self::BankFileAccept
            | Self::BankFileDebit
            | Self::BankFileReject
            | Self::BankFileWithdraw
            | Self::BankFileReopen
            | Self::BankFileSupersede => super::bank_files::prepare(self, world).await,
            Self::FileRequest => super::files::prepare(world),
            Self::WindDown => wind_downs::prepare(world),
            Self::JobStop => super::jobs::prepare(world).await,
            Self::TerminalCharge | Self::TerminalChargeReverse => terminal_charges::prepare(self, stage).await,
            Self::AccountLimits => account_limits::prepare(world).await,
            Self::TermsChange | Self::TermsCancel | Self::TermsPreview => super::terms::prepare(self, world).await,
            Self::AssetBudget => super::assets::prepare(world).await,
            Self::TerminalOpen
            | Self::TerminalPatch
            | Self::Enrolment
            | Self::CashCeiling
            | Self::CashRoom
            | Self::CounterCeiling
            | Self::CashCollection
            | Self::RefundCeiling
            | Self::CashDeposit
            | Self::CashDepositReversal
            | Self::CashReversal
            | Self::OperatorRefund => tills::prepare(self, stage).await,
            Self::ApprovalApprove | Self::ApprovalReject | Self::ApprovalWithdraw => {
                approvals::prepare(self, world).await
            }
            Self::Grant => {
                let body = grant("customer_id", json!(world.customer().await.id));
                Prepared { entries: 1, ..make(world, "/v1/admin/grants", &body).with_other("amount", "301") }
            }
            Self::BulkGrant => {
                let body = grant("customer_ids", json!([world.customer().await.id, world.customer().await.id]));
                Prepared { status: 202, ..make(world, "/v1/admin/grants", &body).with_other("amount", "301") }
            }
            Self::AdjustmentRequest => {
                let customer = rich(world).await.id;
                let body = json!({
                    "customer_id": customer, "direction": "debit", "amount": "300",
                    "reason_code": "correction", "note": "charged twice",
                });
                let made = make(world, "/v1/admin/adjustments", &body).with_other("direction", "credit");
                Prepared { status: 202, ..made }
            }
            Self::CardTopup => {
                let call = terminal.does("topup", &world.card(None, "0").await, &json!({"amount": "300"}));
                prepared(call, 201, 1).with_other("amount", "301")
            }
            Self::CardPay => {
                let call = terminal.does("pay", &world.card(None, "1000").await, &json!({"amount": "300"}));
                prepared(call, 201, 1).with_other("amount", "301")
            }
            Self::CardRefund => {
                let (card, _, payment) = stage.paid_by_card("1000").await;
                let body = json!({"payment_id": payment, "amount": "300"});
                prepared(terminal.does("refund", &card, &body), 201, 1).with_other("amount", "301")
            }
            Self::CardReverse => {
                let (_, original, _) = stage.paid_by_card("1000").await;
                let (_, another, _) = stage.paid_by_card("1000").await;
                let path = terminal.reverses("card_pay", &another).path;
                prepared(terminal.reverses("card_pay", &original), 200, 1).with_other_path(path)
            }
            Self::Topup => prepared(world.customer().await.tops_up("300"), 201, 0).with_other("amount", "301"),
            Self::TopupCancel => {
                let customer = world.customer().await;
                let (topup, another) = (world.topup(&customer, "300").await, world.topup(&customer, "300").await);
                prepared(topup.cancel(&customer), 200, 0).with_other_path(another.cancel(&customer).path)
            }
            Self::TopupRefund => {
                let topup = world.paid_topup(&world.customer().await, "1000").await;
                // One entry holds the amount, another pays it out.
                prepared(topup.refund(world, "300"), 201, 2).with_other("amount", "301")
            }
            Self::EventDismiss => {
                let path = format!("/v1/admin/attention/events/{}/dismiss", kept_event(world).await);
                let body = json!({"reason": "looked at"});
                Prepared { status: 200, ..make(world, &path, &body).with_other("reason", "not looked at") }
            }
            Self::ParkedResolve => {
                let topup = parked::topup(world, &world.customer().await, "300").await;
                let path = format!("/v1/admin/attention/operations/{}/resolve", topup.id);
                let body = json!({"action": "give_up", "reason": "looked at"});
                Prepared { status: 200, ..make(world, &path, &body).with_other("action", "retry") }
            }
            Self::DecisionRequest => {
                let (topup, _) = parked::contradicted(world, &world.customer().await, "2000").await;
                let body = json!({"way": "book", "note": "looked at"});
                let made = make(world, &format!("/v1/admin/topups/{}/decisions", topup.id), &body);
                Prepared { status: 202, ..made.with_other("way", "give_up") }
            }
            Self::Authorize => {
                let code = rich(world).await.code(world).await;
                prepared(merchant.authorizes(&code, "300"), 201, 1).with_other("capture", true)
            }
            Self::Capture => {
                let (_, payment) = stage.held("1000").await;
                prepared(merchant.captures(&payment, Some("300")), 200, 1).with_other("amount", "301")
            }
            Self::Void => {
                prepared(merchant.voids(&stage.held("1000").await.1), 200, 1).with_other("reason", "sold out")
            }
            Self::SettlementOpen => {
                let body = json!({"merchant_id": payable(world).await.id});
                make(world, "/v1/admin/settlements", &body).with_other("pay_on", payment_day(world).to_string())
            }
            Self::SettlementResume => {
                let path = settled(world, &[Task::Stop]).await + "/resume";
                let body = json!({"reason": "repaired"});
                Prepared { status: 200, ..make(world, &path, &body).with_other("reason", "not repaired") }
            }
            Self::ReturnRequest => {
                let path = settled(world, &STEPS.map(Task::Do)).await + "/returns";
                let made = make(world, &path, &json!({"note": "as the bank says"}));
                Prepared { status: 202, ..made.with_other("note", "as the payee says") }
            }
            Self::ReconciliationRequest => make(world, "/v1/admin/reconciliation/runs", &json!({})),
            Self::BreakAdjustment => {
                let (path, body) = (breaks::adjustment_path(world).await, json!({"note": "looked at"}));
                Prepared { status: 202, ..make(world, &path, &body).with_other("note", "not looked at") }
            }
            Self::MigrationBackfill => pass(world, "backfill").await,
            Self::MigrationVerify => pass(world, "verify").await,
            Self::MigrationContract => pass(world, "contract").await,
        }
    }
}

/// A migration pass, requested in the last phase of the God Record model.
async fn pass(world: &World, kind: &str) -> Prepared {
    world.set_phase(last(Model::GodRecord)).await;
    let made = make(world, &format!("/v1/admin/migration/{kind}"), &json!({}));
    Prepared { status: 202, ..made.with_other("customers_per_second", 10) }
}

/// Delivers an event about an unknown top-up, which is kept; returns the event's id.
async fn kept_event(world: &World) -> String {
    let event = world.paid_event(&new_id(), &format!("pi_{}", new_id().replace('-', "")), 300);
    let kept = world.api.send(&signed(&event.to_string())).await;
    let _ = kept.problem(503, "event_kept");
    event["id"].as_str().expect("an id").to_owned()
}

pub(super) async fn rich(world: &World) -> Customer {
    world.customer_with("1000").await
}
