//! The operator API: staff, customers, merchants, cards, terminals, grants, adjustments, approvals, settlements, reconciliations,
//! payments, top-ups, transactions, attention, audit and its seals, rollout, terms, migration.
//!
//! Every path is under `/v1/admin`. Every change has an audit record that names its actor.

mod account_limits;
mod adjustments;
mod approvals;
mod assets;
mod attention;
mod audit;
mod balances;
mod bank_files;
mod card_batches;
mod card_life;
mod cards;
mod cash_collections;
mod cash_deposits;
mod cash_reversals;
mod cash_rooms;
mod closing;
mod customer_file;
mod customer_lists;
mod customers;
mod decisions;
mod destination;
mod erasure;
mod files;
mod grants;
mod idempotency;
mod jobs;
mod merchant_closing;
mod merchant_lists;
mod merchant_staff;
mod merchants;
mod migration;
mod notices;
mod operations;
mod operator_refunds;
mod owner_recovery;
mod payments;
mod prepaid;
mod reconciliation;
mod refund_rooms;
mod returned_transfers;
mod settlement_runs;
mod settlements;
mod sign_in;
mod staff;
mod statements;
mod terminal_lists;
mod terminals;
mod terms;
mod terms_previews;
mod topups;
mod totals;
mod transactions;
mod wind_downs;

use axum::Extension;
use ledger_runtime::endpoint::Routes;
use ledger_runtime::readback::MetricSource;
use std::sync::Arc;

/// The routes of the operator API.
///
/// `metrics` is the source from which metrics are read.
pub fn router(metrics: Arc<dyn MetricSource>) -> Routes {
    Routes::new()
        .route(customer_lists::LIST.on(customer_lists::list))
        .route(customer_lists::SEARCH.on(customer_lists::search))
        .route(customers::CREATE.on(customers::create))
        .route(customers::GET.on(customers::get))
        .route(customers::LIMITS.on(customers::limits))
        .route(customer_file::GET.on(customer_file::get))
        .route(payments::LIST.on(payments::list))
        .route(payments::REFUNDS.on(payments::refunds))
        .route(payments::GET.on(payments::get))
        .route(payments::HOLDS.on(payments::holds))
        .route(payments::OF_MERCHANT.on(payments::of_merchant))
        .route(merchant_lists::SHOPS.on(merchant_lists::shops))
        .route(transactions::OF_CUSTOMER.on(transactions::of_customer))
        .route(transactions::OF_CARD.on(transactions::of_card))
        .route(operations::OF_CUSTOMER.on(operations::of_customer))
        .route(operations::OF_MERCHANT.on(operations::of_merchant))
        .route(operations::OF_TERMINAL.on(operations::of_terminal))
        .route(customers::PATCH.on(customers::patch))
        .route(sign_in::MOVE.on(sign_in::move_to))
        .route(notices::GET.on(notices::get))
        .route(account_limits::CHANGE.on(account_limits::change))
        .route(merchant_lists::LIST.on(merchant_lists::list))
        .route(merchant_lists::SEARCH.on(merchant_lists::search))
        .route(merchants::CREATE.on(merchants::create))
        .route(merchants::GET.on(merchants::get))
        .route(merchants::PATCH.on(merchants::patch))
        .route(cash_rooms::GET.on(cash_rooms::get))
        .route(cash_rooms::SET.on(cash_rooms::set))
        .route(cash_rooms::GET_OWN.on(cash_rooms::get_own))
        .route(cash_rooms::SET_OWN.on(cash_rooms::set_own))
        .route(cash_deposits::CREATE.on(cash_deposits::create))
        .route(cash_deposits::REVERSE.on(cash_deposits::reverse))
        .route(operator_refunds::CREATE.on(operator_refunds::create))
        .route(refund_rooms::GET.on(refund_rooms::get))
        .route(refund_rooms::SET.on(refund_rooms::set))
        .route(merchant_staff::LIST.on(merchant_staff::list))
        .route(merchant_staff::CREATE.on(merchant_staff::create))
        .route(merchant_staff::STRIKE.on(merchant_staff::strike))
        .route(staff::LIST.on(staff::list))
        .route(staff::INVITE.on(staff::invite))
        .route(staff::GET.on(staff::get))
        .route(staff::CHANGE.on(staff::change))
        .route(staff::ACCEPT.on(staff::accept))
        .route(staff::DECLARED.on(staff::declared))
        .route(staff::DECLARE.on(staff::declare))
        .route(settlement_runs::START.on(settlement_runs::start))
        .route(settlement_runs::GET.on(settlement_runs::get))
        .route(settlement_runs::MERCHANTS.on(settlement_runs::merchants))
        .route(settlement_runs::SCHEDULE.on(settlement_runs::schedule))
        .route(settlements::CREATE.on(settlements::create))
        .route(settlements::OF_TENANT.on(settlements::of_tenant))
        .route(settlements::LIST.on(settlements::list))
        .route(settlements::GET.on(settlements::get))
        .route(settlements::RESUME.on(settlements::resume))
        .route(bank_files::LIST.on(bank_files::list))
        .route(bank_files::CUT.on(bank_files::cut))
        .route(bank_files::GET.on(bank_files::get))
        .route(bank_files::TRANSFERS.on(bank_files::transfers))
        .route(bank_files::CONTENT.on(bank_files::content))
        .route(bank_files::ACCEPT.on(bank_files::accept))
        .route(bank_files::DEBIT.on(bank_files::debit))
        .route(bank_files::REJECT.on(bank_files::reject))
        .route(bank_files::WITHDRAW.on(bank_files::withdraw))
        .route(bank_files::REOPEN.on(bank_files::reopen))
        .route(bank_files::SUPERSEDE.on(bank_files::supersede))
        .route(decisions::CREATE.on(decisions::create))
        .route(decisions::GET.on(decisions::get))
        .route(returned_transfers::CREATE.on(returned_transfers::create))
        .route(cards::CREATE.on(cards::create))
        .route(card_life::LIST.on(card_life::list))
        .route(card_batches::CREATE.on(card_batches::create))
        .route(card_batches::GET.on(card_batches::get))
        .route(cards::GET.on(cards::get))
        .route(cards::PATCH.on(cards::patch))
        .route(cards::RESET_PIN.on(cards::reset_pin))
        .route(terminal_lists::LIST.on(terminal_lists::list))
        .route(card_life::ASSIGN.on(card_life::assign))
        .route(card_life::BLOCK.on(card_life::block))
        .route(card_life::REPLACE.on(card_life::replace))
        .route(closing::CARD.on(closing::card))
        .route(merchant_closing::TERMINAL.on(merchant_closing::terminal))
        .route(merchant_closing::MERCHANT.on(merchant_closing::merchant))
        .route(closing::CUSTOMER.on(closing::customer))
        .route(erasure::ERASE.on(erasure::erase))
        .route(erasure::GET.on(erasure::get))
        .route(closing::CLAIM.on(closing::claim))
        .route(closing::PAYOUT.on(closing::payout))
        .route(wind_downs::START.on(wind_downs::start))
        .route(jobs::LIST.on(jobs::list))
        .route(jobs::GET.on(jobs::get))
        .route(jobs::LINES.on(jobs::lines))
        .route(jobs::STOP.on(jobs::stop))
        .route(terminals::CREATE.on(terminals::create))
        .route(terminals::GET.on(terminals::get))
        .route(terminals::GET_COUNTER.on(terminals::get_counter))
        .route(terminals::PATCH.on(terminals::patch))
        .route(terminals::ENROLMENT.on(terminals::enrolment))
        .route(cash_rooms::GET_ROOM.on(cash_rooms::get_room))
        .route(cash_rooms::CHANGE_ROOM.on(cash_rooms::change_room))
        .route(cash_reversals::CREATE.on(cash_reversals::create))
        .route(cash_collections::CREATE.on(cash_collections::create))
        .route(grants::CREATE.on(grants::create))
        .route(adjustments::CREATE.on(adjustments::create))
        .route(adjustments::GET.on(adjustments::get))
        .route(owner_recovery::GET.on(owner_recovery::get))
        .route(owner_recovery::CANCEL.on(owner_recovery::cancel))
        .route(approvals::LIST.on(approvals::list))
        .route(approvals::GET.on(approvals::get))
        .route(approvals::APPROVE.on(approvals::approve))
        .route(approvals::REJECT.on(approvals::reject))
        .route(approvals::WITHDRAW.on(approvals::withdraw))
        .route(totals::LIST.on(totals::list))
        .route(balances::GET.on(balances::get))
        .route(balances::TRIAL.on(balances::trial))
        .route(prepaid::GET.on(prepaid::get))
        .route(files::CREATE.on(files::create))
        .route(files::GET.on(files::get))
        .route(statements::GET.on(statements::get))
        .route(reconciliation::BREAKS.on(reconciliation::breaks))
        .route(reconciliation::LIST.on(reconciliation::list))
        .route(reconciliation::CREATE.on(reconciliation::create))
        .route(reconciliation::GET.on(reconciliation::get))
        .route(reconciliation::ANSWER.on(reconciliation::answer))
        .route(topups::LIST.on(topups::list))
        .route(topups::OF_CUSTOMER.on(topups::of_customer))
        .route(topups::GET.on(topups::get))
        .route(topups::REFUND.on(topups::refund))
        .route(topups::GET_REFUND.on(topups::get_refund))
        .route(attention::LIST.on(attention::list))
        .route(attention::RESOLVE.on(attention::resolve))
        .route(attention::DISMISS.on(attention::dismiss))
        .route(audit::LIST.on(audit::list))
        .route(audit::SEALS.on(audit::seals))
        .merge(
            Routes::new()
                .route(idempotency::READINESS.on(idempotency::readiness))
                .map_router(|router| router.layer(Extension(metrics))),
        )
        .route(idempotency::SET_PHASE.on(idempotency::set_phase))
        .route(assets::GET.on(assets::get))
        .route(assets::SET_BUDGET.on(assets::set_budget))
        .route(terms::GET.on(terms::get))
        .route(terms::CHANGE.on(terms::change))
        .route(terms::CANCEL.on(terms::cancel))
        .route(terms_previews::GET.on(terms_previews::get))
        .route(terms_previews::CREATE.on(terms_previews::create))
        .route(migration::GET.on(migration::get))
        .route(migration::SET_PHASE.on(migration::set_phase))
        .route(migration::BACKFILL.on(migration::backfill))
        .route(migration::VERIFY.on(migration::verify))
        .route(migration::CONTRACT.on(migration::contract))
}
