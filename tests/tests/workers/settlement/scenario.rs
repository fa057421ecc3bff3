use ledger_core::bank::{AccountKind, BankAccount, BankParts, TransferLine, transfer_file};
use ledger_core::ids::SettlementId;
use ledger_core::money::{Amount, AssetSpec};
use ledger_core::time::BusinessDate;
use ledger_local::seed;
use ledger_runtime::settlement::Ended;
use ledger_tests::http::Call;
use ledger_tests::http::settling::{Settling, payment_day};
use serde_json::json;

/// The file of scenario 6, written by hand from the description of the format.
const KEPT: &[u8] = include_bytes!("../../../settlement/scenario-6.txt");
/// The bytes of the settlement's reference in it.
const REFERENCE: std::ops::Range<usize> = 122 + 91..122 + 111;
/// The bytes of its payment day: month and day.
const DAY: std::ops::Range<usize> = 54..58;

#[test]
fn scenario_6_file_equals_the_handwritten_one() {
    let sender = seed::terms().expect("terms").settlement.expect("settlements").sender.expect("an account");
    let parts = BankParts {
        bank_code: "0009",
        bank_name: Some("ミツイスミトモ"),
        branch_code: "123",
        branch_name: Some("アオバ"),
        kind: AccountKind::Ordinary,
        number: "1234567",
        holder: "カ）ミドリショウテン",
    };
    let line = TransferLine {
        settlement: SettlementId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").expect("an id"),
        to: &BankAccount::new(&parts).expect("an account"),
        amount: &Amount::parse(&AssetSpec::ECOPAY, "393400").expect("an amount"),
    };
    let file = transfer_file(&sender, BusinessDate::parse("2026-11-30").expect("a day"), &[line]);
    assert_eq!(file.expect("a file"), KEPT);
}

#[tokio::test]
async fn scenario_6_is_settled_to_the_yen() {
    let shop = Settling::new("scenario-6").await;
    let payment = shop.take("400000").await;
    shop.take("12300").await;
    shop.refund(&payment, "12300").await;
    shop.credit().await;
    let owed = shop.good(&Call::get("/v1/merchant/balances", &shop.merchant.who)).await.json();
    assert_eq!(owed["balances"][0]["credited"], "400000", "{owed}");

    let pay_on = payment_day(&shop.world);
    let at = shop.close_on(&pay_on.to_string()).await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    assert_eq!(view["totals"], json!({"ECOPAY": {"taken": "412300", "refunded": "12300", "carried_in": "0"}}));
    let fields = ["status", "net", "fee", "tax", "payable"].map(|name| view[name].as_str().unwrap_or_default());
    assert_eq!(fields, ["booked", "400000", "6000", "600", "393400"]);
    assert_eq!((view["records"].clone(), view["pay_on"].clone()), (json!(3), json!(pay_on.to_string())));
    assert_eq!(view["destination"], "0009-123-****567");
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    assert_eq!(shop.of_balance("ECOPAY", "held").await, "0");
    let books = shop.world.check_books().await;
    for (account, yen) in [("fees", 6_000), ("consumption_tax", 600), ("bank_clearing", 393_400)] {
        assert_eq!(books.posted(account, "ECOPAY"), yen.into(), "{account}");
    }
    // Equal to the byte, but for the settlement's reference and its day.
    let mut file = shop.world.content(&shop.cut(&at).await).await;
    assert_eq!(file.len(), KEPT.len());
    assert_eq!(file[DAY], pay_on.digits().as_bytes()[4..]);
    for own in [REFERENCE, DAY] {
        file[own.clone()].copy_from_slice(&KEPT[own]);
    }
    assert_eq!(file, KEPT);

    // A later refund is deducted from the next settlement.
    shop.refund(&payment, "1000").await;
    shop.credit().await;
    let second = shop.close().await;
    assert_eq!(shop.walk(&second).await, Ended::Over);
    let view = shop.view(&second).await;
    assert_eq!((view["status"].clone(), view["records"].clone()), (json!("carried"), json!(1)));
    assert_eq!(view.get("transfer_on"), None);
    shop.world.check_books().await;
    shop.take("5000").await;
    shop.credit().await;
    let third = shop.close().await;
    assert_eq!(shop.walk(&third).await, Ended::Over);
    let view = shop.view(&third).await;
    assert_eq!(view["totals"]["ECOPAY"], json!({"taken": "5000", "refunded": "0", "carried_in": "-1000"}));
    let fields = ["status", "net", "fee", "tax", "payable"].map(|name| view[name].as_str().unwrap_or_default());
    assert_eq!(fields, ["booked", "4000", "60", "6", "3934"]);
    let books = shop.world.check_books().await;
    assert_eq!(books.posted("bank_clearing", "ECOPAY"), (393_400 + 3_934).into());
    assert_eq!(books.posted(&format!("merchant:{}", shop.merchant.id), "ECOPAY"), 0.into());
}

#[tokio::test]
async fn points_and_regional_currency_are_paid_in_yen() {
    let shop = Settling::new("settled-points").await;
    let customer = shop.world.customer_with("1740").await;
    shop.world.grant(&customer, "POINT", "500").await;
    shop.world.grant(&customer, "REGIONAL#aoba", "1000").await;
    let body =
        json!({"merchant_id": shop.merchant.id, "amount": "3240", "points": "500", "regional": {"aoba": "1000"}});
    shop.good(&customer.pays(&shop.merchant, "1").json(&body)).await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    let fields = ["status", "net", "fee", "tax", "payable"].map(|name| view[name].as_str().unwrap_or_default());
    assert_eq!(fields, ["booked", "3240", "48", "4", "3188"]);
    for asset in ["ECOPAY", "POINT", "REGIONAL#aoba"] {
        for part in ["balance", "held"] {
            assert_eq!(shop.of_balance(asset, part).await, "0", "{part} of {asset}");
        }
    }
    let books = shop.world.check_books().await;
    // The issued regional currency has returned, and was paid out in yen.
    assert_eq!(books.posted("points_issued", "REGIONAL#aoba"), 0.into());
    assert_eq!(books.posted("points_issued", "ECOPAY"), (-1_500).into());
}
