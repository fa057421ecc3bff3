//! The differences that changes of forms may make.

/// Differences that a change of forms may make.
#[derive(Debug)]
pub struct Rule {
    /// Why they are right.
    pub name: &'static str,
    /// Their lines; `*` matches any text.
    pub lines: &'static [&'static str],
}

/// The rules.
pub const RULES: &[Rule] = &[
    Rule { name: "a vector is added", lines: &["vector added: *"] },
    Rule {
        name: "plain names: undo_reason, payouts_returned, lease_until, attempts, answers",
        lines: &[
            "Put tenant JOB with attribute attempts N",
            "Put tenant JOB without attribute tries N",
            "Put topup TRAIL with attribute answers L",
            "Put topup TRAIL without attribute heard L",
            "Update merchant SETTLEMENT with * #payouts_returned_ecopay :payouts_returned_ecopay",
            "Update merchant SETTLEMENT with *undo_reason*",
            "Update merchant SETTLEMENT with value :payouts_returned_ecopay N",
            "Update merchant SETTLEMENT without * #came_back_ecopay :came_back_ecopay",
            "Update merchant SETTLEMENT without *turned_back*",
            "Update merchant SETTLEMENT without value :came_back_ecopay N",
            "Update tenant JOB with *attempts*",
            "Update tenant JOB with *lease_until*",
            "Update tenant JOB without *taken_until*",
            "Update tenant JOB without *tries*",
            "row added: merchant SETTLEMENT given but undo_reason: rejected stale_plan by settlement",
            "row added: tenant JOB given but attempts: rejected stale_plan by job",
            "row added: tenant JOB given but lease_until: rejected stale_plan by job",
            "row removed: merchant SETTLEMENT given but turned_back: rejected stale_plan by settlement",
            "row removed: tenant JOB given but taken_until: rejected stale_plan by job",
            "row removed: tenant JOB given but tries: rejected stale_plan by job",
            "vector removed: reconciliation",
            "vector removed: settlement",
            "vector removed: trail",
        ],
    },
    Rule {
        name: "the display name is a term",
        lines: &[
            "Put tenant CONFIG with attribute display_name S",
            "Update tenant CONFIG with update SET #display_name = :display_name",
            "Update tenant CONFIG with value :display_name S",
        ],
    },
];
