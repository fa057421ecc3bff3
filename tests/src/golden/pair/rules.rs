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
        name: "a count of a member has the asset as names of attributes have it, and is of each grant",
        lines: &[
            "Update tenant STAFF *",
            "action added: Update tenant STAFF",
            "action changed: Update tenant STAFF was ConditionCheck",
            "row added: *tenant STAFF *",
            "row removed: *tenant STAFF *",
        ],
    },
    Rule {
        name: "an approval says what is known of its subject, and keeps the payout account that it would replace",
        lines: &[
            "Put approvals APPROVAL with attribute known M",
            "Put approvals APPROVAL with attribute previous_destination M",
        ],
    },
    Rule {
        name: "a notice has the payout account that its merchant recognises",
        lines: &[
            "Put audit NOTICE with attribute destination S",
            "Put audit NOTICE with attribute previous_destination S",
        ],
    },
    Rule {
        name: "a member is who accepted the invitation",
        lines: &[
            "ConditionCheck merchant PERSON with clause attribute_not_exists(#accepted_at)",
            "ConditionCheck merchant PERSON without clause attribute_not_exists(#uuid)",
            "Put * PERSON with attribute accepted_at S",
            "Put * STAFF with attribute accepted_at S",
            "action added: Update tenant PERSON",
            "row added: *merchant PERSON key but accepted_at: *",
            "row added: tenant PERSON *",
            "row removed: *merchant PERSON key: *",
        ],
    },
    Rule {
        name: "a decision checks who holds the accounts that it is for",
        lines: &[
            "Update card card with clause #owner = :tied_owner",
            "Update card card with clause attribute_not_exists(#owner)",
            "Update card card with clause attribute_not_exists(#replaced_by)",
            "Update card card with value :tied_owner S",
            "action added: ConditionCheck card card",
            "action added: ConditionCheck customer LOOKUP",
            "action added: ConditionCheck merchant PERSON",
            "action added: ConditionCheck merchant STAFF",
            "row added: *card card given but owner: *",
            "row added: *card card given but replaced_by: *",
            "row added: *customer LOOKUP *",
            "row added: *merchant STAFF *",
            "row removed: approvals APPROVAL *, audit AUDIT *",
            "row removed: approvals APPROVAL *, tenant CALENDAR *",
        ],
    },
    Rule {
        name: "a decision about the decider's own employer is refused before it is written, by vectors of other names",
        lines: &["vector removed: approval_approve"],
    },
    Rule {
        name: "a bank file is put once, and no request has a record beside its approval",
        lines: &[
            "Update merchant SETTLEMENT without clause attribute_not_exists(#resend_id)",
            "row removed: merchant SETTLEMENT given but resend_id: *",
            "vector removed: approval_reject",
            "vector removed: approval_withdraw",
            "vector removed: reads/requests",
            "vector removed: settlement_resend",
        ],
    },
    Rule {
        name: "a bank file has many transfers, and what settlements book is paid by it",
        lines: &[
            "Update merchant SETTLEMENT with update SET #booked_at = :ua",
            "Update merchant SETTLEMENT with update SET #transfer_on = :transfer_on",
            "Update merchant SETTLEMENT with value :transfer_on S",
            "Update merchant SETTLEMENT without update SET #paid_at = :ua",
            "Update merchant SETTLEMENT without update SET #payout_reference = :reference",
            "Update merchant SETTLEMENT without value :reference S",
            "action added: Put bank_transfers TRANSFER",
            "action added: Update bank_transfers TRANSFER",
            "row added: bank_transfers TRANSFER *",
            "vector removed: settlement",
        ],
    },
];
