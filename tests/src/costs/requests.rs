//! Measures what each request costs.

use super::clock::measuring;
use super::kept::RequestCost;
use super::size::bytes_of;
use super::subjects::points_alone;
use super::units::Units;
use crate::http::assets::with_spring;
use crate::http::books::from_sdk;
use crate::http::endpoints::{Endpoint, Stage};
use crate::http::stripe::signed;
use crate::http::tap::{Attempts, Seen, Tap};
use crate::http::world::{new_id, new_key};
use crate::http::{Call, Host, World};
use crate::limits::limits;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use ledger_core::dynamo::Item;
use ledger_core::keys::{Shards, attr};
use ledger_core::money::{Asset, Balance};
use ledger_core::terms::{CardPinTerms, TenantTerms};
use ledger_runtime::clock::Clock;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::future::ready;

/// A stage whose calls to the store are recorded, with caches as warm as after the first request.
pub async fn tapped(tenant: &str) -> (Stage, Tap) {
    tapped_with(tenant, |_| {}).await
}

/// The same for a tenant with changed terms.
pub async fn tapped_with(tenant: &str, change: impl Fn(&mut TenantTerms)) -> (Stage, Tap) {
    let tap = Tap::default();
    let (of_app, clock) = (tap.clone(), measuring(Clock::system()));
    let host = Host::with_app(|backend| async move {
        of_app.app((&backend.dynamodb_url, &backend.table), Attempts::Retried, clock, &backend.stripe).await
    });
    // Points are granted by one person. Shards of one digit, so that each index key is as long as the others.
    let terms = |terms: &mut TenantTerms| {
        terms.grant_limits = points_alone();
        terms.due_shards = Shards::MERCHANT_DEFAULT;
        change(terms);
    };
    let stage = Stage::new(World::with_terms(host, tenant, terms).await).await;
    // Stripe's events arrive at any time, and would be counted.
    stage.world.hold_deliveries().await;
    let _ = stage.paid("1").await;
    let _ = stage.paid_by_card("1").await;
    let world = &stage.world;
    for (path, who) in [
        ("/v1/merchant/payments", &stage.merchant.who),
        ("/v1/admin/attention", &world.operator.who),
        ("/v1/admin/attention", &world.second.who),
    ] {
        let _ = world.api.send(&Call::get(path, who)).await.good();
    }
    (stage, tap)
}

/// Measures every endpoint, and variants of some.
///
/// # Panics
/// When a request does not make the writes that it has a name for, or a replay writes.
pub async fn measure() -> Vec<RequestCost> {
    let (stage, tap) = tapped("costs").await;
    tap.meter();
    let mut measured = Vec::new();
    // Operations that start the tenant's migration come last, since they change customers' writes.
    let (migrations, usual): (Vec<_>, Vec<_>) =
        Endpoint::ALL.into_iter().partition(|endpoint| endpoint.is_migrations());
    let elsewhere = [Endpoint::AssetBudget, Endpoint::MerchantClose];
    for endpoint in usual.into_iter().filter(|endpoint| !elsewhere.contains(endpoint)) {
        let call = effective(&stage, endpoint).await;
        // One version of the terms is scheduled at most.
        let is_alone = matches!(endpoint, Endpoint::TermsChange | Endpoint::TermsCancel);
        let twin = if is_alone { None } else { Some(effective(&stage, endpoint).await) };
        let twin = async {
            match twin {
                Some(twin) => twin,
                None => effective(&stage, endpoint).await,
            }
        };
        measured.extend(costs_of(&stage, &tap, &names(endpoint), &call, twin).await);
    }
    let twins = more(&stage).await;
    for ((name, call), (_, twin)) in more(&stage).await.into_iter().zip(twins) {
        measured.extend(costs_of(&stage, &tap, &[name], &call, ready(twin)).await);
    }
    for endpoint in migrations {
        let (call, twin) = (endpoint.prepare(&stage).await.call, endpoint.prepare(&stage).await.call);
        measured.extend(costs_of(&stage, &tap, &names(endpoint), &call, ready(twin)).await);
    }
    measured.extend(within_limits().await);
    measured.extend(with_pins().await);
    measured.extend(with_budget().await);
    measured.extend(without_holds().await);
    measured
}

/// The request that has an endpoint's effect: of a command that takes two people, its approval. The move of a sign-in is
/// measured as it is stored, for all commands that are, and so is an erasure, after which requests read more.
async fn effective(stage: &Stage, endpoint: Endpoint) -> Call {
    let (world, call) = (&stage.world, endpoint.prepare(stage).await.call);
    match endpoint {
        Endpoint::Grant | Endpoint::SignInMove | Endpoint::CustomerErase => call,
        // After the approval a second request issues the code.
        Endpoint::Enrolment => {
            let _ = world.executes(&call).await.good();
            call.key(new_key())
        }
        _ if endpoint.is_command() => world.approving(&call).await,
        _ => call,
    }
}

/// The budget of an asset, in a tenant that has the asset from its beginning.
async fn with_budget() -> Vec<RequestCost> {
    let (stage, tap) = tapped_with("costs-budget", with_spring).await;
    tap.meter();
    let budget = Endpoint::AssetBudget;
    let (call, twin) = (effective(&stage, budget).await, effective(&stage, budget).await);
    costs_of(&stage, &tap, &names(budget), &call, ready(twin)).await
}

/// The close of a merchant, in a tenant without open holds: what it reads depends on the shards that their ids fall into.
async fn without_holds() -> Vec<RequestCost> {
    let (stage, tap) = tapped("costs-close").await;
    tap.meter();
    let close = Endpoint::MerchantClose;
    let (call, twin) = (effective(&stage, close).await, effective(&stage, close).await);
    costs_of(&stage, &tap, &names(close), &call, ready(twin)).await
}

/// A card's payment with its PIN.
async fn with_pins() -> Vec<RequestCost> {
    let above = CardPinTerms::above(Balance::from_stored(Asset::Ecopay, "299").expect("yen"));
    let (stage, tap) = tapped_with("costs-pins", |terms| terms.card_pin = above.clone().expect("not negative")).await;
    tap.meter();
    let call = async || {
        let card = stage.world.card_with_pin("1000", "4071").await;
        stage.terminal.pays_with_pin(&card, "300", "4071")
    };
    let (call, twin) = (call().await, call().await);
    let names = ["attempt at a card's PIN counted", "attempts taken back after a right PIN", "card pays, with its PIN"];
    costs_of(&stage, &tap, &names, &call, ready(twin)).await
}

/// Operations of a tenant with limits of a day and a month: what is counted adds no item and no call.
async fn within_limits() -> Vec<RequestCost> {
    let rules = ["pay_day=1000000", "pay_month=1000000", "transfer_day=1000000", "transfer_month=1000000"];
    let cards = ["pay_day=1000000", "pay_month=1000000", "cash_topup_day=1000000", "cash_topup_month=1000000"];
    let rules = rules.map(|rule| ("customer", rule)).into_iter().chain(cards.map(|rule| ("card", rule)));
    let limits = limits(&rules.collect::<Vec<_>>());
    let (stage, tap) = tapped_with("costs-limits", |terms| terms.limits = Some(limits.clone())).await;
    tap.meter();
    let mut measured = Vec::new();
    for (endpoint, name) in [
        (Endpoint::Pay, "customer pays, within limits"),
        (Endpoint::Transfer, "customer sends to another, within limits"),
        (Endpoint::CardPay, "card pays, within limits"),
        (Endpoint::CardTopup, "card topped up, within limits"),
    ] {
        let (call, twin) = (endpoint.prepare(&stage).await.call, endpoint.prepare(&stage).await.call);
        measured.extend(costs_of(&stage, &tap, &[name], &call, ready(twin)).await);
    }
    measured
}

/// The costs of each write of a request. `twin` is the same request for another customer, prepared after the request.
async fn costs_of(
    stage: &Stage,
    tap: &Tap,
    names: &[&str],
    call: &Call,
    twin: impl Future<Output = Call>,
) -> Vec<RequestCost> {
    let made = calls_of(stage, tap, call).await;
    let replay = calls_of(stage, tap, call).await;
    assert!(replay.iter().all(|seen| !seen.is_written()), "{names:?}: a replay writes: {replay:?}");
    let of_twin = calls_of(stage, tap, &twin.await).await;
    let (parts, twins) = (by_write(&made), by_write(&of_twin));
    assert_eq!((parts.len(), twins.len()), (names.len(), names.len()), "{names:?}: {made:?} {of_twin:?}");
    let mut costs = Vec::new();
    for ((name, part), twin) in names.iter().zip(parts).zip(twins) {
        let keys = keys(part);
        let bytes = stored(&stage.world, &keys).await.iter().map(bytes_of).sum::<usize>();
        let of_twin = self::keys(twin);
        let under = |prefixes: &[&str]| {
            keys.iter().filter(|(_, sk)| prefixes.iter().any(|prefix| sk.starts_with(prefix))).count() as u64
        };
        costs.push(RequestCost {
            name: (*name).to_owned(),
            items: keys.len() as u64,
            units: units(part),
            calls: part.len() as u64,
            replay_calls: replay.len() as u64,
            entries: under(&["TXN#"]),
            records: under(&["TXN#", "AUDIT#", "TRAIL#"]),
            bytes: bytes as u64,
            shared: keys.iter().filter(|key| of_twin.contains(key)).count() as u64,
        });
    }
    costs
}

/// The calls that a request makes. Near the ends of a month, what is pending is looked for in a second one: of queries that
/// differ by the month alone one counts, so that the figures are the same on each day.
async fn calls_of(stage: &Stage, tap: &Tap, call: &Call) -> Vec<Seen> {
    let _ = tap.take();
    let _ = stage.world.api.send(call).await;
    let mut counted: Vec<Seen> = Vec::new();
    for seen in tap.take() {
        let of_month = without_month(&seen);
        let before = counted.iter_mut().find(|before| of_month.is_some() && without_month(before) == of_month);
        match before {
            // The one that found something took as much or more.
            Some(before) if reads(before) < reads(&seen) => *before = seen,
            Some(_) => {}
            None => counted.push(seen),
        }
    }
    counted
}

fn reads(seen: &Seen) -> u64 {
    seen.units.unwrap_or_default().read_halves
}

/// A query of a month's list, without the month.
fn without_month(seen: &Seen) -> Option<Value> {
    let mut body = seen.body.clone();
    let partition = body.pointer_mut("/ExpressionAttributeValues/:pk/S")?;
    let (list, month) = partition.as_str()?.rsplit_once('#')?;
    let is_month = month.len() == "2026-12".len() && month.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let list = Value::from(list);
    is_month.then(|| *partition = list)?;
    Some(body)
}

/// The calls up to each write; those after the last belong to it.
fn by_write(made: &[Seen]) -> Vec<&[Seen]> {
    let ends: Vec<usize> = (1..=made.len()).filter(|end| made[end - 1].is_written()).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let last = ends.len().saturating_sub(1);
    let of =
        |(at, (start, end)): (usize, (usize, &usize))| if at == last { &made[start..] } else { &made[start..*end] };
    starts.zip(&ends).enumerate().map(of).collect()
}

/// The keys of what these calls write.
pub(super) fn keys(calls: &[Seen]) -> Vec<(String, String)> {
    calls.iter().filter(|seen| seen.is_written()).flat_map(Seen::keys).collect()
}

/// The units of these calls.
pub(super) fn units(calls: &[Seen]) -> Units {
    let mut sum = Units::default();
    calls.iter().filter_map(|seen| seen.units).for_each(|units| sum += units);
    sum
}

/// The items with these keys, as they are stored.
///
/// # Panics
/// When the store does not return them all.
pub(super) async fn stored(world: &World, keys: &[(String, String)]) -> Vec<Item> {
    let mut items = Vec::new();
    for keys in keys.chunks(100) {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let key = |(pk, sk): &(String, String)| -> HashMap<String, AttributeValue> {
            [(attr::PK.to_owned(), text(pk)), (attr::SK.to_owned(), text(sk))].into()
        };
        let wanted = KeysAndAttributes::builder().consistent_read(true).set_keys(Some(keys.iter().map(key).collect()));
        let got = world.table().batch_get_item().request_items(world.table_name(), wanted.build().expect("keys"));
        let got = got.send().await.expect("the table");
        assert!(got.unprocessed_keys.is_none_or(|left| left.is_empty()), "too many items for one call");
        items.extend(got.responses.unwrap_or_default().into_values().flatten().map(from_sdk));
    }
    items
}

/// The name of each of an endpoint's writes.
fn names(endpoint: Endpoint) -> Vec<&'static str> {
    let name = match endpoint {
        Endpoint::Topup => {
            return vec!["top-up requested, before Stripe is called", "top-up requested, after Stripe answered"];
        }
        Endpoint::TopupRefund => {
            return vec!["top-up refunded, before Stripe is called", "top-up refunded, after Stripe answered"];
        }
        Endpoint::Pay => "customer pays, in money",
        Endpoint::Transfer => "customer sends to another",
        Endpoint::PaymentCode => "one-time code issued",
        Endpoint::TopupCancel => "customer cancels a top-up",
        Endpoint::ProfilePatch => "customer changes the profile",
        Endpoint::CardPatch => "customer freezes a card",
        Endpoint::CardPin => "customer sets the PIN of their card",
        Endpoint::Charge => "merchant charges a one-time code",
        Endpoint::Refund => "merchant refunds a part",
        Endpoint::CustomerOpen => "operator opens a customer",
        Endpoint::SignInMove => "operator requests another sign-in of a customer",
        Endpoint::CustomerPatch => "operator freezes a customer",
        Endpoint::MerchantOpen => "operator registers a merchant",
        Endpoint::MerchantPatch => "operator suspends a merchant",
        Endpoint::MerchantOwner => "merchant's first owner set",
        Endpoint::StaffStrike => "merchant's invitation struck out",
        Endpoint::StaffInvite => "staff member invited",
        Endpoint::StaffChange => "staff member disabled",
        Endpoint::StaffAccept => "invitation accepted",
        Endpoint::StaffDeclare => "staff member declares an account",
        Endpoint::RecoveryCancel => "recovery of owners cancelled",
        Endpoint::ShopStaffInvite => "merchant's staff member invited",
        Endpoint::ShopStaffChange => "merchant's staff member disabled",
        Endpoint::ShopStaffAccept => "merchant's invitation accepted",
        Endpoint::ShopOpen => "merchant opens a shop",
        Endpoint::ShopChange => "merchant renames a shop",
        Endpoint::TerminalAssign => "merchant assigns a terminal to a shop",
        Endpoint::CardIssue => "operator issues a card",
        Endpoint::CardAdminPatch => "operator freezes a card",
        Endpoint::CardBatch => "operator requests a batch of cards",
        Endpoint::CardAssign => "operator assigns a card",
        Endpoint::CardBlock => "operator blocks a card",
        Endpoint::CardReplace => "operator replaces an empty card",
        Endpoint::CardClose => "operator closes a card",
        Endpoint::TerminalClose => "operator closes a terminal",
        Endpoint::MerchantClose => "operator closes a merchant",
        Endpoint::CustomerClose => "operator closes a customer",
        Endpoint::CustomerErase => "operator requests the erasure of a customer",
        Endpoint::UnclaimedClaim => "unclaimed value claimed",
        Endpoint::UnclaimedPayout => "payout of unclaimed value recorded",
        Endpoint::TerminalCharge => "terminal charges a customer's code",
        Endpoint::TerminalChargeReverse => "terminal reverses a charge",
        Endpoint::CardPinReset => "operator removes a card's PIN",
        Endpoint::TerminalOpen => "operator registers a terminal",
        Endpoint::TerminalPatch => "operator freezes a terminal",
        Endpoint::Enrolment => "enrolment code issued",
        Endpoint::AccountLimits => "limits of one account changed",
        Endpoint::TermsChange => "terms changed",
        Endpoint::TermsCancel => "scheduled terms cancelled",
        Endpoint::WindDown => "winding down started",
        Endpoint::JobStop => "job stopped",
        Endpoint::TermsPreview => "preview of terms requested",
        Endpoint::CashCeiling => "ceiling of cash rooms set",
        Endpoint::CashRoom => "cash room allotted",
        Endpoint::CounterCeiling => "ceiling of the operator's cash rooms set",
        Endpoint::CashCollection => "collection of a counter's cash recorded",
        Endpoint::RefundCeiling => "ceiling of the refund room set",
        Endpoint::AssetBudget => "budget of an asset set",
        Endpoint::CashDeposit => "cash deposit recorded",
        Endpoint::CashDepositReversal => "cash deposit taken back",
        Endpoint::CashReversal => "cash top-up reversed by the operator",
        Endpoint::OperatorRefund => "payment refunded by the operator",
        Endpoint::Grant => "points granted to one customer",
        Endpoint::BulkGrant => "points granted in bulk, the job",
        Endpoint::AdjustmentRequest => "adjustment requested",
        Endpoint::ApprovalApprove => "command approved: points granted",
        Endpoint::ApprovalReject => "command rejected",
        Endpoint::ApprovalWithdraw => "command withdrawn",
        Endpoint::CardTopup => "card topped up",
        Endpoint::CardPay => "card pays",
        Endpoint::CardRefund => "card payment refunded",
        Endpoint::CardReverse => "card payment reversed",
        Endpoint::EventDismiss => "kept event dismissed",
        Endpoint::ParkedResolve => "parked top-up given up",
        Endpoint::DecisionRequest => "decision about a contradiction requested",
        Endpoint::Authorize => "merchant authorizes a one-time code",
        Endpoint::Capture => "merchant captures a part",
        Endpoint::Void => "merchant voids an authorization",
        Endpoint::SettlementOpen => "merchant's period closed",
        Endpoint::SettlementRunStart => "run that closes periods started",
        Endpoint::SettlementSchedule => "settlement schedule of a merchant set",
        Endpoint::FileRequest => "file asked for",
        Endpoint::SettlementResume => "stuck settlement resumed",
        Endpoint::ReturnRequest => "return of a transfer requested",
        Endpoint::BankFileCut => "bank file begun",
        Endpoint::BankFileAccept => "bank file recorded as accepted",
        Endpoint::BankFileDebit => "bank file recorded as debited",
        Endpoint::BankFileReject => "rejection of a bank file requested",
        Endpoint::BankFileWithdraw => "withdrawal of a bank file requested",
        Endpoint::BankFileReopen => "reopening of a bank file requested",
        Endpoint::BankFileSupersede => "bank file superseded",
        Endpoint::ReconciliationRequest => "reconciliation requested",
        Endpoint::BreakAdjustment => "break's adjustment requested",
        Endpoint::MigrationBackfill => "migration's backfill requested",
        Endpoint::MigrationVerify => "migration's verification requested",
        Endpoint::MigrationContract => "migration's contraction requested",
    };
    vec![name]
}

/// A payment that was authorized, then captured in part.
async fn payment_held(stage: &Stage) -> String {
    let (_, payment) = stage.held("500").await;
    let _ = stage.world.api.settle(&stage.merchant.captures(&payment, Some("300"))).await.good();
    payment
}

/// Variants of the operations with other costs.
async fn more(stage: &Stage) -> Vec<(&'static str, Call)> {
    let Stage { world, merchant, terminal } = stage;
    let customer = world.customer_with("1740").await;
    world.grant(&customer, "POINT", "500").await;
    world.grant(&customer, "REGIONAL#aoba", "1000").await;
    let body = json!({"merchant_id": merchant.id, "amount": "3240", "points": "500", "regional": {"aoba": "1000"}});
    let mixed = customer.pays(merchant, "1").json(&body);
    let (paid, payment) = stage.paid("10").await;
    let payment_by_id = merchant.refunds(&payment, "10");
    let unknown_original = terminal.does("pay", &new_id(), &json!({"amount": "1"}));
    let topup = world.topup(&world.customer().await, "1000").await;
    let credited = signed(&world.paid_event(&topup.id, &topup.intent, 1000).to_string());
    let unknown = world.paid_event(&new_id(), "pi_unknown", 300);
    let disputed = world.paid_topup(&world.customer().await, "1000").await;
    let dispute = world.stripe(&format!("/payment_intents/{}/dispute", disputed.intent), &json!({})).await;
    let dispute = world.stripe_event("charge.dispute.funds_withdrawn", dispute["id"].as_str().expect("an id")).await;
    vec![
        ("customer pays, in money, points and regional", mixed),
        ("payment without points refunded", payment_by_id),
        ("refusal stored", terminal.does("topup", &new_id(), &json!({"amount": "20001"}))),
        ("reversal of an unknown operation", terminal.reverses("card_pay", &unknown_original)),
        ("top-up credited by an event", credited),
        ("event kept for review", signed(&unknown.to_string())),
        ("dispute's money taken by an event", signed(&dispute.to_string())),
        ("repeated capture", stage.merchant.captures(&payment_held(stage).await, None)),
        ("profile patched with nothing", Call::patch("/v1/me", &paid.who, &json!({})).key(new_key())),
    ]
}
