//! The data of the cases: one tenant, two customers, a merchant, a card, a terminal, two staff members, and stored
//! items.

use crate::golden::command::{ClaimJson, Money};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

pub(super) const TENANT: &str = "demo";
pub(super) const NOW: &str = "2026-11-21T03:00:00.000Z";
pub(super) const EARLIER: &str = "2026-11-20T03:00:00.000Z";

pub(super) const TXN: &str = "019aa000-0000-7000-8000-000000000071";
pub(super) const RESOURCE: &str = "019aa000-0000-7000-8000-000000000081";
pub(super) const AUDIT: &str = "019aa000-0000-7000-8000-000000000061";
pub(super) const OLD_TXN: &str = "019a9000-0000-7000-8000-000000000072";
pub(super) const PAYMENT: &str = "019a9000-0000-7000-8000-000000000091";

pub(super) const A: &str = "019a0000-0000-7000-8000-00000000000a";
pub(super) const B: &str = "019a0000-0000-7000-8000-00000000000b";
pub(super) const MERCHANT: &str = "019a0000-0000-7000-8000-0000000000e1";
pub(super) const CARD: &str = "019a0000-0000-7000-8000-0000000000c1";
pub(super) const TERMINAL: &str = "019a0000-0000-7000-8000-0000000000d1";
pub(super) const STAFF: &str = "019a0000-0000-7000-8000-000000000051";
pub(super) const OTHER_STAFF: &str = "019a0000-0000-7000-8000-000000000052";

// Accounts as the journal names them.
pub(super) const OF_A: &str = "customer:019a0000-0000-7000-8000-00000000000a";
pub(super) const OF_B: &str = "customer:019a0000-0000-7000-8000-00000000000b";
pub(super) const OF_MERCHANT: &str = "merchant:019a0000-0000-7000-8000-0000000000e1";
pub(super) const OF_CARD: &str = "card:019a0000-0000-7000-8000-0000000000c1";
pub(super) const BY_STAFF: &str = "staff:019a0000-0000-7000-8000-000000000051";
pub(super) const BY_OTHER: &str = "staff:019a0000-0000-7000-8000-000000000052";

pub(super) fn s(text: impl ToString) -> Json {
    json!({ "S": text.to_string() })
}

pub(super) fn n(number: &str) -> Json {
    json!({ "N": number })
}

pub(super) fn item(kind: &str, id: &str, sk: &str, attributes: Json) -> Json {
    let mut item =
        Map::from_iter([("uuid".to_owned(), s(format!("{TENANT}#{kind}#{id}"))), ("type".to_owned(), s(sk))]);
    item.extend(attributes.as_object().unwrap().clone());
    Json::Object(item)
}

pub(super) fn with(mut item: Json, attribute: &str, value: Json) -> Json {
    item[attribute] = value;
    item
}

pub(super) fn without(mut item: Json, attribute: &str) -> Json {
    item.as_object_mut().unwrap().remove(attribute).unwrap();
    item
}

pub(super) fn frozen(item: Json) -> Json {
    with(item, "frozen", s(BY_OTHER))
}

pub(super) fn money(asset: &str, amount: &str) -> Money {
    Money { amount: amount.to_owned(), asset: asset.to_owned() }
}

pub(super) fn yen(amount: &str) -> Money {
    money("ECOPAY", amount)
}

/// The terms of the tenant: points 1 %, CO2 0.01 kg, card bonus 1 %, caps of 50,000 and 20,000.
pub(super) fn config() -> Json {
    let asset = |scale: &str, transferable: bool, spendable: bool| json!({ "M": { "scale": n(scale), "transferable": { "BOOL": transferable }, "spendable": { "BOOL": spendable } } });
    let mut ecopay = asset("0", true, true);
    ecopay["M"]["cap"] = n("50000");
    let attributes = json!({
        "assets": { "M": {
            "ECOPAY": ecopay,
            "POINT": asset("0", false, true),
            "JCREDIT": asset("3", false, false),
            "REGIONAL#aoba": asset("0", false, true),
            "REGIONAL#yama": asset("2", true, true),
        } },
        "key_phase": s("mandatory"),
        "co2_rate": n("0.01"),
        "co2_source": s("municipal estimate"),
        "co2_version": s("2026-04"),
        "points_rate": n("0.01"),
        "card_cap": n("20000"),
        "card_bonus_rate": n("0.01"),
        "spent_points": s("deduct"),
        "due_shards": n("4"),
    });
    item("tenant", "root", "CONFIG", attributes)
}

pub(super) fn merchant() -> Json {
    let attributes = json!({
        "merchant_id": s(MERCHANT), "name": s("Aoba Bakery"), "status": s("active"), "shards": n("2"),
    });
    item("merchant", MERCHANT, "PROFILE", attributes)
}

/// A balance item with nothing held.
pub(super) fn wallet(customer: &str, asset: &str, balance: &str) -> Json {
    let attributes = json!({ "balance": n(balance), "held": n("0"), "exposure": n(balance) });
    item("customer", customer, &format!("BALANCE#{asset}"), attributes)
}

pub(super) fn profile(customer: &str, accounts: &str) -> Json {
    let attributes = json!({
        "customer_id": s(customer), "name": s("Hanako"), "status": s("active"), "accounts": n(accounts),
        "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    item("customer", customer, "PROFILE", attributes)
}

pub(super) fn card(balance: &str) -> Json {
    let attributes = json!({
        "card_id": s(CARD), "balance": n(balance), "state": s("active"), "owner": s(A), "created_at": s(EARLIER),
    });
    item("card", CARD, "card", attributes)
}

pub(super) fn terminal() -> Json {
    let attributes = json!({
        "terminal_id": s(TERMINAL), "merchant_id": s(MERCHANT), "state": s("active"), "epoch": n("1"),
        "created_at": s(EARLIER),
    });
    item("terminal", TERMINAL, "PROFILE", attributes)
}

/// A captured payment of `payer`; `parts` are asset suffix, captured, refundable.
pub(super) fn payment(payer: &str, total: (&str, &str), parts: &[(&str, &str, &str)]) -> Json {
    let mut payment = item(
        "payment",
        PAYMENT,
        "PAYMENT",
        json!({
            "payment_id": s(PAYMENT), "transaction_id": s(OLD_TXN), "payer": s(payer), "merchant_id": s(MERCHANT),
            "asset": s(total.0), "total": n(total.1), "points_taken_back": n("0"), "co2_rate": n("0"),
            "co2": n("0"), "state": s("captured"), "created_at": s(EARLIER), "updated_at": s(EARLIER),
        }),
    );
    for (suffix, captured, refundable) in parts {
        payment[format!("captured_{suffix}")] = n(captured);
        payment[format!("refundable_{suffix}")] = n(refundable);
    }
    payment
}

/// A slot that holds the code with this hash.
pub(super) fn code_slot(kind: &str, id: &str, sk: &str, hash: &str, expires_at: &str) -> Json {
    item(kind, id, sk, json!({ "token_hash": s(hash), "state": s("active"), "expires_at": s(expires_at) }))
}

fn claim(operation: &str, principal: &str, actor: &str, key: &str, path: &str, fields: Json) -> ClaimJson {
    let fields: BTreeMap<String, Json> = fields.as_object().unwrap().clone().into_iter().collect();
    ClaimJson {
        operation: operation.to_owned(),
        principal: principal.to_owned(),
        actor: actor.to_owned(),
        key: key.to_owned(),
        method: if operation.contains("patch") { "PATCH" } else { "POST" }.to_owned(),
        path: path.to_owned(),
        fields,
    }
}

/// A claim of customer A.
pub(super) fn by_a(operation: &str, path: &str, fields: Json) -> ClaimJson {
    claim(operation, OF_A, OF_A, "k-1", path, fields)
}

/// A claim of the merchant with its staff member as actor.
pub(super) fn by_merchant(operation: &str, path: &str, fields: Json) -> ClaimJson {
    claim(operation, OF_MERCHANT, &format!("merchant_staff:{STAFF}"), "k-1", path, fields)
}

/// A claim of the operator's staff member.
pub(super) fn by_staff(operation: &str, path: &str, fields: Json) -> ClaimJson {
    claim(operation, BY_STAFF, BY_STAFF, "k-1", path, fields)
}

/// A claim of the terminal with this sequence number.
pub(super) fn by_terminal(operation: &str, sequence: u32, path: &str, fields: Json) -> ClaimJson {
    let terminal = format!("terminal:{TERMINAL}");
    claim(operation, &terminal, &terminal, &format!("{TERMINAL}-1-{sequence}"), path, fields)
}

/// The same claim under another key.
pub(super) fn keyed(mut claim: ClaimJson, key: &str) -> ClaimJson {
    key.clone_into(&mut claim.key);
    claim
}

/// A completed marker of a claim; `fp` binds it to its request.
pub(super) fn marker(of: &ClaimJson, processed_at: &str, ttl: &str, fp: &str) -> Json {
    let (kind, id) = of.principal.split_once(':').unwrap();
    let attributes = json!({
        "state": s("COMPLETED"), "operation": s(&of.operation), "actor": s(&of.actor), "processed_at": s(processed_at),
        "ttl": n(ttl), "fp": s(fp), "fp_v": n("1"), "status": n("201"), "content_type": s("application/json"),
        "body": s("{\"id\":\"original\"}"),
    });
    item(kind, id, &format!("card_op_idem#{}#{}", of.operation, of.key), attributes)
}
