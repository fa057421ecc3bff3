//! The PIN of a card: attempts, setting, changing and resetting it, and the tenant's terms of PINs. Proofs were computed
//! with Python's `hmac`.

use super::Case;
use super::world::*;
use crate::golden::build_card_pin::CardPinDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const KEYS: &str = r#"{"current":"one","keys":{"one":"1111111111111111111111111111111111111111111111111111111111111111"},"request_key":"3333333333333333333333333333333333333333333333333333333333333333"}"#;
/// After a rotation: the earlier key is kept.
const LATER_KEYS: &str = r#"{"current":"two","keys":{"one":"1111111111111111111111111111111111111111111111111111111111111111","two":"2222222222222222222222222222222222222222222222222222222222222222"},"request_key":"3333333333333333333333333333333333333333333333333333333333333333"}"#;
const SALT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const RIGHT: &str = "9071";
const PROOF_OF_RIGHT: &str = "52310466490e84f5fa4c9f5c505372b8ec79cec7c76a2519f27bf92ae677ccea";
const WRONG: &str = "4071";
const PROOF_OF_WRONG: &str = "a6b5924e9f3234124f023a520fc83c31b8e230c22027ba4c8e16ee8d423962a8";

fn pin_of(attempts: &[(&str, u32, &str)]) -> Json {
    let mut attributes = json!({
        "salt": s(SALT), "proof": s(PROOF_OF_RIGHT), "pin_key": s("one"), "set_at": s(EARLIER), "set_by": s(OF_A),
        "updated_at": s(EARLIER),
    });
    for (slot, sequence, proof) in attempts {
        attributes[*slot] = json!({ "M": {
            "principal": s(format!("terminal:{TERMINAL}")), "operation": s("card_pay"),
            "key": s(format!("{TERMINAL}-1-{sequence}")), "proof": s(proof), "at": s(EARLIER),
        } });
    }
    item("card", CARD, "PIN", attributes)
}

fn wrong_ones(count: u32) -> Vec<(&'static str, u32, &'static str)> {
    let slots = ["attempt_1", "attempt_2", "attempt_3", "attempt_4", "attempt_5"];
    slots.into_iter().zip(1..=count).map(|(slot, sequence)| (slot, sequence, PROOF_OF_WRONG)).collect()
}

fn attempt(id: &'static str, why: &'static str, does: CardPinDoes) -> Case {
    let path = format!("/v1/terminal/cards/{CARD}/pay");
    let claim = by_terminal("card_pay", 8, &path, json!({ "amount": "1001" }));
    let mut case = Case::new(id, why, Some(claim), Does::CardPin(does));
    case.given.command.answer = None;
    case
}

fn reserve(id: &'static str, why: &'static str, pin: &str) -> Case {
    let does = CardPinDoes::Reserve { card: CARD.to_owned(), keys: KEYS.to_owned(), pin: pin.to_owned() };
    attempt(id, why, does)
}

fn take_back(id: &'static str, why: &'static str, keys: &str, pin: &str) -> Case {
    let does = CardPinDoes::TakeBack { card: CARD.to_owned(), keys: keys.to_owned(), pin: pin.to_owned() };
    attempt(id, why, does)
}

fn set(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/me/cards/{CARD}/pin");
    let claim = by_a("card_pin", &path, json!({ "pin": "digest" }));
    let does = CardPinDoes::Set {
        card: CARD.to_owned(),
        customer: A.to_owned(),
        keys: KEYS.to_owned(),
        pin: RIGHT.to_owned(),
    };
    Case::new(id, why, Some(claim), Does::CardPin(does))
}

fn reset(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/admin/cards/{CARD}/pin-reset");
    let claim = by_staff("card_pin_reset", &path, json!({ "reason": "forgotten" }));
    let does =
        CardPinDoes::Reset { card: CARD.to_owned(), actor: BY_STAFF.to_owned(), reason: Some("forgotten".to_owned()) };
    Case::new(id, why, Some(claim), Does::CardPin(does))
}

fn terms(id: &'static str, why: &'static str, above: Option<&str>) -> Case {
    let does = CardPinDoes::Terms { above: above.map(str::to_owned), actor: "system".to_owned() };
    Case::new(id, why, None, Does::CardPin(does))
}

fn needs_pin_above(most: &str) -> Json {
    with(config(), "card_pin_above", n(most))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = attempts();
    all.extend(changes());
    all
}

fn attempts() -> Vec<Case> {
    let mine = ("attempt_2", 8, PROOF_OF_RIGHT);
    vec![
        reserve("card_pin/attempt", "The first attempt is counted before it is compared.", RIGHT).on([pin_of(&[])]),
        reserve("card_pin/third-attempt", "The first free place is taken.", WRONG).on([pin_of(&wrong_ones(2))]),
        reserve("card_pin/last-attempt", "After it the PIN is locked.", RIGHT).on([pin_of(&wrong_ones(4))]),
        reserve("card_pin/locked", "No attempt is left: nothing is compared.", RIGHT)
            .on([pin_of(&wrong_ones(5))])
            .ends("refused pin_locked"),
        reserve("card_pin/without-pin", "The card has no PIN.", RIGHT).ends("refused pin_required"),
        reserve("card_pin/counted-before", "A retry of the key is not counted again.", WRONG)
            .on([pin_of(&[("attempt_1", 8, PROOF_OF_WRONG)])])
            .ends("refused pin_wrong, 4 left"),
        reserve("card_pin/another-pin", "Another PIN under the key is not compared.", RIGHT)
            .on([pin_of(&[("attempt_1", 8, PROOF_OF_WRONG)])])
            .ends("reused"),
        reserve("card_pin/taken-meanwhile", "Another request has taken the place: read again.", RIGHT)
            .seen([pin_of(&[])])
            .on([pin_of(&wrong_ones(1))])
            .ends("rejected stale_plan by card_pin"),
        take_back("card_pin/right", "Every attempt is taken back.", KEYS, RIGHT)
            .on([pin_of(&[wrong_ones(1).remove(0), mine])]),
        take_back(
            "card_pin/right-with-an-earlier-key",
            "The proof is replaced by one of the current key.",
            LATER_KEYS,
            RIGHT,
        )
        .on([pin_of(&[wrong_ones(1).remove(0), mine])]),
        take_back("card_pin/set-meanwhile", "The PIN was set again: it is compared with that one.", KEYS, RIGHT)
            .seen([pin_of(&[mine])])
            .on([with(pin_of(&[]), "salt", s("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"))])
            .ends("rejected stale_plan by card_pin"),
    ]
}

fn changes() -> Vec<Case> {
    vec![
        set("card_pin/set", "The owner sets the first PIN.").on([card("0")]).precedence(),
        set("card_pin/changed", "Attempts begin again.").on([card("0"), pin_of(&wrong_ones(2))]),
        set("card_pin/set-of-another", "The card is another's.")
            .on([with(card("0"), "owner", s(B))])
            .ends("rejected account_missing by card"),
        set("card_pin/set-of-a-replaced-card", "A card that was replaced.")
            .on([with(card("0"), "state", s("replaced"))])
            .ends("rejected wrong_state by card"),
        set("card_pin/set-twice", "Another request has set it.")
            .seen([json!({ "uuid": pin_of(&[])["uuid"], "type": s("PIN") })])
            .on([card("0"), pin_of(&[])])
            .ends("rejected stale_plan by card_pin"),
        reset("card_pin/reset", "PIN and attempts are removed, and no other is set.")
            .on([card("0"), pin_of(&wrong_ones(5))]),
        reset("card_pin/reset-without-pin", "The card has none.")
            .on([card("0")])
            .ends("rejected wrong_state by card_pin"),
        reset("card_pin/reset-of-no-card", "There is no such card.").ends("rejected account_missing by card"),
        terms("tenant/card-pin", "Payments of more than 10,000 yen need the PIN.", Some("10000")).on([config()]),
        terms("tenant/card-pin-changed", "Every payment needs it.", Some("0")).on([needs_pin_above("10000")]),
        terms("tenant/card-pin-ended", "No payment needs it.", None).on([needs_pin_above("10000")]),
        terms("tenant/card-pin-meanwhile", "The amount is not as it was read.", Some("0"))
            .seen([needs_pin_above("10000")])
            .on([needs_pin_above("5000")])
            .ends("rejected stale_plan by config"),
    ]
}
