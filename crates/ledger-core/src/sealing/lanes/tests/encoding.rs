//! The bytes of records, and the lane of a record.

use super::super::{Lanes, records};
use super::{act_partition, key, tenant};
use crate::keys::Key;
use crate::sealing::SealHash;
use crate::time::Timestamp;
use proptest::prelude::*;

const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
const OTHER_ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";
/// The partition of the act with the first of these ids.
const ACT_PARTITION: &str = "audit#2024-12-03#2";

fn encoded(key: &Key) -> Vec<u8> {
    records::encode(&tenant(), [(key, SealHash::NONE)].into_iter()).unwrap()
}

fn keys_of_every_form() -> Vec<(Key, usize)> {
    let at = "2026-11-21T03:00:00.000Z";
    let short = |pk: &str, sk: &str, bytes: usize| (key(&format!("demo#{pk}"), sk), bytes + SealHash::BYTES);
    vec![
        short(&format!("customer#{ID}"), &format!("TXN#{ID}"), 33),
        short(&format!("card#{ID}"), &format!("TXN#{OTHER_ID}"), 33),
        short(&format!("merchant#{ID}"), &format!("TXN#{ID}"), 33),
        short(ACT_PARTITION, &format!("AUDIT#{ID}"), 17),
        short(&format!("topup#{ID}"), &format!("TRAIL#{ID}#{at}#claimed"), 2 + 16 + 6 + 1 + 7),
        short(&format!("merchant#{ID}"), &format!("TRAIL#{OTHER_ID}#{at}#pay.sent"), 2 + 32 + 6 + 1 + 8),
        short(&format!("payment#{ID}"), &format!("TRAIL#{ID}#{at}#event#evt_1"), 2 + 16 + 6 + 1 + 11),
        // Keys that look like those above and are not.
        short(&format!("customer#{ID}"), &format!("TXN#{}", ID.to_uppercase()), 1 + 2 + 45 + 2 + 40),
        short(&format!("staff#{ID}"), &format!("TXN#{ID}"), 1 + 2 + 42 + 2 + 40),
        short("tenant#root", &format!("AUDIT#{ID}"), 1 + 2 + 11 + 2 + 42),
        short(ACT_PARTITION, "AUDIT#1", 1 + 2 + 18 + 2 + 7),
        short(ACT_PARTITION, &format!("AUDIT#{OTHER_ID}"), 1 + 2 + 18 + 2 + 42),
        short(&format!("topup#{ID}"), &format!("TRAIL#{ID}#2026-11-21T03:00:00Z#x"), 1 + 2 + 42 + 2 + 65),
        short(&format!("topup#{ID}"), &format!("TRAIL#{ID}#{at}"), 1 + 2 + 42 + 2 + 67),
        short(&format!("topup#{ID}"), "TRAIL#", 1 + 2 + 42 + 2 + 6),
    ]
}

#[test]
fn record_of_every_form_is_read_back() {
    for (key, bytes) in keys_of_every_form() {
        let encoding = encoded(&key);
        assert_eq!(encoding.len(), bytes, "{key:?}");
        assert_eq!(records::decode(&tenant(), &encoding), Some(vec![(key.clone(), SealHash::NONE)]), "{key:?}");
        // Every prefix of it, and anything after it, is refused.
        for length in 0..encoding.len() {
            assert_eq!(records::decode(&tenant(), &encoding[..length]), None, "{key:?} {length}");
        }
        assert_eq!(records::decode(&tenant(), &[encoding.as_slice(), &[0]].concat()), None, "{key:?}");
    }
}

#[test]
fn journal_entry_takes_65_bytes() {
    let entry = key(&format!("demo#customer#{ID}"), &format!("TXN#{ID}"));
    assert_eq!(encoded(&entry).len(), 65);
}

#[test]
fn second_encoding_of_a_key_is_refused() {
    // An entry as text, though it has a short form.
    let mut long = vec![255, 0, 45];
    long.extend(format!("customer#{ID}").as_bytes());
    long.extend([0, 40]);
    long.extend(format!("TXN#{ID}").as_bytes());
    long.extend(SealHash::NONE.bytes());
    assert_eq!(records::decode(&tenant(), &long), None);
    // A step of its own resource as that of another.
    let step = encoded(&key(&format!("demo#topup#{ID}"), &format!("TRAIL#{ID}#2026-11-21T03:00:00.000Z#x")));
    let mut other = step.clone();
    other[0] = 6;
    other.splice(18..18, step[2..18].to_vec());
    assert_eq!(records::decode(&tenant(), &other), None);
    for unknown in [0, 7, 254] {
        let mut unknown_form = step.clone();
        unknown_form[0] = unknown;
        assert_eq!(records::decode(&tenant(), &unknown_form), None, "{unknown}");
    }
}

#[test]
fn lane_of_a_record_never_changes() {
    let wallet = |n: u32| key(&format!("demo#customer#019389d2-7c1e-7a52-9c3f-{n:012}"), &format!("TXN#{ID}"));
    let lanes = Lanes::MAX;
    // SHA-256 of the partition key, its first four bytes modulo 16.
    assert_eq!((0..8).map(|n| lanes.lane_of(&wallet(n))).collect::<Vec<_>>(), LANES_OF_WALLETS);
    for n in 0..50 {
        // A lane that is doubled divides into two.
        let of = |count| Lanes::new(count).unwrap().lane_of(&wallet(n));
        assert_eq!((of(1), of(2), of(4), of(8)), (0, of(16) % 2, of(16) % 4, of(16) % 8));
        let other = key(wallet(n).pk(), &format!("TXN#{OTHER_ID}"));
        assert_eq!(lanes.lane_of(&other), lanes.lane_of(&wallet(n)));
    }
    assert_eq!(lanes.lane_of(&key(&format!("demo#{ACT_PARTITION}"), &format!("AUDIT#{ID}"))), 0);
    for wrong in [0, 3, 12, 32] {
        assert_eq!(Lanes::new(wrong), None);
    }
    assert_eq!((Lanes::ONE.doubled(), Lanes::MAX.doubled()), (Lanes::new(2), None));
}

const LANES_OF_WALLETS: [u32; 8] = [5, 5, 4, 15, 8, 7, 11, 6];

fn any_key() -> impl Strategy<Value = Key> {
    let id = || any::<[u8; 16]>().prop_map(|bytes| uuid::Uuid::from_bytes(bytes).to_string());
    let millis = -1_000_i64..300_000_000_000_000;
    let place = "[a-z0-9#._é]{0,300}";
    (0..7_usize, id(), id(), millis, place).prop_map(|(form, a, b, millis, place)| {
        let at = Timestamp::from_millis(millis);
        let (pk, sk) = match form {
            0 => (format!("customer#{a}"), format!("TXN#{b}")),
            1 => (format!("card#{a}"), format!("TXN#{b}")),
            2 => (act_partition(&a).split_off("demo#".len()), format!("AUDIT#{a}")),
            3 => (format!("topup#{a}"), format!("TRAIL#{a}#{at}#{place}")),
            4 => (format!("merchant#{a}"), format!("TRAIL#{b}#{at}#{place}")),
            5 => (format!("terminal#{a}"), format!("TRAIL#{b}#{at}#{place}")),
            _ => (format!("customer#{place}"), format!("TXN#{place}")),
        };
        key(&format!("demo#{pk}"), &sk)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_records_are_read_back(keys in prop::collection::vec((any_key(), any::<[u8; 32]>()), 1..20)) {
        let records: Vec<(Key, SealHash)> =
            keys.into_iter().map(|(key, hash)| (key, SealHash::read(&hash).unwrap())).collect();
        let bytes = records::encode(&tenant(), records.iter().map(|(key, hash)| (key, *hash))).unwrap();
        prop_assert_eq!(records::decode(&tenant(), &bytes), Some(records));
    }

    #[test]
    fn any_bytes_are_refused_or_are_the_encoding_of_what_they_give(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(records) = records::decode(&tenant(), &bytes) {
            let again = records::encode(&tenant(), records.iter().map(|(key, hash)| (key, *hash)));
            prop_assert_eq!(again, Some(bytes));
        }
    }
}
