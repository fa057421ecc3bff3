//! Shops of a merchant, what is assigned to them, and what a payment says of the shop that took it.

use super::Case;
use super::world::*;
use crate::golden::build_shops::{ShopDoes, ShopStep};
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const SHOP: &str = "019a0000-0000-7000-8000-0000000000c1";
const OTHER_SHOP: &str = "019a0000-0000-7000-8000-0000000000c2";
const THIRD: &str = "019a0000-0000-7000-8000-000000000053";
const EMAIL: &str = "yuki@example.com";

fn shop(id: &str, state: &str, assigned: &str) -> Json {
    let attributes = json!({
        "shop_id": s(id), "merchant_id": s(MERCHANT), "name": s("Station"), "state": s(state), "assigned": n(assigned),
        "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    item("merchant", MERCHANT, &format!("SHOP#{id}"), attributes)
}

fn member(id: &str, email: &str, role: &str) -> Json {
    let attributes = json!({
        "staff_id": s(id), "email": s(email), "roles": { "L": [s(role)] }, "state": s("active"), "version": n("3"),
        "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    item("merchant", MERCHANT, &format!("STAFF#{id}"), attributes)
}

fn owner() -> Json {
    member(STAFF, "hanako@example.com", "owner")
}

fn cashier() -> Json {
    member(OTHER_STAFF, EMAIL, "cashier")
}

fn of(shop: &str, record: Json) -> Json {
    with(record, "shop_id", s(shop))
}

fn case(id: &'static str, why: &'static str, (operation, path, fields): (&str, &str, Json), does: ShopStep) -> Case {
    let claim = by_merchant(operation, path, fields);
    let does = ShopDoes { merchant: MERCHANT.to_owned(), by: STAFF.to_owned(), does };
    Case::new(id, why, Some(claim), Does::Shop(does))
}

fn open(id: &'static str, why: &'static str) -> Case {
    let request = ("shop_open", "/v1/merchant/shops", json!({ "name": "Station" }));
    case(id, why, request, ShopStep::Open { name: "Station".to_owned() })
}

fn change(id: &'static str, why: &'static str, name: Option<&str>, state: Option<&str>) -> Case {
    let (path, fields) =
        (format!("/v1/merchant/shops/{SHOP}"), json!({ "name": name, "status": state, "reason": "moved" }));
    let (name, state) = (name.map(str::to_owned), state.map(str::to_owned));
    case(id, why, ("shop_patch", &path, fields), ShopStep::Change { shop: SHOP.to_owned(), name, state })
}

fn assign(id: &'static str, why: &'static str, to: Option<&str>) -> Case {
    let path = format!("/v1/merchant/terminals/{TERMINAL}");
    let request = ("terminal_assign", path.as_str(), json!({ "shop": to.unwrap_or("none") }));
    case(id, why, request, ShopStep::Assign { terminal: TERMINAL.to_owned(), shop: to.map(str::to_owned) })
}

fn invite(id: &'static str, why: &'static str, role: &str) -> Case {
    let fields = json!({ "staff_id": THIRD, "email": EMAIL, "roles": [role], "shop": SHOP });
    let person = (THIRD.to_owned(), EMAIL.to_owned());
    let step = ShopStep::Invite { person, role: role.to_owned(), shop: SHOP.to_owned() };
    case(id, why, ("staff_invite", "/v1/merchant/staff", fields), step)
}

fn moved(id: &'static str, why: &'static str, member: &str, to: Option<&str>) -> Case {
    let path = format!("/v1/merchant/staff/{member}");
    let step = ShopStep::Move { member: member.to_owned(), shop: to.map(str::to_owned) };
    case(id, why, ("staff_change", &path, json!({ "shop": to.unwrap_or("all") })), step)
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = of_shops();
    all.extend(of_terminals());
    all.extend(of_staff());
    all.extend(of_payments());
    all
}

fn of_shops() -> Vec<Case> {
    vec![
        open("shop/opened", "A shop that nothing is assigned to."),
        open("shop/opened-again", "The id belongs to a shop.")
            .on([shop(RESOURCE, "open", "0")])
            .ends("rejected already_exists by shop"),
        change("shop/renamed", "A new name.", Some("Harbour"), None).on([shop(SHOP, "open", "2")]),
        change("shop/closed", "Nothing is assigned to it.", None, Some("closed")).on([shop(SHOP, "open", "0")]),
        change("shop/closed-with-a-terminal", "A terminal is assigned to it.", None, Some("closed"))
            .on([shop(SHOP, "open", "1")])
            .ends("rejected wrong_state by shop"),
        change("shop/reopened", "Terminals may be assigned to it again.", None, Some("open"))
            .on([shop(SHOP, "closed", "0")]),
        change("shop/unknown", "The merchant has no such shop.", Some("Harbour"), None)
            .ends("rejected account_missing by shop"),
    ]
}

fn of_terminals() -> Vec<Case> {
    vec![
        assign("shop/terminal-assigned", "The shop counts the terminal.", Some(SHOP))
            .on([terminal(), shop(SHOP, "open", "0")]),
        assign("shop/terminal-moved", "Another shop counts it.", Some(OTHER_SHOP)).on([
            of(SHOP, terminal()),
            shop(SHOP, "open", "3"),
            shop(OTHER_SHOP, "open", "0"),
        ]),
        assign("shop/terminal-removed", "No shop counts it.", None).on([of(SHOP, terminal()), shop(SHOP, "open", "1")]),
        assign("shop/terminal-kept", "It is assigned to the shop already.", Some(SHOP))
            .on([of(SHOP, terminal()), shop(SHOP, "open", "1")]),
        assign("shop/terminal-to-closed", "A closed shop takes no terminal.", Some(SHOP))
            .on([terminal(), shop(SHOP, "closed", "0")])
            .ends("rejected wrong_state by shop"),
        assign("shop/terminal-to-unknown", "The merchant has no such shop.", Some(SHOP))
            .on([terminal()])
            .ends("rejected account_missing by shop"),
        assign("shop/terminal-moved-meanwhile", "It was assigned to another shop since it was read.", Some(SHOP))
            .seen([terminal()])
            .on([of(OTHER_SHOP, terminal()), shop(SHOP, "open", "0")])
            .ends("rejected stale_plan by profile"),
    ]
}

fn of_staff() -> Vec<Case> {
    vec![
        invite("shop/staff-invited", "The person sees the payments of one shop.", "cashier")
            .on([owner(), shop(SHOP, "open", "0")]),
        invite("shop/owner-invited", "An owner has no shop.", "owner")
            .on([owner(), shop(SHOP, "open", "0")])
            .ends("invalid shop: an owner has no shop"),
        moved("shop/staff-moved", "The member sees another shop's payments.", OTHER_STAFF, Some(OTHER_SHOP)).on([
            owner(),
            of(SHOP, cashier()),
            shop(SHOP, "open", "1"),
            shop(OTHER_SHOP, "open", "0"),
        ]),
        moved("shop/staff-of-all-shops", "The member sees the payments of all shops.", OTHER_STAFF, None).on([
            owner(),
            of(SHOP, cashier()),
            shop(SHOP, "open", "1"),
        ]),
        moved("shop/staff-to-closed", "A closed shop has no staff.", OTHER_STAFF, Some(SHOP))
            .on([owner(), cashier(), shop(SHOP, "closed", "0")])
            .ends("rejected wrong_state by shop"),
        moved("shop/staff-by-a-member-of-one-shop", "Members of one shop manage no staff.", OTHER_STAFF, None)
            .on([of(SHOP, owner()), of(SHOP, cashier())])
            .ends("denied shop_staff.manage"),
    ]
}

fn of_payments() -> Vec<Case> {
    let pay = by_terminal("card_pay", 8, &format!("/v1/terminal/cards/{CARD}/pay"), json!({ "amount": "800" }));
    let (terminal_, merchant_, card_) = (TERMINAL.to_owned(), MERCHANT.to_owned(), CARD.to_owned());
    let pay_does = Does::CardPay { terminal: terminal_, merchant: merchant_, card: card_, amount: yen("800") };
    let path = format!("/v1/merchant/payments/{PAYMENT}/refunds");
    let refund = by_merchant("refund", &path, json!({ "amount": "300" }));
    let refund_does = Does::Refund {
        merchant: MERCHANT.to_owned(),
        payment: PAYMENT.to_owned(),
        amount: Some(yen("300")),
        reason: None,
        terminal: None,
    };
    let paid = || of(SHOP, payment(OF_A, ("ECOPAY", "1240"), &[("ecopay", "1240", "1240")]));
    vec![
        Case::new("shop/card-pays", "The payment has the terminal's shop.", Some(pay), pay_does)
            .on([config(), merchant(), of(SHOP, terminal()), card("5000")])
            .moves(&[(OF_CARD, "ECOPAY", "-800"), (OF_MERCHANT, "ECOPAY", "800")]),
        Case::new("shop/refunded", "The refund has the payment's shop.", Some(refund), refund_does)
            .on([config(), merchant(), paid(), wallet(A, "ECOPAY", "0")])
            .moves(&[(OF_MERCHANT, "ECOPAY", "-300"), (OF_A, "ECOPAY", "300")]),
    ]
}
