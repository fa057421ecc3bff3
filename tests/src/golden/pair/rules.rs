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
];
