use super::*;
use crate::dynamo::Value;
use crate::ids::TransactionId;
use crate::terms_version::TermsVersion;
use crate::time::Timestamp;
use uuid::Uuid;

const MERCHANT: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
const OTHER: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";

fn amounts(asset: Asset, least: Option<&str>, most: Option<&str>) -> AmountFilter {
    let bound = |text: &str| RequestedAmount::parse(asset.clone(), text).unwrap();
    AmountFilter::new(Some(asset.clone()), least.map(bound), most.map(bound)).unwrap()
}

/// A payment of 300 ECOPAY that earned 3 POINT.
fn line() -> HistoryLine {
    HistoryLine {
        id: TransactionId::parse(OTHER).unwrap(),
        operation: "pay".to_owned(),
        reverses: None,
        created_at: Timestamp::from_millis(0),
        changes: vec![
            Delta::from_stored(Asset::Ecopay, "-300").unwrap(),
            Delta::from_stored(Asset::Point, "3").unwrap(),
        ],
        merchant_id: Some(MERCHANT.to_owned()),
        payment_id: None,
        payment_status: None,
        topup_id: None,
        memo: None,
        terms_version: TermsVersion::read(&Item::new()).unwrap(),
    }
}

fn record(attributes: &[(&str, Value)]) -> Item {
    let all = [("asset", Value::s("ECOPAY")), ("total", Value::int(300))];
    all.iter().chain(attributes).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

#[test]
fn line_is_admitted_by_the_size_of_a_change_of_the_asset() {
    for (filter, is_admitted) in [
        (amounts(Asset::Ecopay, None, None), true),
        (amounts(Asset::Jcredit, None, None), false),
        (amounts(Asset::Ecopay, Some("300"), Some("300")), true),
        (amounts(Asset::Ecopay, Some("301"), None), false),
        (amounts(Asset::Ecopay, None, Some("299")), false),
        // The change of another asset has this size.
        (amounts(Asset::Ecopay, None, Some("3")), false),
        (amounts(Asset::Point, None, Some("3")), true),
    ] {
        let wanted = HistoryFilter { amounts: filter.clone(), ..HistoryFilter::default() };
        assert_eq!(wanted.admits(&line()), is_admitted, "{filter:?}");
        assert!(!wanted.is_everything());
    }
}

#[test]
fn line_is_admitted_by_its_operation_and_merchant() {
    let of = |operation, merchant: Option<&str>| HistoryFilter {
        operation,
        merchant: merchant.map(|id| MerchantId::parse(id).unwrap()),
        amounts: AmountFilter::default(),
    };
    assert!(HistoryFilter::default().is_everything() && HistoryFilter::default().admits(&line()));
    assert!(of(Some(Operation::Pay), Some(MERCHANT)).admits(&line()));
    assert!(!of(Some(Operation::Topup), None).admits(&line()));
    assert!(!of(None, Some(OTHER)).admits(&line()));
    let without_merchant = HistoryLine { merchant_id: None, ..line() };
    assert!(!of(None, Some(MERCHANT)).admits(&without_merchant));
}

#[test]
fn record_is_admitted_by_kind_state_and_total() {
    let payment = record(&[("state", Value::s("captured"))]);
    let refund = record(&[("kind", Value::s("refund"))]);
    let of = |kind, state, amounts| RecordFilter { kind, state, shop: None, amounts };
    let any = AmountFilter::default;
    for (filter, admitted) in [
        (of(None, None, any()), [true, true]),
        (of(Some(RecordKind::Payment), None, any()), [true, false]),
        (of(Some(RecordKind::Return(ReturnKind::Refund)), None, any()), [false, true]),
        (of(Some(RecordKind::Return(ReturnKind::PaymentReversal)), None, any()), [false, false]),
        (of(None, Some(PaymentState::Captured), any()), [true, false]),
        (of(None, Some(PaymentState::Refunded), any()), [false, false]),
        (of(None, None, amounts(Asset::Ecopay, Some("300"), Some("300"))), [true, true]),
        (of(None, None, amounts(Asset::Ecopay, Some("301"), None)), [false, false]),
        (of(None, None, amounts(Asset::Point, None, None)), [false, false]),
    ] {
        assert_eq!([&payment, &refund].map(|item| filter.admits(item).unwrap()), admitted, "{filter:?}");
    }
    let shops = [1, 2].map(|number| ShopId::new(Uuid::from_u128(number)));
    let of_shop = |shop| RecordFilter { shop: Some(shop), ..RecordFilter::default() };
    let taken = record(&[("shop_id", Value::s(shops[0]))]);
    assert_eq!(shops.map(|shop| of_shop(shop).admits(&taken).unwrap()), [true, false]);
    assert!(!of_shop(shops[0]).admits(&refund).unwrap() && !of_shop(shops[0]).is_everything());
    let unknown = record(&[("kind", Value::s("else"))]);
    assert!(of(Some(RecordKind::Payment), None, any()).admits(&unknown).is_err());
    for kind in RecordKind::ALL {
        assert_eq!(RecordKind::parse(kind.name()), Some(kind));
    }
}

#[test]
fn range_of_amounts_has_one_asset_and_is_not_empty() {
    let yen = |text| RequestedAmount::parse(Asset::Ecopay, text).ok();
    assert!(AmountFilter::new(Some(Asset::Ecopay), yen("2"), yen("1")).is_none());
    assert!(AmountFilter::new(Some(Asset::Point), yen("1"), None).is_none());
    assert!(AmountFilter::new(None, None, yen("1")).is_none());
    assert_eq!(AmountFilter::new(None, None, None), Some(AmountFilter::default()));
}
