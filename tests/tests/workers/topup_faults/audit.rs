//! What must hold in the end after any faults: of Stripe's objects, the stored response, the claim, and the books.

use ledger_tests::audit::{Books, opt_text, text};
use ledger_tests::http::topup_rig::{Actor, POINTS, Scene, Wallet, YEN};
use ledger_tests::http::{Answer, Call};

/// Which operation calls Stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// A top-up.
    Topup,
    /// A refund of a top-up to the card.
    Refund,
}

impl Does {
    pub(crate) const BOTH: [Self; 2] = [Self::Topup, Self::Refund];

    /// Makes what the operation needs, and returns its request.
    pub(crate) async fn prepare(self, scene: &Scene) -> Call {
        match self {
            Self::Topup => scene.topup(),
            Self::Refund => scene.refund(&scene.paid().await),
        }
    }

    /// How many objects Stripe has created for it.
    pub(crate) fn made(self, scene: &Scene) -> usize {
        match self {
            Self::Topup => scene.intents().len(),
            Self::Refund => scene.refunds().len(),
        }
    }

    /// How many journal entries moved its money.
    fn moved(self, books: &Books) -> usize {
        match self {
            Self::Topup => books.entries_of("topup"),
            Self::Refund => books.entries_of("topup_refund_paid"),
        }
    }
}

pub(crate) fn wallet(balance: &str, held: &str, reserved: &str) -> Wallet {
    Wallet { balance: balance.into(), held: held.into(), reserved: reserved.into() }
}

/// Finishes the operation and audits it: retries replay the stored response, Stripe has one object, events may arrive
/// twice in any order, and money moved once.
pub(crate) async fn finish_and_audit(scene: &Scene, does: Does, call: &Call, client: &Actor, first: Option<&Answer>) {
    let answer = client.settle(call).await.good();
    if let Some(first) = first {
        assert_eq!(answer.stored(), first.stored(), "the first answer and a retry's");
    }
    assert_replayed(call, client, &answer).await;
    assert_eq!(does.made(scene), 1, "objects at Stripe");
    assert_nothing_in_flight(&scene.world.books().await);
    scene.pay();
    let others = [scene.rig.actor().await, scene.rig.actor().await];
    scene.storm(&others, 7).await;
    scene.storm(&others, 11).await;
    assert_replayed(call, client, &answer).await;
    assert_eq!(does.made(scene), 1, "objects at Stripe, in the end");
    let (yen, points) = match does {
        Does::Topup => (YEN, POINTS),
        Does::Refund => ("0", "0"),
    };
    assert_eq!(scene.wallet("ECOPAY").await, wallet(yen, "0", "0"), "the wallet");
    assert_eq!(scene.wallet("POINT").await, wallet(points, "0", "0"), "the points");
    let books = scene.world.check_books().await;
    assert_eq!((books.entries_of("topup"), does.moved(&books)), (1, 1), "money has moved");
    assert_nothing_in_flight(&books);
}

/// Asserts that two retries get the same bytes, marked as replays.
pub(crate) async fn assert_replayed(call: &Call, client: &Actor, answer: &Answer) {
    for _ in 0..2 {
        let again = client.send(call).await;
        assert_eq!((again.stored(), again.replayed()), (answer.stored(), true), "a retry");
    }
}

/// Asserts that no claim is open and none is due.
pub(crate) fn assert_nothing_in_flight(books: &Books) {
    for (pk, sk, marker) in books.markers() {
        let lease = opt_text(marker, "lease_until");
        assert!(lease.is_none(), "{pk} {sk} is {}", text(marker, "state"));
    }
    for ((pk, sk), row) in &books.rows {
        let due = opt_text(row, "_due_sk").unwrap_or_default();
        let owner = opt_text(row, "owner_pk").unwrap_or_default();
        assert!(!due.contains("#flight#") && !owner.contains("#attention#"), "{pk} {sk} is due under {due}{owner}");
    }
}
