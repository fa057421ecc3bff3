//! The audit of a tenant's rows: what must hold at any moment, after any retries, reorderings, duplicates and crashes.
//!
//! Every test that checks stored rows uses it: those of the stack over the scanned table, those of the core over their
//! model. It shares nothing with the ledger's code but the row type, so an error in the ledger is not repeated here.

/// Returns a finding unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(format!($($what)+));
        }
    };
}

/// Returns a finding unless what is stored is what is expected. The text is the subject of "is .., expected ..".
macro_rules! ensure_eq {
    ($stored:expr, $expected:expr, $($what:tt)+) => {{
        let (stored, expected) = (&$stored, &$expected);
        if stored != expected {
            return Err(format!("{} is {stored:?}, expected {expected:?}", format_args!($($what)+)));
        }
    }};
}

mod aggregates;
mod balances;
mod cash;
#[cfg(feature = "stack")]
mod changes;
mod clawbacks;
mod compact;
mod credits;
mod holds;
mod index;
mod limits;
mod markers;
mod merchants;
mod migration;
mod payments;
mod periods;
mod postings;
mod rows;
mod seals;
mod settlements;
mod staff;
mod topup_refunds;
mod topups;

pub use compact::full;
pub use index::Audit;
pub use postings::Sums;
pub use rows::{Books, MARKERS, full_rows, n, number, opt_number, opt_text, s, text};

use std::fmt;

/// The result of a rule: a finding in words if it does not hold.
type Checked = Result<(), String>;

/// A rule of the books.
type Rule = fn(&Audit<'_>) -> Checked;

/// The rules that hold at any moment, by name.
const RULES: [(&str, Rule); 37] = [
    ("entries can be read", postings::entries_can_be_read),
    ("entries sum to zero", postings::entries_sum_to_zero),
    ("references point to entries", postings::references_point_to_entries),
    ("balances equal postings", balances::balances_equal_postings),
    ("held equals holds", balances::held_equals_holds),
    ("reserved equals unpaid top-ups", balances::reserved_equals_unpaid_topups),
    ("exposure equals its parts", balances::exposure_equals_its_parts),
    ("accounts have balances", balances::accounts_have_balances),
    ("counts equal what was counted", limits::counts_equal_what_was_counted),
    ("CO2 equals entries", aggregates::co2_equals_entries),
    ("aggregates equal payments and refunds", aggregates::aggregates_equal_payments_and_refunds),
    ("merchants are owed what is posted", merchants::merchants_are_owed_what_is_posted),
    ("merchants are credited by seals", credits::merchants_are_credited_by_seals),
    ("records are listed by merchants", merchants::records_are_listed_by_merchants),
    ("settlements equal records", settlements::settlements_equal_records),
    ("settlements divide into parts", settlements::settlements_divide_into_parts),
    ("one settlement is open", settlements::one_settlement_is_open),
    ("over settlements are not due", settlements::over_settlements_are_not_due),
    ("returned settlements are owed again", settlements::returned_settlements_are_owed_again),
    ("refundable equals captured less refunded", payments::refundable_equals_captured_less_refunded),
    ("uncaptured payments are not refunded", payments::uncaptured_payments_are_not_refunded),
    ("authorized payments have holds", holds::authorized_payments_have_holds),
    ("holds begin and end once", holds::holds_begin_and_end_once),
    ("top-ups are credited once", topups::topups_are_credited_once),
    ("top-ups' refundable equals charge less taken", topups::refundable_equals_charge_less_taken),
    ("open records are due", topups::open_records_are_due),
    ("entries have records", topups::entries_have_records),
    ("refunds have entries", topup_refunds::refunds_have_entries),
    ("refunds pay out their amount", topup_refunds::refunds_pay_out_their_amount),
    ("clawbacks have entries", clawbacks::clawbacks_have_entries),
    ("disputes equal owed", clawbacks::disputes_equal_owed),
    ("keys move money once", markers::keys_move_money_once),
    ("markers have entries", markers::markers_have_entries),
    ("markers are in one state", markers::markers_are_in_one_state),
    ("events' markers expire", markers::events_markers_expire),
    ("staff counters equal members", staff::counters_equal_members),
    ("both models agree", migration::both_models_agree),
];

/// The rules that hold while no merchant is being credited, by a worker or by a seal.
const RULES_WHEN_CREDITED: [(&str, Rule); 6] = [
    ("cash rooms equal allotments", cash::cash_rooms_equal_allotments),
    ("refund rooms equal refunds", cash::refund_rooms_equal_refunds),
    ("merchants' balances equal postings", merchants::balances_equal_postings),
    ("returned payouts are listed", merchants::returned_payouts_are_listed),
    ("entries are credited when sealed", credits::entries_are_credited_when_sealed),
    ("periods equal entries", periods::periods_equal_entries),
];

/// The rules that hold while nothing is being sealed.
const RULES_WHEN_SEALED: [(&str, Rule); 4] = [
    ("sealed records are in one segment", seals::sealed_records_are_in_one_segment),
    ("segments follow one another", seals::segments_follow_one_another),
    ("merchants are credited until a segment", seals::merchants_are_credited_until_a_segment),
    ("bindings cover every lane", seals::bindings_cover_every_lane),
];

/// The names of all rules that hold at any moment.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// What is wrong, and in which row.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

impl Audit<'_> {
    /// The first finding of each rule that does not hold.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.findings_of(&RULES)
    }

    /// The first finding of each rule about credits that does not hold. Not valid for rows that were read while
    /// merchants were being credited.
    #[must_use]
    pub fn findings_when_credited(&self) -> Vec<Finding> {
        self.findings_of(&RULES_WHEN_CREDITED)
    }

    /// The first finding of each rule about seals that does not hold. Not valid for rows that were read while records
    /// were being sealed.
    #[must_use]
    pub fn findings_when_sealed(&self) -> Vec<Finding> {
        self.findings_of(&RULES_WHEN_SEALED)
    }

    /// Checks all rules.
    ///
    /// # Panics
    /// With the findings, if a rule does not hold.
    pub fn check(&self) {
        none(&self.findings());
    }

    fn findings_of(&self, rules: &[(&'static str, Rule)]) -> Vec<Finding> {
        let found = rules.iter().filter_map(|(rule, holds)| Some(Finding { rule, what: holds(self).err()? }));
        found.collect()
    }
}

impl Books {
    /// The first finding of each rule that does not hold.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.audit().findings()
    }

    /// As [`Audit::findings_when_credited`].
    #[must_use]
    pub fn findings_when_credited(&self) -> Vec<Finding> {
        self.audit().findings_when_credited()
    }

    /// Checks all rules.
    ///
    /// # Panics
    /// With the findings, if a rule does not hold.
    pub fn check(&self) {
        none(&self.findings());
    }

    /// As [`Audit::findings_when_sealed`].
    #[must_use]
    pub fn findings_when_sealed(&self) -> Vec<Finding> {
        self.audit().findings_when_sealed()
    }

    /// Checks the rules about seals. Not valid for rows that were read while records were being sealed.
    ///
    /// # Panics
    /// With the findings, if a rule does not hold.
    pub fn check_sealed(&self) {
        none(&self.findings_when_sealed());
    }

    /// Checks the rules about credits. Not valid for rows that were read while merchants were being credited.
    ///
    /// # Panics
    /// With the findings, if a rule does not hold.
    pub fn check_credited(&self) {
        none(&self.findings_when_credited());
    }
}

fn none(findings: &[Finding]) {
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(texts.is_empty(), "the books do not agree:\n{}", texts.join("\n"));
}
