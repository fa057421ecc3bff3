//! The generated table of docs/architecture/two-people.md.

use ledger_core::account::Posting;
use ledger_core::approvals::Approval;
use ledger_core::ids::BankFileId;
use ledger_tests::http::Call;
use ledger_tests::tree;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const PAGE: &str = "docs/architecture/two-people.md";
const BEGIN: &str = "<!-- commands -->\n";
const END: &str = "<!-- end -->";

/// A command, as it was requested and stored, with the acts that it left once it was approved.
pub(super) struct Followed {
    pub(super) request: Call,
    pub(super) approval: Approval,
    pub(super) acts: BTreeSet<String>,
}

impl Followed {
    fn line(&self) -> String {
        let (command, projected) = (&self.approval.command, &self.approval.projected);
        let effect = command.effect();
        let figures = [
            effect.account.map(|_| "account".to_owned()),
            effect.amount.map(|_| "amount".to_owned()),
            effect.count.map(|_| "customers".to_owned()),
        ];
        let details = command.details().into_iter().map(|(name, _)| name.to_owned());
        let known = projected.known.keys().cloned();
        let said: Vec<String> = figures.into_iter().flatten().chain(details).chain(known).collect();
        let posting = |of: &Posting| {
            let (sign, account) = (if of.delta.is_debit() { "-" } else { "+" }, of.account.to_string());
            format!("`{sign}{}`", account.split(':').next().unwrap_or_default())
        };
        let mut postings: Vec<String> = projected.postings.iter().map(posting).collect();
        postings.dedup();
        let changes: Vec<String> = projected.changes.iter().map(|change| change.name.clone()).collect();
        assert!(self.acts.contains("approval_request"), "{:?}", self.acts);
        let acts: Vec<String> = self.acts.iter().filter(|act| *act != "approval_request").cloned().collect();
        let stored: Vec<String> = command.item().into_keys().filter(|name| name != "kind").collect();
        format!(
            "| `{}` | `{} {}` with `{}` | {} | {} | {} | {} | {} |\n",
            command.operation(),
            self.request.method,
            pattern(&self.request.path),
            command.permission().name(),
            named(&stored),
            named(&said),
            postings.join(" "),
            named(&changes),
            named(&acts),
        )
    }
}

/// A path with `{id}` in place of each id.
fn pattern(path: &str) -> String {
    let is_id = |part: &str| uuid::Uuid::parse_str(part).is_ok() || BankFileId::parse(part).is_ok();
    let parts: Vec<&str> = path.split('/').map(|part| if is_id(part) { "{id}" } else { part }).collect();
    parts.join("/")
}

fn named(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

/// Asserts that the page has what the commands showed.
pub(super) fn assert_written(followed: &[Followed]) {
    let mut lines: Vec<String> = followed.iter().map(Followed::line).collect();
    lines.sort();
    let mut table =
        "| command | asked for at | stored | said | postings | changes | acts |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for line in lines {
        let _ = table.write_str(&line);
    }
    let page = std::fs::read_to_string(tree::root().join(PAGE)).expect("the page");
    let written = page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(table, _)| table);
    assert_eq!(written, Some(table.as_str()), "put this between the markers of {PAGE}:\n{table}");
    for command in followed.iter().map(|of| of.approval.command.operation()) {
        assert!(page.contains(&format!("\n| `{command}` | stale ")), "{PAGE} does not say when `{command}` is stale");
    }
}
