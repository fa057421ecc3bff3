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
        name: "adjustments, returned transfers and decisions about top-ups are commands that another person must approve",
        lines: &[
            "action added: Put staff card_op_idem",
            "action added: Update approvals APPROVAL",
            "action removed: Put staff card_op_idem",
            "action removed: Update adjustment ADJUSTMENT",
            "action removed: Update approvals REQUEST",
            "action removed: Update merchant RETURN",
            "action removed: Update topup DECISION",
            "row added: approvals APPROVAL *",
            "row added: staff card_op_idem written*",
            "row removed: adjustment ADJUSTMENT *",
            "row removed: approvals REQUEST *",
            "row removed: merchant RETURN *",
            "row removed: staff card_op_idem written*",
            "row removed: topup DECISION *",
            "vector removed: adjustment_*",
            "vector removed: approval_withdraw",
            "vector removed: decisions",
            "vector removed: reconciliation",
            "vector removed: settlement_return",
        ],
    },
    Rule {
        name: "the act of what was approved has the reason",
        lines: &["Put audit AUDIT with attribute _memo M", "Put audit AUDIT with attribute memo_hash B"],
    },
    Rule {
        name: "an approval says what its command would post and change",
        lines: &["Put approvals APPROVAL with attribute changes L", "Put approvals APPROVAL with attribute postings L"],
    },
    Rule {
        name: "the settlement that gave a period back has a name of its own",
        lines: &[
            "Put merchant PERIOD_BACK with attribute given_back_settlement_id S",
            "Put merchant PERIOD_BACK without attribute settlement_id S",
        ],
    },
    Rule {
        name: "a job has a partition, a kind, and one list",
        lines: &[
            "Put job JOB with attribute content S",
            "Put job JOB with attribute job_id S",
            "Put job JOB with attribute kind S",
            "Put job JOB with attribute owner_pk S",
            "Put job JOB with attribute owner_sk S",
            "Put job JOB without attribute preview_id S",
            "moved: tenant JOB is job JOB",
            "moved: tenant JOB is job LINE",
            "request of reads/work_due",
            "vector removed: reads/files",
            "vector removed: reads/grant_jobs",
            "vector removed: reads/settlement_run_lines",
            "vector removed: reads/settlement_runs",
            "vector removed: reads/terms_previews",
            "vector removed: reads/wind_down_lines",
            "vector removed: reads/wind_downs",
        ],
    },
];
