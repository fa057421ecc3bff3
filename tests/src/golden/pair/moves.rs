//! Items that have another key than at an earlier commit.

use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::{self, Key};

/// The key that an item has, by the one that it had: jobs and their lines were in the root partition of a tenant.
pub(super) fn moved((pk, sk): (String, String)) -> (String, String) {
    let found = pk.strip_suffix("#tenant#root").zip(sk.strip_prefix("JOB#"));
    match found.and_then(|(tenant, rest)| job(&Tenant::parse(tenant).ok()?, rest)) {
        Some(key) => (key.pk().to_owned(), key.sk().to_owned()),
        None => (pk, sk),
    }
}

fn job(tenant: &Tenant, rest: &str) -> Option<Key> {
    let Some((kind, rest)) = rest.split_once('#') else { return Some(keys::job(tenant, JobId::parse(rest).ok()?)) };
    match kind {
        "wind_down_line" | "settlement_run_line" => {
            let (id, of) = rest.split_once('#')?;
            Some(keys::job_line(tenant, JobId::parse(id).ok()?, of))
        }
        "cards" | "preview" | "file" | "settlement_run" | "wind_down" | "erasure" => {
            Some(keys::job(tenant, JobId::parse(rest).ok()?))
        }
        _ => None,
    }
}
