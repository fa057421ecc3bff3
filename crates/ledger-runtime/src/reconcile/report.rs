//! A run's report for machines: a line of JSON for the run, and one for each break.

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use futures::future::BoxFuture;
use ledger_core::ids::Tenant;
use ledger_core::ops::reconciliation::{Run, RunState, Tally};
use ledger_core::reconcile::Finding;
use ledger_core::time::Timestamp;
use serde_json::{Value, json};

/// A place for reports.
pub trait ReportFiles: Send + Sync {
    /// Puts a report under a name, over what stands there: a run that is run again tells the same anew.
    fn put<'a>(&'a self, name: &'a str, lines: Vec<u8>) -> BoxFuture<'a, Result<(), String>>;
}

/// A bucket of S3.
#[derive(Clone, Debug)]
pub struct S3Reports {
    client: Client,
    bucket: String,
}

impl S3Reports {
    /// A bucket, by the SDK's shared configuration.
    #[must_use]
    pub fn new(sdk: &SdkConfig, bucket: &str) -> Self {
        Self { client: Client::new(sdk), bucket: bucket.to_owned() }
    }
}

impl ReportFiles for S3Reports {
    fn put<'a>(&'a self, name: &'a str, lines: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let put = self.client.put_object().bucket(&self.bucket).key(name).content_type("application/x-ndjson");
            match put.body(ByteStream::from(lines)).send().await {
                Ok(_) => Ok(()),
                Err(error) => Err(error.code().unwrap_or("no answer").to_owned()),
            }
        })
    }
}

/// Where a run's report is put.
pub(super) fn name(tenant: &Tenant, run: &Run) -> String {
    format!("{tenant}/reconciliation-{}.jsonl", run.id)
}

/// The report. Nothing in it is personal: findings name ids alone.
pub(super) fn lines(
    tenant: &Tenant,
    run: &Run,
    (state, tally): (RunState, &Tally),
    findings: &[Finding],
    now: Timestamp,
) -> Vec<u8> {
    let counts: serde_json::Map<String, Value> =
        tally.breaks.iter().map(|(kind, count)| (kind.name().to_owned(), (*count).into())).collect();
    let mut lines = vec![json!({
        "tenant": tenant.as_str(),
        "run_id": run.id.to_string(),
        "status": state.name(),
        "began_at": run.began_at.map(|at| at.to_string()),
        "finished_at": now.to_string(),
        "items_read": tally.items,
        "read_units": tally.units,
        "suspects": tally.suspects,
        "unsettled": tally.unsettled,
        "provider": tally.provider,
        "breaks": counts,
    })];
    lines.extend(findings.iter().map(line));
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text.into_bytes()
}

/// A finding as a line of a report.
#[must_use]
pub fn line(finding: &Finding) -> Value {
    json!({
        "tenant": finding.tenant.as_str(),
        "kind": finding.kind.name(),
        "subject": finding.subject,
        "asset": finding.asset.as_ref().map(ToString::to_string),
        "expected": finding.expected,
        "found": finding.found,
        "evidence": finding.evidence,
        "follows": finding.follows,
        "proposed": finding.proposal.as_ref().map(|proposal| proposal.delta.text()),
    })
}

#[cfg(test)]
mod tests;
