//! Items that have another key than at an earlier commit.

use ledger_core::ids::{ApprovalId, AuditId, Tenant};
use ledger_core::keys::{self, Key};

/// The key that an item has, by the one that it had: those of a tenant that were in its root partition.
pub(super) fn moved((pk, sk): (String, String)) -> (String, String) {
    match pk.strip_suffix("#tenant#root").and_then(|tenant| moved_within(tenant, &sk)) {
        Some(key) => key,
        None => (pk, sk),
    }
}

fn moved_within(tenant: &str, sk: &str) -> Option<(String, String)> {
    let of = |partition: &str, sk: String| Some((format!("{tenant}#{partition}"), sk));
    let slug = Tenant::parse(tenant).ok()?;
    let (kind, rest) = sk.split_once('#')?;
    match (kind, rest) {
        ("AUDIT", id) => of_key(&keys::audit(&slug, AuditId::parse(id).ok()?)),
        ("APPROVAL", id) => of_key(&keys::approval(&slug, ApprovalId::parse(id).ok()?)),
        ("ADJUSTMENT", id) => of(&format!("adjustment#{id}"), kind.to_owned()),
        ("RATE", window) => of(&format!("rate#{window}"), kind.to_owned()),
        ("RECONCILIATION", run) => of(&format!("reconciliation#{run}"), kind.to_owned()),
        ("BREAK", rest) => {
            let (run, id) = rest.split_once('#')?;
            of(&format!("reconciliation#{run}"), format!("BREAK#{id}"))
        }
        ("SEAL", "head") => of("bindings#root", "LANES".to_owned()),
        ("SEAL", rest) => match rest.split_once('#')? {
            ("head", lane) => of(&format!("lane#{}", lane.parse::<u32>().ok()?), "HEAD".to_owned()),
            ("bind", place) => of("bindings#root", format!("BINDING#{place}")),
            ("lane", place) => {
                let (lane, number) = place.split_once('#')?;
                of(&format!("lane#{}", lane.parse::<u32>().ok()?), format!("SEGMENT#{number}"))
            }
            _ => None,
        },
        ("JOB", "settlement_calendar") => of("tenant#root", "CALENDAR".to_owned()),
        ("JOB", "fold") => of("fold#root", "FOLD".to_owned()),
        ("JOB", rest) => {
            let (kind, rest) = rest.split_once('#')?;
            match kind {
                "terms" => of("tenant#root", format!("TERMS#{rest}")),
                "budget" => of("tenant#root", format!("BUDGET#{rest}")),
                "notice" => of_key(&keys::notice(&slug, AuditId::parse(rest).ok()?)),
                "request" => of_key(&keys::request(&slug, ApprovalId::parse(rest).ok()?)),
                "day" => of("totals#tenant", format!("DAY#{rest}")),
                "batch" => of(&format!("batch#{}", rest.parse::<u64>().ok()?), "BATCH".to_owned()),
                "bonus" => {
                    let (merchant, entry) = rest.split_once('#')?;
                    of(&format!("merchant#{merchant}"), format!("CASH_BONUS#{entry}"))
                }
                "active" => {
                    let (date, batch) = rest.split_once('#')?;
                    of(&format!("active#{date}"), format!("ACTIVE#{batch}"))
                }
                "totals" => {
                    let (subject, date) = rest.split_once('#')?;
                    of(&format!("totals#{subject}"), format!("TOTALS#{date}"))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn of_key(key: &Key) -> Option<(String, String)> {
    Some((key.pk().to_owned(), key.sk().to_owned()))
}
