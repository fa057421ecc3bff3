//! A customer pays a merchant with money, points and regional currency, or is refused. DOMAIN.md's third scenario
//! begins here; the refunds continue it.

use super::Case;
use super::world::*;
use crate::golden::command::{Does, Money};
use serde_json::{Value as Json, json};

struct Paying {
    amount: Money,
    points: Option<&'static str>,
    regional: Vec<Money>,
    memo: Option<&'static str>,
}

fn paying(amount: Money) -> Paying {
    Paying { amount, points: None, regional: Vec::new(), memo: None }
}

fn case(id: &'static str, why: &'static str, paying: Paying) -> Case {
    let amount = match paying.amount.amount.parse::<u64>() {
        Ok(_) => json!(paying.amount),
        Err(_) => json!(paying.amount.amount),
    };
    let claim = by_a("pay", "/v1/me/payments", json!({ "merchant_id": MERCHANT, "amount": amount }));
    let does = Does::Pay {
        customer: A.to_owned(),
        merchant: MERCHANT.to_owned(),
        amount: paying.amount,
        points: paying.points.map(str::to_owned),
        regional: paying.regional,
        memo: paying.memo.map(str::to_owned),
    };
    Case::new(id, why, Some(claim), does)
}

fn of_yen(id: &'static str, why: &'static str, amount: &str) -> Case {
    case(id, why, paying(yen(amount)))
}

fn base() -> [Json; 2] {
    [config(), merchant()]
}

fn wallets(ecopay: &str, point: &str) -> [Json; 4] {
    let [config, merchant] = base();
    [config, merchant, wallet(A, "ECOPAY", ecopay), wallet(A, "POINT", point)]
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = paid();
    all.extend(refused());
    all.extend(keys());
    all
}

/// 3,240 as 500 points, 1,000 regional and 1,740 money.
fn scenario_3() -> Paying {
    Paying {
        amount: yen("3240"),
        points: Some("500"),
        regional: vec![money("REGIONAL#aoba", "1000")],
        memo: Some("market day"),
    }
}

fn paid() -> Vec<Case> {
    vec![
        of_yen("pay/money", "Money only; 1 % in points.", "1740")
            .on(wallets("5000", "0"))
            .moves(&[(OF_A, "ECOPAY", "-1740"), (OF_MERCHANT, "ECOPAY", "1740")])
            .moves(&[(OF_A, "POINT", "17"), ("points_issued", "POINT", "-17")])
            .precedence(),
        case(
            "pay/with-points",
            "Points used and earned are one action.",
            Paying { points: Some("300"), ..paying(yen("1000")) },
        )
        .on(wallets("5000", "300"))
        .moves(&[(OF_A, "ECOPAY", "-700"), (OF_MERCHANT, "ECOPAY", "700"), (OF_MERCHANT, "POINT", "300")])
        .moves(&[(OF_A, "POINT", "-293"), ("points_issued", "POINT", "-7")])
        .precedence(),
        case(
            "pay/points-used-equal-earned",
            "The points do not change, but they must be there.",
            Paying { points: Some("10"), ..paying(yen("1010")) },
        )
        .on(wallets("5000", "10"))
        .moves(&[(OF_A, "ECOPAY", "-1000"), (OF_MERCHANT, "ECOPAY", "1000")])
        .moves(&[(OF_MERCHANT, "POINT", "10"), ("points_issued", "POINT", "-10")]),
        case("pay/three-assets", "500 points, 1,000 regional and 1,740 money: 32.40 kg, 17 points.", scenario_3())
            .on(wallets("5000", "500"))
            .on([wallet(A, "REGIONAL#aoba", "1000")])
            .moves(&[(OF_A, "ECOPAY", "-1740"), (OF_MERCHANT, "ECOPAY", "1740")])
            .moves(&[(OF_A, "REGIONAL#aoba", "-1000"), (OF_MERCHANT, "REGIONAL#aoba", "1000")])
            .moves(&[(OF_A, "POINT", "-483"), (OF_MERCHANT, "POINT", "500"), ("points_issued", "POINT", "-17")]),
        case(
            "pay/regional-whole",
            "All of it in a regional currency: no points.",
            paying(money("REGIONAL#aoba", "800")),
        )
        .on(base())
        .on([wallet(A, "REGIONAL#aoba", "800")])
        .moves(&[(OF_A, "REGIONAL#aoba", "-800"), (OF_MERCHANT, "REGIONAL#aoba", "800")]),
        case("pay/regional-decimals", "A regional currency of two decimals.", paying(money("REGIONAL#yama", "12.34")))
            .on(base())
            .on([wallet(A, "REGIONAL#yama", "100")])
            .moves(&[(OF_A, "REGIONAL#yama", "-12.34"), (OF_MERCHANT, "REGIONAL#yama", "12.34")])
            // The record states the scale.
            .supersedes(),
        case(
            "pay/points-only",
            "All of it in points: no money is touched.",
            Paying { points: Some("300"), ..paying(yen("300")) },
        )
        .on(wallets("0", "300"))
        .moves(&[(OF_A, "POINT", "-300"), (OF_MERCHANT, "POINT", "300")]),
        of_yen("pay/earns-nothing", "99 yen earn 0.99 points, rounded down to none.", "99")
            .on(base())
            .on([wallet(A, "ECOPAY", "99")])
            .moves(&[(OF_A, "ECOPAY", "-99"), (OF_MERCHANT, "ECOPAY", "99")]),
        of_yen("pay/to-zero", "The balance holds just the amount.", "1000")
            .on(wallets("1000", "0"))
            .moves(&[(OF_A, "ECOPAY", "-1000"), (OF_MERCHANT, "ECOPAY", "1000")])
            .moves(&[(OF_A, "POINT", "10"), ("points_issued", "POINT", "-10")]),
    ]
}

fn refused() -> Vec<Case> {
    let closed = with(merchant(), "status", s("suspended"));
    let with_points = |points, amount| Paying { points: Some(points), ..paying(yen(amount)) };
    let doubled =
        Paying { regional: vec![money("REGIONAL#aoba", "1"), money("REGIONAL#aoba", "2")], ..paying(yen("10")) };
    vec![
        of_yen("pay/one-short", "One yen is missing.", "1000")
            .on(wallets("999", "0"))
            .ends("rejected insufficient by payer"),
        of_yen("pay/frozen", "The wallet is frozen, every balance item of it.", "1000")
            .on([config(), merchant(), frozen(wallet(A, "ECOPAY", "5000")), frozen(wallet(A, "POINT", "0"))])
            .ends("rejected account_frozen by payer"),
        of_yen("pay/no-wallet", "There is no such wallet.", "1000")
            .on(base())
            .ends("rejected account_missing by payer"),
        of_yen("pay/no-points-account-and-short", "A missing account comes before a short balance.", "1000")
            .on(base())
            .on([wallet(A, "ECOPAY", "1")])
            .ends("rejected account_missing by points"),
        case("pay/points-short", "One point is missing.", with_points("300", "1000"))
            .on(wallets("5000", "299"))
            .ends("rejected insufficient by points"),
        case(
            "pay/points-equal-earned-but-short",
            "Points that will be earned cannot be used.",
            with_points("10", "1010"),
        )
        .on(wallets("5000", "9"))
        .ends("rejected insufficient by points"),
        case("pay/regional-short", "One unit of the regional part is missing.", scenario_3())
            .on(wallets("5000", "500"))
            .on([wallet(A, "REGIONAL#aoba", "999")])
            .ends("rejected insufficient by payer"),
        of_yen("pay/record-exists", "An id that is taken: a fault of ours, and nothing moves.", "1000")
            .on(wallets("5000", "0"))
            .on([item("payment", RESOURCE, "PAYMENT", json!({ "state": s("captured") }))])
            .ends("rejected already_exists by payment"),
        of_yen("pay/merchant-suspended", "A suspended merchant takes no payments.", "1000")
            .on([config(), closed, wallet(A, "ECOPAY", "5000")])
            .ends("refused wrong_state"),
        case("pay/parts-above-the-amount", "More points than the amount.", with_points("1001", "1000"))
            .on(wallets("5000", "5000"))
            .ends("invalid points: the parts are more than the amount"),
        case("pay/one-asset-twice", "Each regional currency once.", doubled)
            .on(wallets("5000", "0"))
            .ends("invalid regional: one asset twice"),
        case("pay/carbon-credits", "Merchants take no carbon credits.", paying(money("JCREDIT", "1.5")))
            .on(base())
            .ends("invalid asset: merchants do not take this asset"),
        of_yen("pay/too-many-decimals", "The yen has no decimals.", "100.5")
            .on(base())
            .ends("invalid amount: too_many_decimals"),
        of_yen("pay/negative", "An amount is greater than zero.", "-0.5")
            .on(base())
            .ends("invalid amount: not_positive"),
    ]
}

fn keys() -> Vec<Case> {
    let plain = || of_yen("pay/replayed", "A retry finds its answer before anything is looked at.", "1740");
    // SHA-256 of the request's canonical JSON, computed with Python's json and hashlib.
    let fp = "2315b1ffe76960e79cb360a6343904f80fc70a74f3efa7271baea239e3ce5455";
    let claim = plain().given.command.claim.unwrap();
    let ttl = "1803006300";
    vec![
        plain().on(wallets("0", "0")).on([marker(&claim, EARLIER, ttl, fp)]).ends("replay"),
        of_yen("pay/key-of-another-request", "The same key with another amount.", "1741")
            .on(wallets("5000", "0"))
            .on([marker(&claim, EARLIER, ttl, fp)])
            .ends("reused"),
        of_yen("pay/key-reversed", "The key was forbidden before its request came.", "1740")
            .on(wallets("5000", "0"))
            .on([item(
                "customer",
                A,
                "card_op_idem#pay#k-1",
                json!({ "state": s("REVERSED"), "operation": s("pay"), "actor": s(OF_A), "processed_at": s(EARLIER) }),
            )])
            .ends("reversed"),
    ]
}
