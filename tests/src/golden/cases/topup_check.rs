//! Checks with the PSP that are due later, and offering top-ups: writes without a key that move no value.

use super::Case;
use super::outside::*;
use super::world::*;
use crate::golden::command::Does;
use serde_json::Value as Json;

fn again(id: &'static str, why: &'static str, burnt: bool) -> Case {
    Case::new(id, why, None, Does::TopupCheck { topup: TOPUP.to_owned(), burnt })
}

fn refund_again(id: &'static str, why: &'static str) -> Case {
    let (topup, refund) = (TOPUP.to_owned(), REFUND.to_owned());
    Case::new(id, why, None, Does::TopupRefundCheck { topup, refund })
}

fn cancel(id: &'static str, why: &'static str) -> Case {
    let claim = by_a("topup_cancel", &format!("/v1/me/topups/{TOPUP}/cancel"), serde_json::json!({}));
    Case::new(id, why, Some(claim), Does::TopupCancel { topup: TOPUP.to_owned() })
}

/// A top-up that is not paid and has an hour left.
fn unpaid() -> Json {
    let until = "2026-11-21T04:00:00.000Z";
    with(with(pending(), "expires_at", s(until)), "due_sk", s(format!("{until}#{TOPUP}")))
}

fn offer(id: &'static str, why: &'static str) -> Case {
    let does = Does::TopupOffer { points_rate: "0.02".to_owned(), abandoned_after_s: "3600".to_owned() };
    Case::new(id, why, None, does)
}

/// The due index entry of a refund on its way.
fn due(refund: Json) -> Json {
    let refund = with(refund, "due_pk", s("demo#due#psp_check#1"));
    with(refund, "due_sk", s(format!("{NOW}#{REFUND}")))
}

pub(super) fn cases() -> Vec<Case> {
    let way = || due(refund_known(refund_requested(), "pending"));
    vec![
        again("topup_check/again", "Its cancellation is not certain: in ten minutes once more.", false).on([pending()]),
        again(
            "topup_check/again-under-the-next-key",
            "The provider keeps a refusal under the key of the cancellation.",
            true,
        )
        .on([pending()]),
        again("topup_check/again-under-the-third-key", "And once more.", true).on([with(
            pending(),
            "cancel_epoch",
            n("2"),
        )]),
        again("topup_check/paid-meanwhile", "There is nothing to cancel.", false)
            .seen([pending()])
            .on([succeeded("5000", "0")])
            .ends("rejected stale_plan by topup"),
        refund_again("topup_check/refund-again", "Still on its way: in ten minutes once more.")
            .on([succeeded("3000", "20"), way()]),
        refund_again("topup_check/refund-paid-meanwhile", "There is nothing to look for.")
            .seen([way()])
            .on([succeeded("3000", "20"), refund_known(refund_requested(), "succeeded")])
            .ends("rejected stale_plan by refund"),
        cancel("topup_cancel/unpaid", "The provider is asked to cancel it at once.").on([unpaid()]),
        cancel("topup_cancel/paid-meanwhile", "It was paid between the read and the write: it is read again.")
            .seen([unpaid()])
            .on([succeeded("5000", "0")])
            .ends("rejected stale_plan by topup"),
        cancel("topup_cancel/canceled-meanwhile", "Another request canceled it: it is read again.")
            .seen([unpaid()])
            .on([pending()])
            .ends("rejected stale_plan by topup"),
        cancel("topup_cancel/expired", "Its cancellation is due already: the key alone is taken.").on([pending()]),
        offer("topup_check/offered", "Top-ups are offered from here on.").on([config()]),
        offer("topup_check/offered-already", "Terms that stand are not touched.")
            .on([offering()])
            .ends("rejected already_exists by config"),
        offer("topup_check/no-tenant", "There is no such tenant.").ends("rejected account_missing by config"),
    ]
}
