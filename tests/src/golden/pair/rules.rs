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
        name: "a correction answers the version that a run read",
        lines: &[
            "Put tenant ADJUSTMENT with attribute seen_corrections N",
            "Put tenant ADJUSTMENT without attribute compared_at S",
            "Put tenant BREAK with attribute seen_corrections N",
            "Update card card with clause (attribute_not_exists(#corrections) OR #corrections = :seen_corrections)",
            "Update card card with clause attribute_not_exists(#corrected_at)",
            "Update card card with value :seen_corrections N",
            "Update card card without clause (attribute_not_exists(#corrected_at) OR #corrected_at < :compared_before)",
            "Update card card without clause attribute_not_exists(#corrections)",
            "Update card card without value :compared_before S",
            "Update customer BALANCE with clause #corrected_at = :seen_corrected_at",
            "Update customer BALANCE with clause #corrections = :seen_corrections",
            "Update customer BALANCE with clause (attribute_not_exists(#corrections) OR #corrections = :seen_corrections)",
            "Update customer BALANCE with clause attribute_not_exists(#corrected_at)",
            "Update customer BALANCE with value :seen_corrected_at S",
            "Update customer BALANCE with value :seen_corrections N",
            "Update customer BALANCE without clause (attribute_not_exists(#corrected_at) OR #corrected_at < :compared_before)",
            "Update customer BALANCE without clause attribute_not_exists(#corrections)",
            "Update customer BALANCE without value :compared_before S",
            "vector removed: adjustment_approve",
        ],
    },
    Rule {
        name: "an enrolment is on the trail",
        lines: &[
            "action added: Put tenant AUDIT",
            "row added: tenant AUDIT key: rejected already_exists by audit",
            "vector removed: enrol_on_record",
        ],
    },
    Rule {
        name: "a changed payout destination has a notice",
        lines: &["action added: Put tenant JOB", "row added: tenant JOB key: rejected already_exists by notice"],
    },
    Rule {
        name: "a settlement that a schedule opened names no requester",
        lines: &["Put merchant SETTLEMENT without attribute requested_by S"],
    },
    Rule {
        name: "a top-up's record has no debt: the wallet has it",
        lines: &[
            "Update topup TOPUP without clause #owed = :seen_owed",
            "Update topup TOPUP without update SET #owed = :nothing",
            "Update topup TOPUP without value :seen_owed N",
            "row removed: topup TOPUP given but owed: rejected stale_plan by topup",
            "vector removed: clawback",
            "vector removed: topup_refund_events",
        ],
    },
    Rule {
        name: "a run that is requested names the schedule that was seen",
        lines: &["vector removed: approval_approve", "vector removed: approval_request"],
    },
    Rule { name: "a terminal's marker has no ttl", lines: &["vector removed: card_reverse"] },
    Rule {
        name: "a clawback lowers what may be refunded by its amount, which is not stored again",
        lines: &[
            "Put topup CLAWBACK without attribute refundable_lowered N",
            "Update topup CLAWBACK without update SET #refundable_lowered = :amount",
            "Update topup CLAWBACK without value :amount N",
            "Update topup TOPUP with update ADD #refundable :raised",
            "Update topup TOPUP with value :raised N",
        ],
    },
    Rule { name: "an owner's profile names each of the owner's cards", lines: &["vector removed: card_replace"] },
    Rule {
        name: "the terms of an open tenant change by versions alone",
        lines: &["vector removed: limits", "vector removed: tenant", "vector removed: topup_check"],
    },
    Rule {
        name: "a version is guarded on what else writes its terms: other versions, and accounts' own limits",
        lines: &[
            "Update tenant CONFIG without clause #card_pin_above = :seen_card_pin",
            "Update tenant CONFIG without clause #topup = :seen_topup",
            "Update tenant CONFIG without clause attribute_not_exists(#card_pin_above)",
            "Update tenant CONFIG without clause attribute_not_exists(#topup)",
            "Update tenant CONFIG without update SET #limits.#version = if_not_exists(#limits.#version",
            "Update tenant CONFIG without update SET :zero) + :one",
            "Update tenant CONFIG without value :one N",
            "Update tenant CONFIG without value :seen_card_pin N",
            "Update tenant CONFIG without value :seen_topup M",
            "Update tenant CONFIG without value :zero N",
            "row removed: tenant CONFIG given but card_pin_above: rejected stale_plan by config",
            "row removed: tenant CONFIG given but topup: rejected stale_plan by config",
        ],
    },
];
