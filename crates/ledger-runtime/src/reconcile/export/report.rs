//! The last task: orders all findings and writes a report for each tenant.

use super::lines::Lines;
use super::{ExportDone, ExportError, ExportRun, Exports, unread};
use crate::metrics::Metric;
use crate::reconcile::outcome::{self, Breaks};
use crate::reconcile::report;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::reconcile::Finding;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io;

/// The number of findings that memory holds and reports list; the others are only counted.
const FINDINGS_MAX: usize = 100_000;

/// The first line of an object with the findings of a data file or a part.
#[derive(Default, Deserialize)]
struct Head {
    items: Option<u64>,
    #[serde(default)]
    newer: BTreeMap<String, BTreeMap<String, i64>>,
    #[serde(default)]
    tenants: Vec<String>,
}

/// The findings by tenant.
#[derive(Default)]
struct Found {
    tenants: BTreeMap<Tenant, OfTenant>,
    kept: usize,
}

#[derive(Default)]
struct OfTenant {
    findings: Vec<Finding>,
    left_out: Breaks,
    newer: BTreeMap<String, i64>,
}

impl Exports {
    pub(super) async fn report(&self, of: &ExportRun) -> Result<ExportDone, ExportError> {
        let summary = self.summary(of).await?;
        let (mut found, mut items) = (Found::default(), 0_u64);
        for file in self.files(of).await? {
            let name = of.items(file.own_name());
            let head = self.gather(&name, &mut found).await?;
            found.take_newer(&name, head.newer)?;
            let read = head.items.unwrap_or_default();
            if read != file.items() {
                return Err(ExportError::Count { name, listed: file.items(), found: read });
            }
            items = items.saturating_add(read);
        }
        // Also fails if the manifest lacks a data file.
        if items != summary.items() {
            return Err(ExportError::Count { name: "the export".to_owned(), listed: summary.items(), found: items });
        }
        for part in 0..of.parts() {
            let name = of.folded(part);
            for tenant in self.gather(&name, &mut found).await?.tenants {
                let tenant = Tenant::parse(&tenant).map_err(|_| unreadable(&name, "no tenant"))?;
                let _ = found.tenants.entry(tenant).or_default();
            }
        }
        let (tenants, mut breaks) = (found.tenants.len(), 0_i64);
        for (tenant, mut found) in found.tenants {
            let mut counts = outcome::in_order(&mut found.findings);
            let left_out = found.left_out.values().fold(0_i64, |sum, count| sum.saturating_add(*count));
            for (kind, count) in found.left_out {
                let of_kind = counts.entry(kind).or_default();
                *of_kind = of_kind.saturating_add(count);
            }
            let head = json!({
                "tenant": tenant.as_str(),
                "run_id": of.name(),
                "status": match (counts.is_empty(), found.newer.is_empty()) {
                    (false, _) => "breaks",
                    (true, false) => "unsettled",
                    (true, true) => "clean",
                },
                "exported_at": summary.at()?.to_string(),
                "finished_at": self.clock.now().to_string(),
                "items_exported": items,
                "left_out": left_out,
                "newer": found.newer,
                "breaks": report::by_name(&counts),
            });
            let name = format!("{tenant}/reconciliation-{}.jsonl", of.name());
            let put = self.reports.put(&name, report::text(&head, &found.findings)).await;
            put.map_err(ExportError::Report)?;
            outcome::count(&self.metrics, &tenant, &of.name(), &counts);
            self.metrics.count(Metric::Reconciled, &tenant, Operation::Reconcile);
            breaks = counts.values().fold(breaks, |sum, count| sum.saturating_add(*count));
        }
        Ok(ExportDone::Report { items, tenants, breaks })
    }

    /// Adds the findings of a data file or of a part, and returns its head line.
    async fn gather(&self, name: &str, found: &mut Found) -> Result<Head, ExportError> {
        let mut head = None;
        let mut into = Lines::new(|line: &str| {
            if head.is_none() {
                head = Some(serde_json::from_str(line).map_err(io::Error::from)?);
                return Ok(());
            }
            let finding = report::read_line(line);
            found.take(finding.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no finding"))?);
            Ok(())
        });
        self.copy_object(name, &mut into).await?;
        into.end().map_err(|error| unread(name, &error))?;
        head.ok_or_else(|| unreadable(name, "nothing"))
    }
}

impl Found {
    /// Adds the counts of newer items in a data file.
    fn take_newer(&mut self, file: &str, newer: BTreeMap<String, BTreeMap<String, i64>>) -> Result<(), ExportError> {
        for (tenant, counts) in newer {
            let tenant = Tenant::parse(&tenant).map_err(|_| unreadable(file, "no tenant"))?;
            let of_tenant = self.tenants.entry(tenant).or_default();
            for (name, count) in counts {
                let sum = of_tenant.newer.entry(name).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(())
    }

    fn take(&mut self, finding: Finding) {
        let of_tenant = self.tenants.entry(finding.tenant.clone()).or_default();
        if self.kept < FINDINGS_MAX {
            self.kept = self.kept.saturating_add(1);
            of_tenant.findings.push(finding);
        } else {
            let count = of_tenant.left_out.entry(finding.kind).or_default();
            *count = count.saturating_add(1);
        }
    }
}

fn unreadable(name: &str, why: &str) -> ExportError {
    ExportError::Unreadable { name: name.to_owned(), why: why.to_owned() }
}
