//! The cases of the golden vectors: id, reason, given state and command, and expected result. Effects and outcomes are
//! written by hand.

mod admin;
mod approvals;
mod approvals_money;
mod attention;
mod bonuses;
mod card_life;
mod card_pins;
mod card_reverse;
mod cards;
mod cash;
mod charge;
mod clawback;
mod clawback_points;
mod closing;
mod counters;
mod crediting;
mod customers;
mod debts;
mod decisions;
mod deposits;
mod entries;
mod figures;
mod files;
mod finding;
mod flight;
mod forms;
mod forms_marker;
mod grants;
mod holds;
mod holds_ended;
mod lanes;
mod limits;
mod markers;
mod merchant_closing;
mod migrating;
mod migration;
mod migration_moves;
mod notices;
mod outside;
mod pay;
mod rate;
mod reconciliation;
mod recorded;
mod records;
mod refund;
mod refund_points;
mod rooms;
mod settlement_runs;
mod settlements;
mod settlements_admin;
mod settlements_lanes;
mod setup;
mod shops;
mod sign_ins;
mod staff;
mod terminal_charge;
mod terms;
mod topup;
mod topup_check;
mod topup_events;
mod topup_refund;
mod topup_refund_events;
mod trail;
mod transfer;
mod wind_downs;
mod world;

use super::command::{AnswerJson, ClaimJson, Command, ContextJson, Does};
use super::vector::Given;
use serde_json::Value as Json;

/// A case.
pub struct Case {
    /// `<operation>/<case>`.
    pub id: &'static str,
    /// What the case shows.
    pub why: &'static str,
    /// The state and the command.
    pub given: Given,
    /// The outcome, in words.
    pub outcome: &'static str,
    /// The changes: account, asset, signed amount.
    pub effects: Vec<(String, &'static str, &'static str)>,
    /// Whether the vector has rows of precedence.
    pub precedence: bool,
    /// The version of its vector; a changed vector gets the next one.
    pub version: &'static str,
}

/// Every case.
#[must_use]
pub fn all() -> Vec<Case> {
    [
        forms_marker::cases(),
        forms::cases(),
        pay::cases(),
        transfer::cases(),
        charge::cases(),
        terminal_charge::cases(),
        refund::cases(),
        refund_points::cases(),
        cards::cases(),
        card_life::cases(),
        card_reverse::cases(),
        cash::cases(),
        closing::cases(),
        counters::cases(),
        deposits::cases(),
        card_pins::cases(),
        notices::cases(),
        rooms::cases(),
        bonuses::cases(),
        grants::cases(),
        admin::cases(),
        customers::cases(),
        setup::cases(),
        staff::cases(),
        shops::cases(),
        merchant_closing::cases(),
        wind_downs::cases(),
        figures::cases(),
        files::cases(),
        settlement_runs::cases(),
        terms::cases(),
        approvals::cases(),
        approvals_money::cases(),
        recorded::cases(),
        rate::cases(),
        limits::cases(),
        topup::cases(),
        topup_events::cases(),
        topup_refund::cases(),
        topup_refund_events::cases(),
        clawback::cases(),
        clawback_points::cases(),
        debts::cases(),
        decisions::cases(),
        flight::cases(),
        attention::cases(),
        topup_check::cases(),
        crediting::cases(),
        holds::cases(),
        holds_ended::cases(),
        trail::cases(),
        lanes::cases(),
        settlements::cases(),
        settlements_admin::cases(),
        settlements_lanes::cases(),
        reconciliation::cases(),
        records::cases(),
        entries::cases(),
        finding::cases(),
        sign_ins::cases(),
        markers::cases(),
        migration::cases(),
        migration_moves::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Case {
    fn new(id: &'static str, why: &'static str, claim: Option<ClaimJson>, does: Does) -> Self {
        let answer = claim.as_ref().map(|_| AnswerJson {
            status: "201".to_owned(),
            content_type: "application/json".to_owned(),
            location: None,
            body: format!("{{\"id\":\"{}\"}}", world::RESOURCE),
        });
        let context = ContextJson {
            transaction_id: world::TXN.to_owned(),
            resource_id: world::RESOURCE.to_owned(),
            audit_id: world::AUDIT.to_owned(),
            secret: "000102030405060708090a0b0c0d0e0f".to_owned(),
            lists_acts: false,
        };
        let command = Command { tenant: world::TENANT.to_owned(), claim, answer, context, seen: Vec::new(), does };
        let given = Given { now: world::NOW.to_owned(), command, state: Vec::new() };
        Self { id, why, given, outcome: "applied", effects: Vec::new(), precedence: false, version: "v1" }
    }

    fn on(mut self, state: impl IntoIterator<Item = Json>) -> Self {
        self.given.state.extend(state);
        self
    }

    /// The tenant's records list acts about customers.
    fn listing_acts(mut self) -> Self {
        self.given.command.context.lists_acts = true;
        self
    }

    fn seen(mut self, items: impl IntoIterator<Item = Json>) -> Self {
        self.given.command.seen.extend(items);
        self
    }

    fn moves(mut self, effects: &[(&str, &'static str, &'static str)]) -> Self {
        self.effects.extend(effects.iter().map(|(account, asset, change)| ((*account).to_owned(), *asset, *change)));
        self
    }

    fn ends(mut self, outcome: &'static str) -> Self {
        self.outcome = outcome;
        self
    }

    /// The vector's earlier version stays for what was written then; this version is what is built now.
    fn supersedes(mut self) -> Self {
        self.version = if self.version == "v1" { "v2" } else { "v3" };
        self
    }

    /// In `v1` a terminal's marker had a `ttl`. Cases without a request have not changed.
    fn by_terminal(self) -> Self {
        let unplanned = ["refused ", "invalid "].iter().any(|start| self.outcome.starts_with(start));
        if unplanned { self } else { self.supersedes() }
    }

    fn precedence(mut self) -> Self {
        self.precedence = true;
        self
    }
}
