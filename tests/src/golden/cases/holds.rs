//! Money that a merchant holds, and captures in whole or in part. A capture takes points first, then regional currency,
//! then money; the rest is released.

use super::Case;
use super::charge::{CODE, HASH, slot};
use super::world::*;
use crate::golden::command::{Does, Money};
use crate::golden::command_hold::HoldDoes;
use serde_json::{Value as Json, json};

const HELD_ECOPAY: &str = "held of ECOPAY";
const HELD_POINT: &str = "held of POINT";
const HELD_AOBA: &str = "held of REGIONAL#aoba";

/// The end of the time in which the payments of these cases can be captured.
pub(super) const EXPIRES: &str = "2026-11-27T03:00:00.000Z";

/// A balance item with a held amount.
pub(super) fn holding(asset: &str, balance: &str, held: &str) -> Json {
    let number = |text: &str| text.parse::<u64>().unwrap();
    let exposure = (number(balance) + number(held)).to_string();
    with(with(wallet(A, asset, balance), "held", n(held)), "exposure", n(&exposure))
}

/// An authorized payment of customer A: total, and held amount by asset suffix.
pub(super) fn authorized(total: (&str, &str), parts: &[(&str, &str)]) -> Json {
    let payment = with(payment(OF_A, total, &[]), "state", s("authorized"));
    let payment = with(payment, "expires_at", s(EXPIRES));
    parts.iter().fold(payment, |payment, (suffix, held)| with(payment, &format!("authorized_{suffix}"), n(held)))
}

/// The payment's hold.
pub(super) fn hold(parts: &[(&str, &str)]) -> Json {
    let hold = json!({
        "payment_id": s(PAYMENT), "transaction_id": s(OLD_TXN), "payer": s(OF_A), "merchant_id": s(MERCHANT),
        "state": s("authorized"), "expires_at": s(EXPIRES), "created_at": s(EARLIER), "updated_at": s(EARLIER),
        "due_pk": s("demo#due#hold#1"), "due_sk": s(format!("{EXPIRES}#{PAYMENT}")),
    });
    let hold = item("payment", PAYMENT, "HOLD", hold);
    parts.iter().fold(hold, |hold, (suffix, held)| with(hold, &format!("held_{suffix}"), n(held)))
}

/// The same item in another state.
pub(super) fn moved_to(item: Json, state: &str) -> Json {
    with(item, "state", s(state))
}

/// 500 yen held, 100 yen available.
pub(super) fn base() -> Vec<Json> {
    vec![config(), merchant(), of_500(), hold_of_500(), holding("ECOPAY", "100", "500"), wallet(A, "POINT", "0")]
}

pub(super) fn of_500() -> Json {
    authorized(("ECOPAY", "500"), &[("ecopay", "500")])
}

pub(super) fn hold_of_500() -> Json {
    hold(&[("ecopay", "500")])
}

/// An authorized payment of 500 yen with this captured and refundable amount.
pub(super) fn captured(of_500: Json, captured: &str, left: &str, state: &str) -> Json {
    let payment = with(with(moved_to(of_500, state), "total", n(captured)), "captured_ecopay", n(captured));
    let payment = with(with(payment, "refundable_ecopay", n(left)), "taken_at", s(EARLIER));
    with(with(payment, "co2_rate", n("0.01")), "co2", n("3"))
}

const THREE: [(&str, &str); 3] = [("ecopay", "1740"), ("point", "500"), ("regional_aoba", "1000")];

/// 3,240 as 500 points, 1,000 regional and 1,740 money, all held.
pub(super) fn three_assets() -> Vec<Json> {
    vec![
        config(),
        merchant(),
        authorized(("ECOPAY", "3240"), &THREE),
        hold(&THREE),
        holding("ECOPAY", "0", "1740"),
        holding("POINT", "0", "500"),
        holding("REGIONAL#aoba", "0", "1000"),
    ]
}

fn authorize(id: &'static str, why: &'static str, amount: &str, points: Option<&str>, regional: &[Money]) -> Case {
    let fields = json!({ "code_hash": HASH, "amount": yen(amount), "capture": "false" });
    let does = HoldDoes::Authorize {
        merchant: MERCHANT.to_owned(),
        code: CODE.to_owned(),
        amount: yen(amount),
        points: points.map(str::to_owned),
        regional: regional.to_vec(),
        memo: Some("room 7".to_owned()),
    };
    Case::new(id, why, Some(by_merchant("charge", "/v1/merchant/charges", fields)), Does::Hold(does))
}

fn authorize_500(id: &'static str, why: &'static str) -> Case {
    authorize(id, why, "500", None, &[])
}

pub(super) fn capture(id: &'static str, why: &'static str, amount: Option<Money>) -> Case {
    let path = format!("/v1/merchant/payments/{PAYMENT}/capture");
    let fields = amount.as_ref().map_or(json!({}), |amount| json!({ "amount": amount.amount }));
    let does = HoldDoes::Capture { merchant: MERCHANT.to_owned(), payment: PAYMENT.to_owned(), amount };
    Case::new(id, why, Some(by_merchant("capture", &path, fields)), Does::Hold(does))
}

fn capture_yen(id: &'static str, why: &'static str, amount: &str) -> Case {
    capture(id, why, Some(yen(amount)))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = authorizing();
    all.extend(capturing());
    all.extend(capturing_parts());
    all.extend(capturing_again());
    all.extend(captures_refused());
    all
}

fn authorizing() -> Vec<Case> {
    let wallets = |ecopay| [config(), merchant(), wallet(A, "ECOPAY", ecopay), wallet(A, "POINT", "0")];
    vec![
        authorize_500("authorize/held", "The money is held; the merchant is owed nothing yet.")
            .on(wallets("5000"))
            .on([slot()])
            .moves(&[(OF_A, "ECOPAY", "-500"), (OF_A, HELD_ECOPAY, "500")])
            .precedence(),
        authorize(
            "authorize/three-assets",
            "Points, regional currency and money are held, each on its own item.",
            "3240",
            Some("500"),
            &[money("REGIONAL#aoba", "1000")],
        )
        .on([config(), merchant(), slot(), wallet(A, "ECOPAY", "1740")])
        .on([wallet(A, "POINT", "500"), wallet(A, "REGIONAL#aoba", "1000")])
        .moves(&[(OF_A, "ECOPAY", "-1740"), (OF_A, HELD_ECOPAY, "1740")])
        .moves(&[(OF_A, "POINT", "-500"), (OF_A, HELD_POINT, "500")])
        .moves(&[(OF_A, "REGIONAL#aoba", "-1000"), (OF_A, HELD_AOBA, "1000")]),
        authorize_500("authorize/for-an-hour", "The tenant says for how long.")
            .on([with(config(), "hold_hours", n("1")), merchant(), wallet(A, "ECOPAY", "500"), slot()])
            .moves(&[(OF_A, "ECOPAY", "-500"), (OF_A, HELD_ECOPAY, "500")]),
        authorize_500("authorize/short", "What is held already cannot be held again.")
            .on([config(), merchant(), holding("ECOPAY", "499", "500"), slot()])
            .ends("rejected insufficient by payer"),
        authorize_500("authorize/frozen", "A freeze stops what is about to leave.")
            .on([config(), merchant(), frozen(wallet(A, "ECOPAY", "5000")), slot()])
            .ends("rejected account_frozen by payer"),
        authorize_500("authorize/used-code", "A code works once, whatever for.")
            .on(wallets("5000"))
            .on([with(slot(), "state", s("used"))])
            .ends("rejected wrong_state by code"),
        authorize_500("authorize/suspended-merchant", "A suspended merchant takes nothing more.")
            .on([config(), with(merchant(), "status", s("suspended")), wallet(A, "ECOPAY", "5000"), slot()])
            .ends("refused wrong_state"),
    ]
}

fn capturing() -> Vec<Case> {
    vec![
        capture("capture/full", "All that is held, which earns its points now.", None)
            .on(base())
            .moves(&[(OF_A, HELD_ECOPAY, "-500"), (OF_MERCHANT, "ECOPAY", "500")])
            .moves(&[(OF_A, "POINT", "5"), ("points_issued", "POINT", "-5")])
            .precedence(),
        capture_yen("capture/part", "300 of 500: the rest is the payer's again, on the same item.", "300")
            .supersedes()
            .on(base())
            .moves(&[(OF_A, HELD_ECOPAY, "-500"), (OF_A, "ECOPAY", "200"), (OF_MERCHANT, "ECOPAY", "300")])
            .moves(&[(OF_A, "POINT", "3"), ("points_issued", "POINT", "-3")]),
        capture_yen("capture/named-in-full", "The whole amount, said.", "500")
            .on(base())
            .moves(&[(OF_A, HELD_ECOPAY, "-500"), (OF_MERCHANT, "ECOPAY", "500")])
            .moves(&[(OF_A, "POINT", "5"), ("points_issued", "POINT", "-5")]),
        capture_yen("capture/too-little-for-a-point", "99 yen earn none, and the points are not touched.", "99")
            .supersedes()
            .on(base())
            .moves(&[(OF_A, HELD_ECOPAY, "-500"), (OF_A, "ECOPAY", "401"), (OF_MERCHANT, "ECOPAY", "99")]),
        capture("capture/frozen", "A freeze never stops a capture.", None)
            .on([config(), merchant(), of_500(), hold_of_500()])
            .on([frozen(holding("ECOPAY", "100", "500")), frozen(wallet(A, "POINT", "0"))])
            .moves(&[(OF_A, HELD_ECOPAY, "-500"), (OF_MERCHANT, "ECOPAY", "500")])
            .moves(&[(OF_A, "POINT", "5"), ("points_issued", "POINT", "-5")]),
        capture("capture/suspended-merchant", "What was authorized can still be captured.", None)
            .on([config(), with(merchant(), "status", s("suspended")), of_500(), hold_of_500()])
            .on([holding("ECOPAY", "100", "500"), wallet(A, "POINT", "0")])
            .moves(&[(OF_A, HELD_ECOPAY, "-500"), (OF_MERCHANT, "ECOPAY", "500")])
            .moves(&[(OF_A, "POINT", "5"), ("points_issued", "POINT", "-5")]),
        capture("capture/last-millisecond", "It can be captured until the instant it expires at, not then.", None)
            .on([config(), merchant(), with(of_500(), "expires_at", s("2026-11-21T03:00:00.001Z")), hold_of_500()])
            .on([holding("ECOPAY", "100", "500"), wallet(A, "POINT", "0")])
            .moves(&[(OF_A, HELD_ECOPAY, "-500"), (OF_MERCHANT, "ECOPAY", "500")])
            .moves(&[(OF_A, "POINT", "5"), ("points_issued", "POINT", "-5")]),
        capture(
            "capture/regional",
            "A hold in a regional currency of two decimals.",
            Some(money("REGIONAL#yama", "2.34")),
        )
        .on([config(), merchant(), authorized(("REGIONAL#yama", "12.34"), &[("regional_yama", "12.34")])])
        .on([hold(&[("regional_yama", "12.34")])])
        .on([with(with(wallet(A, "REGIONAL#yama", "0"), "held", n("12.34")), "exposure", n("12.34"))])
        .moves(&[(OF_A, "held of REGIONAL#yama", "-12.34"), (OF_A, "REGIONAL#yama", "10")])
        .moves(&[(OF_MERCHANT, "REGIONAL#yama", "2.34")]),
    ]
}

fn capturing_parts() -> Vec<Case> {
    let seventeen = [("ecopay", "1740"), ("point", "17")];
    vec![
        capture("capture/three-assets", "17 points are earned and 500 taken, by one action.", None)
            .on(three_assets())
            .moves(&[(OF_A, HELD_ECOPAY, "-1740"), (OF_MERCHANT, "ECOPAY", "1740")])
            .moves(&[(OF_A, HELD_AOBA, "-1000"), (OF_MERCHANT, "REGIONAL#aoba", "1000")])
            .moves(&[(OF_A, HELD_POINT, "-500"), (OF_MERCHANT, "POINT", "500")])
            .moves(&[(OF_A, "POINT", "17"), ("points_issued", "POINT", "-17")]),
        capture_yen("capture/three-assets-1600", "All the points and regional currency, 100 of the money.", "1600")
            .supersedes()
            .on(three_assets())
            .moves(&[(OF_A, HELD_ECOPAY, "-1740"), (OF_A, "ECOPAY", "1640"), (OF_MERCHANT, "ECOPAY", "100")])
            .moves(&[(OF_A, HELD_AOBA, "-1000"), (OF_MERCHANT, "REGIONAL#aoba", "1000")])
            .moves(&[(OF_A, HELD_POINT, "-500"), (OF_MERCHANT, "POINT", "500")])
            .moves(&[(OF_A, "POINT", "1"), ("points_issued", "POINT", "-1")]),
        capture_yen("capture/three-assets-600", "All the points, 100 of the regional currency, no money.", "600")
            .supersedes()
            .on(three_assets())
            .moves(&[(OF_A, HELD_ECOPAY, "-1740"), (OF_A, "ECOPAY", "1740")])
            .moves(&[(OF_A, HELD_AOBA, "-1000"), (OF_A, "REGIONAL#aoba", "900"), (OF_MERCHANT, "REGIONAL#aoba", "100")])
            .moves(&[(OF_A, HELD_POINT, "-500"), (OF_MERCHANT, "POINT", "500")]),
        capture_yen("capture/three-assets-1", "One point: everything else is released.", "1")
            .supersedes()
            .on(three_assets())
            .moves(&[(OF_A, HELD_ECOPAY, "-1740"), (OF_A, "ECOPAY", "1740")])
            .moves(&[(OF_A, HELD_AOBA, "-1000"), (OF_A, "REGIONAL#aoba", "1000")])
            .moves(&[(OF_A, HELD_POINT, "-500"), (OF_A, "POINT", "499"), (OF_MERCHANT, "POINT", "1")]),
        capture("capture/as-many-points-earned", "17 points are taken and 17 earned: the exposure stays.", None)
            .on([config(), merchant(), authorized(("ECOPAY", "1757"), &seventeen), hold(&seventeen)])
            .on([holding("ECOPAY", "0", "1740"), holding("POINT", "0", "17")])
            .moves(&[(OF_A, HELD_ECOPAY, "-1740"), (OF_MERCHANT, "ECOPAY", "1740")])
            .moves(&[(OF_A, HELD_POINT, "-17"), (OF_MERCHANT, "POINT", "17")])
            .moves(&[(OF_A, "POINT", "17"), ("points_issued", "POINT", "-17")]),
    ]
}

fn capturing_again() -> Vec<Case> {
    let all = || captured(of_500(), "300", "300", "captured");
    let some = || captured(of_500(), "300", "100", "partially_refunded");
    vec![
        capture("capture/again", "It has been captured: as it stands, which the write makes sure of.", None).on([
            config(),
            merchant(),
            all(),
        ]),
        capture_yen("capture/again-same-amount", "The amount that was captured.", "300").on([
            config(),
            merchant(),
            some(),
        ]),
        capture_yen("capture/again-other-amount", "Another amount than was captured.", "301")
            .on([config(), merchant(), all()])
            .ends("refused wrong_state"),
        capture("capture/again-refunded", "What went back since does not undo the capture.", None).on([
            config(),
            merchant(),
            captured(of_500(), "300", "0", "refunded"),
        ]),
        capture("capture/again-overtaken", "A refund came between the read and the write: read again.", None)
            .seen([all()])
            .on([config(), merchant(), some()])
            .ends("rejected stale_plan by payment"),
        capture("capture/paid-at-once", "A payment without authorization has been captured.", None).on([
            config(),
            merchant(),
            payment(OF_A, ("ECOPAY", "500"), &[("ecopay", "500", "500")]),
        ]),
    ]
}

fn captures_refused() -> Vec<Case> {
    // The state that another transition wrote after this one was planned.
    let lost = |to: &str, payment: Json| {
        let [config_, merchant_, _, _, _, point] = <[Json; 6]>::try_from(base()).unwrap();
        [config_, merchant_, payment, moved_to(hold_of_500(), to), wallet(A, "ECOPAY", "600"), point]
    };
    vec![
        capture_yen("capture/one-over", "One yen more than is held.", "501")
            .on(base())
            .ends("invalid amount: is more than was authorized"),
        capture_yen("capture/nothing", "An amount is greater than zero.", "0")
            .on(base())
            .ends("invalid amount: not_positive"),
        capture("capture/expired-and-held", "Too late, though the worker has not come yet.", None)
            .on([config(), merchant(), with(of_500(), "expires_at", s(NOW)), hold_of_500()])
            .ends("refused wrong_state"),
        capture("capture/canceled", "It was voided.", None)
            .on([config(), merchant(), moved_to(of_500(), "canceled")])
            .ends("refused wrong_state"),
        capture("capture/expired", "It has expired.", None)
            .on([config(), merchant(), moved_to(of_500(), "expired")])
            .ends("refused wrong_state"),
        capture("capture/reversed", "A card's payment that was taken back.", None)
            .on([
                config(),
                merchant(),
                moved_to(payment(OF_CARD, ("ECOPAY", "5"), &[("ecopay", "5", "0")]), "reversed"),
            ])
            .ends("refused wrong_state"),
        capture("capture/lost-to-void", "A void came between the read and the write.", None)
            .seen([of_500()])
            .on(lost("canceled", moved_to(of_500(), "canceled")))
            .ends("rejected stale_plan by payment"),
        capture("capture/lost-to-expiry", "The worker came between the read and the write.", None)
            .seen([of_500()])
            .on(lost("expired", moved_to(of_500(), "expired")))
            .ends("rejected stale_plan by payment"),
        capture("capture/lost-to-capture", "Another capture came between the read and the write.", None)
            .seen([of_500()])
            .on(lost("captured", captured(of_500(), "300", "300", "captured")))
            .ends("rejected stale_plan by payment"),
    ]
}
