//! Publishing through crashes at every step, lost answers, an unavailable receiver, and two concurrent publishers.

use super::{check, due, entry_key, ids, journal, payers, reset, rows, settle};
use futures::future::join_all;
use ledger_tests::chance::killed_after;
use ledger_tests::http::World;
use ledger_tests::http::event_tap::{EventTap, Mishap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test]
async fn crash_at_any_step_loses_no_event_and_keeps_order() {
    let (world, tap) = (World::alone("crashes").await, EventTap::default());
    let _ = payers(&world, 3, 2).await;
    let journal_rows = rows(&world.books().await);
    assert!(journal_rows.len() == 9 && due(&world.books().await) == 9, "{}", journal_rows.len());
    // Every step of the first rounds, then every third.
    let (mut steps, mut crashes) = (1, 0);
    loop {
        reset(&world, &journal_rows).await;
        tap.forget();
        let ended = killed_after(steps, world.publish(&tap, Vec::new())).await;
        settle(&world, &tap).await;
        check(&world, &tap).await;
        if ended {
            break;
        }
        crashes += 1;
        steps += if steps < 20 { 1 } else { 3 };
    }
    // The number of steps depends on how entries are batched.
    assert!(crashes > 2, "only {crashes} steps");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn lost_and_interrupted_sends_are_sent_again() {
    let tap = EventTap::default();
    let world = World::alone("mishaps").await;
    let _ = payers(&world, 3, 3).await;
    let journal_rows = rows(&world.books().await);
    for mishap in [Mishap::Lost, Mishap::AnswerLost, Mishap::Half, Mishap::Held, Mishap::AnswerHeld] {
        for passed in 0..4 {
            reset(&world, &journal_rows).await;
            tap.forget();
            tap.next_calls(std::iter::repeat_n(None, passed).chain([Some(mishap)]));
            let run = world.publish(&tap, Vec::new());
            match mishap {
                Mishap::Lost | Mishap::AnswerLost | Mishap::Half => {
                    assert_eq!(run.await.expect_err("a send fails").code(), "unavailable");
                    assert!(due(&world.books().await) > 0, "{mishap:?} after {passed}");
                }
                Mishap::Held | Mishap::AnswerHeld => tap.crash_while_held(run).await,
            }
            settle(&world, &tap).await;
            check(&world, &tap).await;
            let repeated = ids(&tap).len() - journal_rows.len();
            let arrived = matches!(mishap, Mishap::AnswerLost | Mishap::AnswerHeld);
            assert!(repeated > 0 || !arrived, "{mishap:?} after {passed}");
        }
    }
}

#[tokio::test]
async fn throttled_account_does_not_delay_others() {
    let (world, tap) = (World::alone("away").await, EventTap::default());
    let customers = payers(&world, 3, 3).await;
    let stuck = format!("away#customer:{}", customers[1].id);
    tap.group(&stuck, ledger_runtime::publishing::Sent::Later("throttled".to_owned()));
    assert!(world.publish(&tap, Vec::new()).await.is_err());
    let mut expected = journal(&world.books().await);
    let waiting = expected.remove(&stuck).expect("the account has entries");
    assert_eq!((tap.first_deliveries(), due(&world.books().await)), (expected, waiting.len()));
    // The receiver becomes unavailable, then available again.
    tap.group(&stuck, ledger_runtime::publishing::Sent::Taken);
    tap.every_call(Some(Mishap::Lost));
    let pk = format!("away#customer#{}", customers[1].id);
    let last = entry_key(&pk, &format!("TXN#{}", waiting[3]));
    assert!(world.publish(&tap, Vec::new()).await.is_err());
    assert!(world.publish(&tap, vec![last.clone()]).await.is_err());
    assert_eq!(due(&world.books().await), waiting.len());
    tap.every_call(None);
    // The stream record names the last entry only.
    assert_eq!(world.publish(&tap, vec![last]).await.expect("the receiver is available").published, waiting.len());
    settle(&world, &tap).await;
    check(&world, &tap).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_publishers_publish_each_entry_in_order() {
    let (world, tap) = (Arc::new(World::alone("traffic").await), EventTap::default());
    let customers = payers(&world, 4, 0).await;
    let (merchant, over) = (world.merchant().await, Arc::new(AtomicBool::new(false)));
    let publishers = [3_usize, 5].map(|seed| {
        let (world, tap, over) = (Arc::clone(&world), tap.clone(), Arc::clone(&over));
        tokio::spawn(async move {
            let mut round = seed;
            while !over.load(Ordering::SeqCst) {
                round += seed;
                if round % 4 == 0 {
                    let mishaps = [Mishap::Lost, Mishap::AnswerLost, Mishap::Half];
                    tap.next_calls([None, Some(mishaps[round % 3])]);
                }
                // Every other run crashes after some steps.
                let steps = if round % 2 == 0 { u64::MAX } else { round as u64 % 29 };
                let _ = killed_after(steps, world.publish(&tap, Vec::new())).await;
            }
        })
    });
    let traffic = customers.iter().map(|customer| {
        let (world, tap, merchant) = (&world, &tap, &merchant);
        async move {
            for payment in 0..12 {
                let paid = world.api.settle(&customer.pays(merchant, "1")).await.good();
                // Publishes the entry as the stream trigger would.
                let pk = format!("{}#customer#{}", world.tenant, customer.id);
                let changed = entry_key(&pk, &format!("TXN#{}", paid.text("/transaction_id")));
                if payment % 3 > 0 {
                    let _ = world.publish(tap, vec![changed]).await;
                }
            }
        }
    });
    let _ = join_all(traffic).await;
    over.store(true, Ordering::SeqCst);
    for publisher in publishers {
        publisher.await.expect("no panic");
    }
    settle(&world, &tap).await;
    check(&world, &tap).await;
    let _ = world.check_books().await;
}
