//! Bank days against the published holidays, and schedules against dates counted by hand.

mod payment_window;

use super::*;

fn day(text: &str) -> BusinessDate {
    BusinessDate::parse(text).unwrap()
}

fn schedule(text: &str) -> SettlementSchedule {
    text.parse().unwrap()
}

fn closings(of: &str, from: &str, until: &str) -> Vec<String> {
    let (schedule, mut date, mut closings) = (schedule(of), day(from), Vec::new());
    while date <= day(until) {
        closings.extend(schedule.closes_on(date).then(|| date.to_string()));
        date = date.next();
    }
    closings
}

fn paid(of: &str, closing: &str) -> String {
    schedule(of).pays_on(day(closing)).unwrap().to_string()
}

/// The weekdays of 2026 on which banks are closed, as the Cabinet Office and the law on banks have them.
const CLOSED_2026: [&str; 19] = [
    "2026-01-01",
    "2026-01-02",
    "2026-01-12",
    "2026-02-11",
    "2026-02-23",
    "2026-03-20",
    "2026-04-29",
    "2026-05-04",
    "2026-05-05",
    "2026-05-06",
    "2026-07-20",
    "2026-08-11",
    "2026-09-21",
    "2026-09-22",
    "2026-09-23",
    "2026-10-12",
    "2026-11-03",
    "2026-11-23",
    "2026-12-31",
];

#[test]
fn every_day_of_a_year_is_as_published() {
    let (mut date, mut open) = (day("2026-01-01"), 0);
    while date <= day("2026-12-31") {
        let is_weekend = matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday);
        let is_closed = is_weekend || CLOSED_2026.contains(&date.to_string().as_str());
        assert_eq!(is_bank_day(date), Ok(!is_closed), "{date}");
        open += u32::from(!is_closed);
        date = date.next();
    }
    assert_eq!(open, 261 - 19);
}

#[test]
fn substitute_and_citizens_holidays_are_closed() {
    for closed in [
        "2023-01-02",
        "2024-02-12",
        "2024-08-12",
        "2025-02-24",
        "2025-05-06",
        "2026-05-06",
        "2026-09-22",
        "2027-03-22",
        "2027-01-03",
        "2027-12-31",
        "2026-11-21",
    ] {
        assert_eq!(is_bank_day(day(closed)), Ok(false), "{closed}");
    }
    for open in ["2026-12-30", "2027-01-04", "2027-03-23", "2026-09-24", "2024-02-29"] {
        assert_eq!(is_bank_day(day(open)), Ok(true), "{open}");
    }
}

/// The law's own rules hold in the file, so a file that was cut or mistyped is noticed.
#[test]
fn each_year_of_the_table_is_whole() {
    let table = TABLE.as_ref().expect("every line is a date and a name");
    assert_eq!(table.holidays.len() + 1, PUBLISHED.lines().count());
    assert_eq!((table.first, table.last), (day("2023-01-01"), day("2027-12-31")));
    assert_eq!(known_until(), Some(table.last));
    let is_holiday = |date: BusinessDate| table.holidays.contains(&date);
    let mut year = table.first;
    while year <= table.last {
        let count = table.holidays.range(year..=year.last_of_year()).count();
        assert!((16..=22).contains(&count), "{year}: {count} holidays");
        for fixed in ["01-01", "02-11", "02-23", "04-29", "05-03", "05-04", "05-05", "08-11", "11-03", "11-23"] {
            let date = day(&year.to_string().replace("01-01", fixed));
            assert!(is_holiday(date), "{date}");
        }
        year = year.last_of_year().next();
    }
    for date in &table.holidays {
        if date.weekday() == Weekday::Sunday {
            let mut next = date.next();
            while is_holiday(next) && is_holiday(next.next()) {
                next = next.next();
            }
            assert!(is_holiday(next), "{date} has no substitute");
        }
        let between = date.next();
        if is_holiday(between.next()) && between.weekday() != Weekday::Sunday {
            assert!(is_holiday(between), "{between} is between two holidays");
        }
    }
}

#[test]
fn day_outside_the_table_is_refused() {
    for unknown in ["2022-12-31", "2028-01-01", "2028-02-29"] {
        assert_eq!(is_bank_day(day(unknown)), Err(HolidaysUnknown(day(unknown))));
    }
    let beyond = Err(HolidaysUnknown(day("2028-01-01")));
    assert_eq!(bank_days_after(day("2027-12-30"), 1), beyond);
    assert_eq!(bank_day_from(day("2027-12-31")), beyond);
    assert_eq!(
        schedule("monthly:month_end next_month:10:next").pays_on(day("2027-12-31")),
        Err(HolidaysUnknown(day("2028-01-10")))
    );
    assert_eq!(bank_day_until(day("2023-01-03")), Err(HolidaysUnknown(day("2022-12-31"))));
    assert_eq!(
        HolidaysUnknown(day("2028-01-04")).to_string().split(':').next(),
        Some("the bank holidays of 2028-01-04 are not known")
    );
}

#[test]
fn malformed_table_has_no_days() {
    for wrong in [
        "",
        "date,name\n",
        "date,name\n2026/1/1\n",
        "date,name\n2026/1/1,\n",
        "date,name\n2026/13/1,x\n",
        "date,name\n2026-1-1,x\n",
    ] {
        assert!(Table::read(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn closing_days_of_each_kind_of_schedule() {
    let ends = closings("monthly:month_end bank_days:3", "2028-01-01", "2028-04-30");
    assert_eq!(ends, ["2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30"]);
    assert_eq!(closings("monthly:month_end bank_days:3", "2027-02-01", "2027-02-28"), ["2027-02-28"]);
    assert_eq!(closings("monthly:28 bank_days:3", "2028-02-01", "2028-03-27"), ["2028-02-28"]);
    let twice = closings("twice_a_month:15,month_end bank_days:3", "2024-02-01", "2024-03-31");
    assert_eq!(twice, ["2024-02-15", "2024-02-29", "2024-03-15", "2024-03-31"]);
    assert_eq!(
        closings("twice_a_month:5,20 bank_days:3", "2026-12-01", "2027-01-10"),
        ["2026-12-05", "2026-12-20", "2027-01-05"]
    );
    let weekly = closings("weekly:friday bank_days:2", "2026-12-18", "2027-01-08");
    assert_eq!(weekly, ["2026-12-18", "2026-12-25", "2027-01-01", "2027-01-08"]);
}

#[test]
fn payment_days_skip_golden_week_and_new_year() {
    for (of, closing, want) in [
        // 29 April, 3 to 6 May and the weekends are skipped.
        ("monthly:month_end bank_days:3", "2026-04-30", "2026-05-08"),
        ("monthly:month_end bank_days:1", "2026-04-28", "2026-04-30"),
        ("monthly:month_end next_month:3:next", "2026-04-30", "2026-05-07"),
        ("monthly:month_end next_month:5:previous", "2026-04-30", "2026-05-01"),
        // The new year.
        ("weekly:friday bank_days:2", "2026-12-25", "2026-12-29"),
        ("weekly:wednesday bank_days:1", "2026-12-30", "2027-01-04"),
        ("weekly:friday bank_days:2", "2027-01-01", "2027-01-05"),
        ("monthly:month_end next_month:1:next", "2026-12-31", "2027-01-04"),
        ("monthly:20 next_month:month_end:previous", "2026-11-20", "2026-12-30"),
        ("monthly:20 next_month:month_end:next", "2026-11-20", "2027-01-04"),
        // A citizens' holiday between two others, and a substitute.
        ("monthly:15 bank_days:4", "2026-09-15", "2026-09-24"),
        ("monthly:month_end next_month:21:next", "2027-02-28", "2027-03-23"),
        // A leap day, and the month after a short one.
        ("monthly:month_end next_month:10:next", "2024-02-29", "2024-03-11"),
        ("monthly:month_end next_month:month_end:previous", "2026-01-31", "2026-02-27"),
        ("twice_a_month:15,month_end bank_days:3", "2024-02-29", "2024-03-05"),
        // A day that would be moved to the closing day or before it.
        ("monthly:month_end next_month:1:previous", "2027-04-30", "2027-05-06"),
    ] {
        assert_eq!(paid(of, closing), want, "{of} closed on {closing}");
    }
}

#[test]
fn every_payment_day_of_the_table_is_a_bank_day_after_its_closing() {
    let texts = [
        "monthly:month_end next_month:1:previous",
        "twice_a_month:15,month_end bank_days:3",
        "weekly:friday bank_days:1",
    ];
    for schedule in texts.map(schedule) {
        let mut date = day("2023-01-10");
        while date <= day("2027-10-31") {
            let pays = schedule.pays_on(date).unwrap();
            assert!(pays > date && is_bank_day(pays) == Ok(true), "{schedule}: {date}");
            date = date.next();
        }
    }
}

#[test]
fn schedules_are_written_as_they_are_read() {
    for text in [
        "monthly:1 bank_days:1",
        "monthly:month_end next_month:10:next",
        "twice_a_month:15,month_end bank_days:60",
        "twice_a_month:5,20 next_month:28:previous",
        "weekly:sunday bank_days:2",
        "by_hand",
    ] {
        assert_eq!(text.parse::<OwnSchedule>().unwrap().to_string(), text);
    }
    for wrong in [
        "",
        "monthly",
        "monthly:1",
        "monthly:0 bank_days:1",
        "monthly:29 bank_days:1",
        "monthly:01 bank_days:1",
        "monthly:month_end bank_days:0",
        "monthly:1 bank_days:61",
        "monthly:1 next_month:5",
        "monthly:1  bank_days:1",
        "twice_a_month:15 bank_days:1",
        "twice_a_month:15,15 bank_days:1",
        "twice_a_month:month_end,15 bank_days:1",
        "weekly:5 bank_days:1",
        "weekly:friday next_month:5:after",
        "By_hand",
        "none",
    ] {
        assert_eq!(wrong.parse::<OwnSchedule>(), Err(ScheduleError), "{wrong}");
    }
}
