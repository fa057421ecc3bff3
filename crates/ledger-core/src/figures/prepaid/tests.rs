//! Tests of the figures of prepaid payment instruments.

use super::*;

fn date(text: &str) -> BusinessDate {
    BusinessDate::parse(text).unwrap()
}

fn yen(text: &str) -> Balance {
    Balance::from_stored(Asset::Ecopay, text).unwrap()
}

fn balances(of: &[(AccountClass, Asset, &str)]) -> Balances {
    let balance = |(class, asset, sum): &(AccountClass, Asset, &str)| {
        ((*class, asset.clone()), Delta::from_stored(asset.clone(), sum).unwrap())
    };
    of.iter().map(balance).collect()
}

/// Lines of yen: operation, accounts, gained, lost.
fn sums(lines: &[(&str, AccountClass, &str, &str)]) -> Sums {
    let line = |(operation, accounts, gained, lost): &(&str, AccountClass, &str, &str)| {
        let line = Line { operation: (*operation).to_owned(), asset: Asset::Ecopay, accounts: *accounts };
        (line, Moved { count: 1, gained: yen(gained), lost: yen(lost) })
    };
    Sums { lines: lines.iter().map(line).collect(), ..Sums::default() }
}

const CUSTOMERS: AccountClass = AccountClass::Customers;
const CARDS: AccountClass = AccountClass::Cards;
const MERCHANTS: AccountClass = AccountClass::Merchants;

fn own(account: TenantAccount) -> AccountClass {
    AccountClass::Tenant(account)
}

#[test]
fn half_year_ends_at_its_base_date_in_years_with_and_without_a_leap_day() {
    for (base, first, due) in [
        ("2026-09-30", "2026-04-01", "2026-11-30"),
        ("2027-03-31", "2026-10-01", "2027-05-31"),
        ("2028-03-31", "2027-10-01", "2028-05-31"),
    ] {
        let of = BaseDate::new(date(base)).unwrap();
        assert_eq!((of.date(), of.first_day(), of.deposit_due()), (date(base), date(first), date(due)));
        assert_eq!(BaseDate::before(date(base).next()), of);
    }
    assert_eq!(BaseDate::before(date("2027-03-31")).date(), date("2026-09-30"));
    for other in ["2026-03-30", "2026-09-29", "2026-12-31"] {
        assert_eq!(BaseDate::new(date(other)), None);
    }
}

#[test]
fn deposit_is_half_of_what_is_above_ten_million_yen_rounded_up() {
    let deposit = |wallets: &str, cards: &str| {
        let closing = balances(&[(CUSTOMERS, Asset::Ecopay, wallets), (CARDS, Asset::Ecopay, cards)]);
        PrepaidReport::new(&Balances::new(), &Sums::default(), &closing).unwrap().deposit.map(|deposit| deposit.text())
    };
    assert_eq!(deposit("9000000", "1000000"), None);
    assert_eq!(deposit("9000000", "1000001").as_deref(), Some("5000001"));
    assert_eq!(deposit("9000000", "1000002").as_deref(), Some("5000001"));
}

#[test]
fn each_flow_follows_from_the_account_on_the_other_side() {
    use TenantAccount as T;
    let lines = sums(&[
        ("topup", CUSTOMERS, "900", "0"),
        ("topup", own(T::StripeClearing), "0", "900"),
        // A payment of 300, of which 20 are returned as a bonus.
        ("pay", CUSTOMERS, "20", "300"),
        ("pay", MERCHANTS, "300", "0"),
        ("pay", own(T::PointsIssued), "0", "20"),
        // A merchant takes 200 in cash, of which 50 are reversed, as is a payment of 30.
        ("card_topup", CARDS, "200", "0"),
        ("card_topup", MERCHANTS, "0", "200"),
        ("card_reverse:card_topup", CARDS, "0", "50"),
        ("card_reverse:card_topup", MERCHANTS, "50", "0"),
        ("card_reverse:card_pay", CARDS, "30", "0"),
        ("card_reverse:card_pay", MERCHANTS, "0", "30"),
        // One adjustment corrects a customer by 5, and another a merchant by 7.
        ("adjustment", CUSTOMERS, "5", "0"),
        ("adjustment", MERCHANTS, "7", "0"),
        ("adjustment", own(T::Adjustments), "0", "12"),
        // A wallet of 40 is closed, and 10 of it are paid out.
        ("customer_close", CUSTOMERS, "0", "40"),
        ("customer_close", own(T::Unclaimed), "40", "0"),
        ("unclaimed_payout", own(T::Unclaimed), "0", "10"),
        ("unclaimed_payout", own(T::BankClearing), "10", "0"),
        ("clawback", CUSTOMERS, "0", "60"),
        ("clawback", own(T::Disputes), "60", "0"),
        ("card_close", CARDS, "0", "3"),
        ("card_close", own(T::Breakage), "3", "0"),
        // Among others: no holder is a party.
        ("settlement_payout", MERCHANTS, "0", "270"),
        ("settlement_payout", own(T::BankClearing), "270", "0"),
    ]);
    let opening = balances(&[(CUSTOMERS, Asset::Ecopay, "100"), (CARDS, Asset::Ecopay, "80")]);
    let closing = super::super::balances_after(&opening, &lines).unwrap();
    let report = PrepaidReport::new(&opening, &lines, &closing).unwrap();
    let [instrument] = report.instruments.as_slice() else { panic!("{report:#?}") };
    let flows = &instrument.flows;
    let shown = [
        ("issued", &flows.issued, "1100"),
        ("granted", &flows.granted, "20"),
        ("taken over", &flows.taken_over, "0"),
        ("used", &flows.used, "270"),
        ("refunded", &flows.refunded, "60"),
        ("lapsed", &flows.lapsed, "3"),
        ("disputed", &flows.disputed, "60"),
        ("corrected", &flows.corrected, "5"),
        ("opening", &instrument.opening, "180"),
        ("unused", &instrument.unused, "912"),
        ("wallets", &instrument.wallets, "625"),
        ("cards", &instrument.cards, "257"),
        ("unclaimed", &instrument.unclaimed, "30"),
        ("in all", &report.unused, "912"),
    ];
    for (name, flow, expected) in shown {
        assert_eq!(flow.text(), expected, "{name}");
    }
}

#[test]
fn refund_of_a_lapsed_wallet_is_in_the_same_flows_whatever_other_refunds_there_are() {
    let flows = |to_holders: &str, from_merchants: &str| {
        let lines = sums(&[
            ("refund", CUSTOMERS, to_holders, "0"),
            ("refund", MERCHANTS, "0", from_merchants),
            ("refund", own(TenantAccount::Breakage), "40", "0"),
        ]);
        let none = |(line, moved): &(&Line, &Moved)| line.accounts != CUSTOMERS || moved.gained != yen("0");
        let lines = lines.lines.iter().filter(none).map(|(line, moved)| (line.clone(), moved.clone())).collect();
        let flows = PrepaidFlows::of(&Asset::Ecopay, &Sums { lines, ..Sums::default() }).unwrap();
        (flows.used.text(), flows.lapsed.text())
    };
    assert_eq!(flows("0", "40"), ("-40".to_owned(), "40".to_owned()));
    assert_eq!(flows("60", "100"), ("-100".to_owned(), "40".to_owned()));
}

#[test]
fn points_and_carbon_credits_are_no_instruments() {
    let closing = balances(&[(CUSTOMERS, Asset::Point, "70"), (CARDS, Asset::Jcredit, "2.5")]);
    let report = PrepaidReport::new(&Balances::new(), &Sums::default(), &closing).unwrap();
    let excluded = report.excluded.iter().map(|of| (of.asset.to_string(), of.why.name(), of.unused.text()));
    let expected = [("POINT", "not_paid_for", "70"), ("JCREDIT", "not_money", "2.5")];
    assert_eq!(excluded.collect::<Vec<_>>(), expected.map(|(asset, why, sum)| (asset.to_owned(), why, sum.to_owned())));
    assert_eq!((report.instruments.len(), report.unused.text()), (0, "0".to_owned()));
}
