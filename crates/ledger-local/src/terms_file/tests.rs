//! What a file of terms is read as, and what is refused.

use super::*;
use crate::seed;
use ledger_core::limits::{Holder, LimitChange, LimitTerms};

fn parse(text: &str) -> Result<TenantTerms, TermsError> {
    super::parse(text, &Tenant::parse("aoba").unwrap())
}

#[test]
fn programme_without_a_name_is_called_by_the_slug() {
    let mut file: serde_json::Value = serde_json::from_str(&text(&seed::terms().unwrap())).unwrap();
    let name = file.as_object_mut().unwrap().remove("display_name");
    assert_eq!(name.unwrap(), seed::DISPLAY_NAME);
    assert_eq!(parse(&file.to_string()).unwrap().display_name.as_str(), "aoba");
    file["display_name"] = "  \u{304b}\u{3099}EcoPay ".into();
    assert_eq!(parse(&file.to_string()).unwrap().display_name.as_str(), "\u{304c}EcoPay");
    file["display_name"] = " ".into();
    let refused = parse(&file.to_string()).unwrap_err().to_string();
    assert_eq!(refused, "display_name: must not be empty");
}

#[test]
fn terms_written_and_parsed_are_equal() {
    let terms = seed::terms().unwrap();
    assert_eq!(parse(&text(&terms)).unwrap(), terms);
    let registration = RegistrationNumber::parse("T1234567890123");
    let [file_cut, cut_off] = ["08:15", "09:30"].map(|time| TimeOfDay::parse(time).unwrap());
    let deadline = BankDeadline { lead_days: 2, cut_off, ahead_days: 30, file_cut };
    let free = SettlementTerms { registration, deadline, ..SettlementTerms::free() };
    let schedule = "monthly:month_end next_month:10:next".parse().unwrap();
    let without = TenantTerms { settlement: Some(free), settlement_schedule: Some(schedule), ..terms.clone() };
    assert_eq!(parse(&text(&without)).unwrap(), without);
    let change = LimitChange::parse(Holder::Customer, &AssetSpec::ECOPAY, "pay_day=50000").unwrap();
    let limits = LimitTerms::none().with(Holder::Customer, &Asset::Ecopay, &change).suspending(true);
    let with_limits = TenantTerms { limits: Some(limits), ..terms.clone() };
    assert_eq!(parse(&text(&with_limits)).unwrap(), with_limits);
    let without = TenantTerms {
        cash_bonus: CashBonusTerms::Never,
        ceilings: CeilingTerms::zero(),
        topup: None,
        settlement: None,
        requests_per_second: RequestRate::new(7),
        hold_hours: HoldHours::new(48),
        limits: None,
        ..terms
    };
    assert_eq!(parse(&text(&without)).unwrap(), without);
}

#[test]
fn file_that_does_not_say_when_the_bank_takes_files_has_the_default() {
    let mut file: serde_json::Value = serde_json::from_str(&text(&seed::terms().unwrap())).unwrap();
    let settlement = file["settlement"].as_object_mut().unwrap();
    for (name, default) in [("bank_lead_days", "1"), ("bank_cut_off", "\"12:00\""), ("bank_ahead_days", "15")] {
        assert_eq!(settlement.remove(name).unwrap().to_string(), default, "{name}");
    }
    assert_eq!(parse(&file.to_string()).unwrap(), seed::terms().unwrap());
}

#[test]
fn new_tenant_has_one_shard_for_due_work_unless_its_file_has_others() {
    let to_begin_with = seed::terms_to_begin_with().unwrap();
    assert_eq!(to_begin_with.due_shards.count(), 1);
    let unsaid = text(&to_begin_with).replacen(r#""due_shards": 1,"#, "", 1);
    assert_ne!(unsaid, text(&to_begin_with));
    assert_eq!(parse(&unsaid).unwrap(), to_begin_with);
}

#[test]
fn error_names_the_wrong_field() {
    let good = text(&seed::terms().unwrap());
    for (from, to, why) in [
        (r#""cap": "50000""#, r#""cap": "-1""#, "assets.ECOPAY.cap: "),
        (r#""cap": "50000""#, r#""cap": 50000"#, "terms: invalid type"),
        (r#""points_rate": "0.05""#, r#""points_rate": "5%""#, "topup.points_rate: "),
        (r#""due_shards": 4"#, r#""due_shards": 4, "requests_per_second": 0"#, "requests_per_second: is 1 to 100000"),
        (r#""due_shards": 4"#, r#""due_shards": 4, "hold_hours": 721"#, "hold_hours: is 1 to 720"),
        (r#""due_shards": 4"#, r#""due_shards": 65"#, "due_shards: is 1 to 64"),
        (r#""bank_code": "0005""#, r#""bank_code": "5""#, "settlement.sender: bank_code must be 4 digits"),
        (r#""fee_rate": "0.015""#, r#""fee_rate": "1.5%""#, "settlement.fee_rate: "),
        (r#""fee_rate": "0.015""#, r#""fee_rate": "0.015", "schedule": "daily""#, "settlement.schedule: must be "),
        (
            r#""fee_rate": "0.015""#,
            r#""fee_rate": "0.015", "schedule": "weekly:friday bank_days:1""#,
            "settlement.schedule: the bank can never pay on the days of the schedule: they come too soon after the closing \
             days; the earliest rule is weekly:friday bank_days:2",
        ),
        (r#""bank_lead_days": 1"#, r#""bank_lead_days": 6"#, "settlement.bank_lead_days: is 0 to 5"),
        (r#""bank_ahead_days": 15"#, r#""bank_ahead_days": 0"#, "settlement.bank_ahead_days: is 1 to 60"),
        (r#""bank_cut_off": "12:00""#, r#""bank_cut_off": "24:00""#, "settlement.bank_cut_off: is a time of day"),
        (r#""mandatory""#, r#""always""#, "key_phase: is `mandatory`"),
        (r#""deduct""#, r#""keep""#, "spent_points: is `deduct`"),
        (r#""when_covered""#, r#""always""#, "cash_bonus: is `never` or `when_covered`"),
        (r#""refund_ceiling": "100000""#, r#""refund_ceiling": "-1""#, "refund_ceiling: "),
        (r#""scale": 0"#, r#""scale": 9"#, "assets.REGIONAL#aoba: scale is 0 to 6"),
        (r#""REGIONAL#aoba""#, r#""AOBA""#, "assets.AOBA: "),
        (r#""ECOPAY""#, r#""REGIONAL#yen""#, "assets: ECOPAY is missing"),
        (
            r#""key_phase""#,
            r#""limits": {"customer.ECOPAY.pay_week": "1"}, "key_phase""#,
            "limits.customer.ECOPAY.pay_week: is no term",
        ),
        (r#""card""#, r#""cards""#, "terms: unknown field `cards`"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        let error = parse(&bad).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
}
