//! The idempotency promises of every endpoint that changes state: one effect, one response, one request per key.
//! Each endpoint has its own stack, and every row of it is compared.
mod bodies;
mod changed;
mod look_ups;
mod rollout;

use futures::future::join_all;
use ledger_core::ids::least_born_at;
use ledger_core::terms::KeyPhase;
use ledger_tests::http::assets::with_spring;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Host, World, contract};
use ledger_tests::share;
use serde_json::{Value, json};
use std::time::Duration;

const PARALLEL: usize = 32;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

macro_rules! endpoints {
    ($($name:ident = $endpoint:ident,)*) => {
        $(#[tokio::test]
        async fn $name() {
            Box::pin(check_every_promise(Endpoint::$endpoint)).await;
        })*

        mod stored_response_comes_first {
            $(#[tokio::test]
            async fn $name() {
                if super::share::is_of_family(super::Endpoint::$endpoint as usize) {
                    Box::pin(super::changed::check_stored_response_comes_first(super::Endpoint::$endpoint)).await;
                }
            })*
        }

        /// An endpoint without a test here does not compile, or fails this test.
        #[test]
        fn every_endpoint_has_its_idempotency_test() {
            assert_eq!([$(Endpoint::$endpoint),*], Endpoint::ALL);
        }
    };
}

endpoints! {
    customer_payments = Pay,
    customer_transfers = Transfer,
    customer_payment_code = PaymentCode,
    customer_profile = ProfilePatch,
    customer_topups_cancel = TopupCancel,
    customer_cards = CardPatch,
    customer_card_pin = CardPin,
    merchant_charges = Charge,
    merchant_refunds = Refund,
    admin_customers = CustomerOpen,
    admin_customers_patch = CustomerPatch,
    admin_merchants = MerchantOpen,
    admin_merchants_patch = MerchantPatch,
    admin_merchants_staff = MerchantOwner,
    admin_merchants_staff_strike = StaffStrike,
    admin_staff = StaffInvite,
    admin_staff_patch = StaffChange,
    admin_staff_accept = StaffAccept,
    admin_staff_declare = StaffDeclare,
    admin_recovery_cancel = RecoveryCancel,
    merchant_staff = ShopStaffInvite,
    merchant_staff_patch = ShopStaffChange,
    merchant_staff_accept = ShopStaffAccept,
    merchant_shops = ShopOpen,
    merchant_shops_patch = ShopChange,
    merchant_terminals = TerminalAssign,
    admin_cards = CardIssue,
    admin_cards_patch = CardAdminPatch,
    admin_card_pin_reset = CardPinReset,
    admin_terminals = TerminalOpen,
    admin_terminals_patch = TerminalPatch,
    admin_terminals_enrolment = Enrolment,
    admin_account_limits = AccountLimits,
    admin_terms_changes = TermsChange,
    admin_terms_cancellation = TermsCancel,
    admin_terms_previews = TermsPreview,
    admin_merchants_cash_room = CashCeiling,
    admin_terminals_cash_room = CashRoom,
    admin_cash_room = CounterCeiling,
    admin_terminals_cash_collections = CashCollection,
    admin_merchants_refund_room = RefundCeiling,
    admin_assets_budget = AssetBudget,
    admin_merchants_cash_deposits = CashDeposit,
    admin_merchants_cash_deposits_reversal = CashDepositReversal,
    admin_terminals_cash_reversals = CashReversal,
    admin_merchants_refunds = OperatorRefund,
    admin_grants = Grant,
    admin_grants_in_bulk = BulkGrant,
    admin_adjustments = AdjustmentRequest,
    admin_approvals_approve = ApprovalApprove,
    admin_approvals_reject = ApprovalReject,
    admin_approvals_withdraw = ApprovalWithdraw,
    terminal_topup = CardTopup,
    terminal_pay = CardPay,
    terminal_refund = CardRefund,
    terminal_reverse = CardReverse,
    admin_attention_events_dismiss = EventDismiss,
    admin_attention_operations_resolve = ParkedResolve,
    admin_topups_decisions = DecisionRequest,
    admin_settlements = SettlementOpen,
    admin_settlements_resume = SettlementResume,
    admin_settlements_returns = ReturnRequest,
    admin_settlement_runs = SettlementRunStart,
    admin_merchants_settlement_schedule = SettlementSchedule,
    admin_bank_files = BankFileCut,
    admin_bank_files_accept = BankFileAccept,
    admin_bank_files_debit = BankFileDebit,
    admin_bank_files_reject = BankFileReject,
    admin_bank_files_withdraw = BankFileWithdraw,
    admin_bank_files_reopen = BankFileReopen,
    admin_bank_files_supersede = BankFileSupersede,
    admin_files = FileRequest,
    customer_topups = Topup,
    admin_topups_refunds = TopupRefund,
    merchant_charges_authorized = Authorize,
    merchant_payments_capture = Capture,
    merchant_payments_void = Void,
    admin_reconciliation_runs = ReconciliationRequest,
    admin_findings_adjustment = BreakAdjustment,
    admin_card_batch = CardBatch,
    admin_card_assign = CardAssign,
    admin_card_block = CardBlock,
    admin_card_replace = CardReplace,
    admin_card_close = CardClose,
    admin_customer_close = CustomerClose,
    admin_customer_erase = CustomerErase,
    admin_terminals_close = TerminalClose,
    admin_merchants_close = MerchantClose,
    admin_unclaimed_claim = UnclaimedClaim,
    admin_unclaimed_payout = UnclaimedPayout,
    admin_wind_downs = WindDown,
    admin_jobs_stop = JobStop,
    admin_customers_sign_in = SignInMove,
    terminal_charges = TerminalCharge,
    terminal_charges_reverse = TerminalChargeReverse,
    admin_migration_backfill = MigrationBackfill,
    admin_migration_verify = MigrationVerify,
    admin_migration_contract = MigrationContract,
}

async fn check_every_promise(endpoint: Endpoint) {
    let host = Host::fresh();
    let stage = Stage::new(World::with_terms(host.clone(), "mandatory", with_spring).await).await;
    // Stripe's events arrive at any time, and would count as an effect.
    stage.world.hold_deliveries().await;
    check_repeated_requests(endpoint, &stage).await;
    check_concurrent_requests(endpoint, &stage).await;
    check_invalid_keys(endpoint, &stage).await;
    check_key_age(endpoint, &stage).await;
    check_unknown_field(endpoint, &stage).await;
    bodies::check_repeated_names(endpoint, &stage).await;
    stage.world.check_books().await;
    if endpoint.is_command() {
        check_approval(endpoint, &stage).await;
    }
    let world = World::with_terms(host, "optional", |terms| terms.key_phase = KeyPhase::Optional).await;
    check_optional_key(endpoint, &Stage::new(world).await).await;
}

/// The approval of a command executes it once, however often it is sent, in turn or at once.
async fn check_approval(endpoint: Endpoint, stage: &Stage) {
    let world = &stage.world;
    let executed = endpoint.prepare_executed(stage).await;
    let approve = world.approving(&executed.call).await;
    let before = world.books().await;
    let first = world.api.settle(&approve).await.good();
    assert!(!first.replayed(), "{endpoint:?}: {first:?}");
    let after = world.check_books().await;
    assert_eq!(entries(&after) - entries(&before), executed.entries, "{endpoint:?}");
    let again = world.api.send(&approve).await;
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true), "{endpoint:?}");
    world.books().await.unchanged_since(&after, "a repetition moved something");

    // The first of its kind makes items that a later one updates.
    let approve = world.approving(&endpoint.prepare(stage).await.call).await;
    let before = world.books().await;
    let _ = world.api.settle(&approve).await.good();
    let effect_of_one = world.books().await.changes_since(&before);

    let approve = world.approving(&endpoint.prepare(stage).await.call).await;
    let before = world.books().await;
    let answers = join_all((0..PARALLEL).map(|_| world.api.settle(&approve))).await;
    let mut fresh = answers.iter().filter(|answer| !answer.replayed());
    let (Some(first), None) = (fresh.next(), fresh.next()) else {
        panic!("{endpoint:?}: exactly one answer must not be a replay: {answers:?}")
    };
    assert_eq!(first.status, 200, "{endpoint:?}: {first:?}");
    for answer in &answers {
        assert_eq!(answer.stored(), first.stored(), "{endpoint:?}");
    }
    let effect_of_many = world.check_books().await.changes_since(&before);
    assert_eq!(effect_of_many, effect_of_one, "{endpoint:?}");
}

/// A retry gets the same bytes, another request under the key is refused, and nothing moves.
async fn check_repeated_requests(endpoint: Endpoint, stage: &Stage) {
    let prepared = endpoint.prepare(stage).await;
    let (world, call) = (&stage.world, &prepared.call);
    assert_eq!(contract::operation_id(&call.method, &call.path).as_deref(), Some(endpoint.operation_id()));
    let before = world.books().await;
    let first = world.api.settle(call).await;
    assert_eq!((first.status, first.replayed()), (prepared.status, false), "{endpoint:?}: {first:?}");
    let after = world.check_books().await;
    assert_eq!(entries(&after) - entries(&before), prepared.entries, "{endpoint:?}");

    let spelled_otherwise = call.clone().raw(format!(" {}\n", call.body.clone().unwrap_or_default()));
    let quoted =
        call.clone().keyless().header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let in_quotes = format!("\"{}\";v=1", call.key.as_deref().unwrap_or_default());
    let quoted = if endpoint.is_terminals() { call.clone() } else { quoted.header("idempotency-key", in_quotes) };
    for again in [call, &spelled_otherwise, &quoted] {
        let answer = world.api.send(again).await;
        assert!(answer.replayed(), "{endpoint:?}: {answer:?}");
        assert_eq!(answer.stored(), first.stored(), "{endpoint:?}");
    }
    if let Some(other) = &prepared.other {
        let _ = world.api.send(other).await.problem(422, "idempotency_key_fingerprint_mismatch");
    }
    world.books().await.unchanged_since(&after, "a repetition or another request moved something");
}

/// Many concurrent requests have the effect of one, and one response for all.
async fn check_concurrent_requests(endpoint: Endpoint, stage: &Stage) {
    let world = &stage.world;
    let single = endpoint.prepare(stage).await;
    let before = world.books().await;
    let _ = world.api.settle(&single.call).await.good();
    let effect_of_one = world.books().await.changes_since(&before);

    let prepared = endpoint.prepare(stage).await;
    let before = world.books().await;
    let answers = join_all((0..PARALLEL).map(|_| world.api.settle(&prepared.call))).await;
    let mut fresh = answers.iter().filter(|answer| !answer.replayed());
    let (Some(first), None) = (fresh.next(), fresh.next()) else {
        panic!("{endpoint:?}: exactly one answer must not be a replay: {answers:?}")
    };
    assert_eq!(first.status, prepared.status, "{endpoint:?}: {first:?}");
    for answer in &answers {
        assert_eq!(answer.stored(), first.stored(), "{endpoint:?}");
    }
    let effect_of_many = world.check_books().await.changes_since(&before);
    assert_eq!(effect_of_many, effect_of_one, "{endpoint:?}");
}

/// A missing, malformed or ambiguous key is refused and nothing is done. A key in the body is accepted.
async fn check_invalid_keys(endpoint: Endpoint, stage: &Stage) {
    let prepared = endpoint.prepare(stage).await;
    let (world, call) = (&stage.world, &prepared.call);
    let before = world.books().await;
    let bare = call.clone().keyless();
    let _ = world.api.send(&bare).await.problem(400, "idempotency_key_missing");

    let key = endpoint.new_key(stage);
    let long = "k".repeat(256);
    for wrong in ["", long.as_str(), "a b", "a, b", "\"a\", \"b\"", "\"unfinished"] {
        let _ = world.api.send(&call.clone().key(wrong)).await.problem(400, "idempotency_key_invalid");
    }
    for wrong in [json!("other"), json!(7), json!(null), json!("")] {
        let _ = world.api.send(&in_body(call, wrong)).await.problem(400, "idempotency_key_invalid");
    }
    let twice = world.api.send(&call.clone().header("idempotency-key", key.clone())).await;
    if endpoint.is_terminals() {
        let _ = twice.problem(401, "signature_invalid");
    } else {
        let _ = twice.problem(400, "idempotency_key_invalid");
    }
    world.books().await.unchanged_since(&before, "a request without a valid key moved something");

    let first = world.api.settle(&in_body(&bare, json!(key))).await;
    assert_eq!((first.status, first.replayed()), (prepared.status, false), "{endpoint:?}: {first:?}");
    for again in [in_body(&bare, json!(key)), bare.clone().key(&*key), in_body(&bare, json!(key)).key(&*key)] {
        let answer = world.api.send(&again).await;
        assert_eq!((answer.stored(), answer.replayed()), (first.stored(), true), "{endpoint:?}");
    }
}

/// A UUIDv7 contains its time, and a terminal's key the epoch of its enrolment.
async fn check_key_age(endpoint: Endpoint, stage: &Stage) {
    let prepared = endpoint.prepare(stage).await;
    let (world, call) = (&stage.world, &prepared.call);
    let before = world.books().await;
    if endpoint.is_terminals() {
        let (id, epoch) = (&stage.terminal.id, stage.terminal.credential.epoch);
        let _ = world
            .api
            .send(&call.clone().key(format!("{id}-{}-1", epoch - 1)))
            .await
            .problem(410, "idempotency_key_expired");
        let upper = id.to_uppercase();
        for wrong in [
            format!("{id}-{}-1", epoch + 1),
            format!("{id}-{epoch}-01"),
            format!("{id}-0{epoch}-1"),
            format!("{id}-{epoch}-+1"),
            format!("{upper}-{epoch}-1"),
            new_key(),
        ] {
            let _ = world.api.send(&call.clone().key(wrong)).await.problem(400, "idempotency_key_invalid");
        }
    } else {
        let now = world.app.now();
        for age in [endpoint.window(), DAY * 90, DAY * 400, DAY * 4_000] {
            let old = least_born_at(now.minus(age)).to_string();
            for spelling in [old.clone(), old.clone(), old.to_uppercase(), format!("urn:uuid:{old}")] {
                let _ = world.api.send(&call.clone().key(spelling)).await.problem(410, "idempotency_key_expired");
            }
        }
        let early = call.clone().key(least_born_at(now.plus(Duration::from_secs(11 * 60))).to_string());
        let answer = world.api.send(&early).await.problem(400, "idempotency_key_invalid");
        assert!(answer.text("/server_time").ends_with('Z'), "{answer:?}");
    }
    world.books().await.unchanged_since(&before, "an expired or future key moved something");
}

/// An unknown field is named, and nothing is done.
async fn check_unknown_field(endpoint: Endpoint, stage: &Stage) {
    let prepared = endpoint.prepare(stage).await;
    let before = stage.world.books().await;
    let call = with_field(&prepared.call, "amuont", json!("s3cret"));
    let answer = stage.world.api.send(&call).await.problem(400, "invalid_request");
    assert_eq!(answer.text("/field"), "amuont");
    assert!(!answer.body.contains("s3cret"), "{answer:?}");
    stage.world.books().await.unchanged_since(&before, "a request with an unknown field moved something");
    // The refusal was not stored: the key is still usable.
    assert_eq!(stage.world.api.settle(&prepared.call).await.status, prepared.status, "{endpoint:?}");
}

/// In a tenant where keys are optional, each request without a key is executed.
async fn check_optional_key(endpoint: Endpoint, stage: &Stage) {
    for _ in 0..2 {
        let prepared = endpoint.prepare(stage).await;
        let answer = stage.world.api.send(&prepared.call.clone().keyless()).await;
        assert_eq!((answer.status, answer.replayed()), (prepared.status, false), "{endpoint:?}: {answer:?}");
    }
    // With a key, the promise is the same.
    let prepared = endpoint.prepare(stage).await;
    let first = stage.world.api.settle(&prepared.call).await.good();
    let again = stage.world.api.send(&prepared.call).await;
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true), "{endpoint:?}");
    stage.world.check_books().await;
}

/// A refusal by a rule of the ledger is a stored response too.
#[tokio::test]
async fn refusals_are_replayed_byte_for_byte() {
    let world = World::new("refusals").await;
    let (merchant, rich, poor) =
        (world.merchant().await, world.customer_with("49000").await, world.customer_with("10").await);
    let terminal = world.terminal_with_cash(&merchant, "10000").await;
    let (card, full) = (world.card(None, "10").await, world.card(None, "19999").await);
    let payment = world.api.settle(&rich.pays(&merchant, "100")).await.good().text("/payment_id");
    let frozen = world.customer_with("10").await;
    world.change(&format!("/v1/admin/customers/{}", frozen.id), &json!({"status": "frozen"})).await;
    let closed = world.merchant().await;
    world.change(&format!("/v1/admin/merchants/{}", closed.id), &json!({"status": "suspended"})).await;
    let saver = world.customer().await;
    let (topup, unpaid) = (world.paid_topup(&saver, "1000").await, world.topup(&saver, "1000").await);
    let refusals: Vec<(Call, &str)> = vec![
        (poor.pays(&merchant, "11"), "insufficient_balance"),
        (poor.sends(&rich, "11"), "insufficient_balance"),
        (poor.sends(&rich, "50001"), "cap_exceeded"),
        (world.customer_with("2000").await.sends(&rich, "1101"), "recipient_unavailable"),
        (frozen.pays(&merchant, "1"), "account_frozen"),
        (poor.pays(&closed, "1"), "wrong_state"),
        (merchant.refunds(&payment, "101"), "over_refund"),
        (terminal.does("pay", &card, &json!({"amount": "11"})), "insufficient_balance"),
        (terminal.does("topup", &full, &json!({"amount": "2"})), "cap_exceeded"),
        (terminal.does("topup", &full, &json!({"amount": "20001"})), "cap_exceeded"),
        (rich.tops_up("1101"), "cap_exceeded"),
        (topup.refund(&world, "1001"), "over_refund"),
        (unpaid.refund(&world, "1"), "wrong_state"),
    ];
    let mut first = Vec::new();
    for (call, code) in &refusals {
        let answer = world.api.settle(call).await.problem(400, code);
        assert!(!answer.replayed());
        first.push(answer);
    }
    // The causes are removed: the responses stored under these keys stay.
    world.adjust(&json!({"customer_id": poor.id}), "credit", "1000").await;
    world.adjust(&json!({"customer_id": rich.id}), "debit", "40000").await;
    world.adjust(&json!({"card_id": card}), "credit", "1000").await;
    world.change(&format!("/v1/admin/customers/{}", frozen.id), &json!({"status": "active"})).await;
    world.change(&format!("/v1/admin/merchants/{}", closed.id), &json!({"status": "active"})).await;
    let before = world.check_books().await;
    for ((call, _), first) in refusals.iter().zip(&first) {
        for answer in join_all([world.api.settle(call), world.api.settle(call)]).await {
            assert_eq!((answer.stored(), answer.replayed()), (first.stored(), true));
        }
        let other = with_field(call, "amount", json!("3"));
        let _ = world.api.send(&other).await.problem(422, "idempotency_key_fingerprint_mismatch");
    }
    world.check_books().await.unchanged_since(&before, "a replayed refusal moved something");
    // The same request under another key is executed, and now succeeds.
    for at in [0, 1, 4, 5, 7] {
        let (call, _) = &refusals[at];
        let key = if at == 7 { terminal.next_key() } else { new_key() };
        let _ = world.api.settle(&call.clone().key(key)).await.good();
    }
    world.check_books().await;
}

/// An error that is not stored leaves the key usable.
#[tokio::test]
async fn unstored_refusal_leaves_the_key_usable() {
    let world = World::new("not-stored").await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("100").await);
    let good = customer.pays(&merchant, "60");
    let missing = with_field(&good, "merchant_id", json!(ledger_tests::http::world::new_id()));
    let before = world.books().await;
    for _ in 0..2 {
        let _ = world.api.send(&missing).await.problem(404, "not_found");
        let _ = world.api.send(&with_field(&good, "amount", json!("0.5"))).await.problem(400, "invalid_request");
    }
    world.books().await.unchanged_since(&before, "an unstored refusal left something");
    assert_eq!(world.api.settle(&good).await.status, 201);
    // A key is scoped to its principal and operation: other customers and operations may use the same.
    let key = good.key.clone().unwrap_or_default();
    let other = world.customer_with("100").await;
    for call in [other.pays(&merchant, "60").key(&*key), customer.sends(&other, "40").key(&*key)] {
        let answer = world.api.settle(&call).await.good();
        assert!(!answer.replayed(), "{answer:?}");
    }
    let books = world.check_books().await;
    assert_eq!((books.entries_of("pay"), books.entries_of("transfer")), (2, 1));
}

fn entries(books: &ledger_tests::audit::Books) -> usize {
    books.under("TXN#").count()
}

fn with_field(call: &Call, field: &str, value: Value) -> Call {
    let mut body: Value = serde_json::from_str(call.body.as_deref().unwrap_or("{}")).expect("a JSON body");
    body[field] = value;
    call.clone().json(&body)
}

fn in_body(call: &Call, key: Value) -> Call {
    with_field(call, "idempotencyKey", key)
}
