#![expect(clippy::arithmetic_side_effects, reason = "small numbers of a test")]

use super::*;
use crate::chance::MILLISECOND;

/// Writes one unit of each key in turn, `per_second` in all, and returns how many were admitted in the last second.
fn admitted(parts: &mut Partitions, keys: &[u64], per_second: u64, seconds: u64) -> u64 {
    let mut last = 0;
    for second in 0..seconds {
        last = 0;
        for at in 0..per_second {
            let now = second * SECOND + at * SECOND / per_second;
            let place = position(0, keys[usize::try_from(at).unwrap() % keys.len()]);
            let number = parts.of(place);
            if parts.admits(now, number, 1) {
                parts.write(number, place, 1);
                last += 1;
            }
        }
        parts.split_hot((second + 1) * SECOND);
    }
    last
}

#[test]
fn partition_takes_1_000_write_units_a_second() {
    let mut parts = Partitions::equal(1, PARTITION_WRITE_UNITS, u64::MAX);
    assert_eq!(admitted(&mut parts, &[1, 2, 3], 900, 5), 900);
    assert!(admitted(&mut parts, &[1, 2, 3], 3_000, 20).abs_diff(1_000) <= 1);
    assert_eq!(parts.count(), 1);
}

#[test]
fn hot_partition_is_split_and_takes_twice_as_much() {
    let mut parts = Partitions::equal(1, PARTITION_WRITE_UNITS, 10 * SECOND);
    let keys: Vec<u64> = (0..100).collect();
    assert!(admitted(&mut parts, &keys, 1_800, 9).abs_diff(1_000) <= 1);
    assert_eq!(parts.count(), 1);
    let after = admitted(&mut parts, &keys, 1_800, 30);
    assert!(parts.count() >= 2 && after > 1_600, "{} partitions, {after} units", parts.count());
}

#[test]
fn cold_seconds_prevent_a_split() {
    let mut parts = Partitions::equal(1, PARTITION_WRITE_UNITS, 10 * SECOND);
    let keys: Vec<u64> = (0..100).collect();
    assert_eq!(admitted(&mut parts, &keys, 500, 60), 500);
    assert_eq!(parts.count(), 1);
}

#[test]
fn one_key_never_takes_more_than_its_partition() {
    let mut parts = Partitions::equal(4, PARTITION_WRITE_UNITS, 5 * SECOND);
    assert!(admitted(&mut parts, &[7], 2_000, 120).abs_diff(1_000) <= 1);
    assert_eq!(parts.count(), 4);
}

#[test]
fn hot_key_is_separated_from_its_neighbours() {
    let mut parts = Partitions::equal(1, PARTITION_WRITE_UNITS, 5 * SECOND);
    let mut keys = vec![7; 40];
    keys.extend(0..20);
    let after = admitted(&mut parts, &keys, 1_400, 200);
    assert!(parts.count() > 1 && after > 1_350, "{} partitions, {after} units", parts.count());
}

#[test]
fn burst_uses_up_to_300_seconds_of_what_is_allocated_but_not_more_than_the_partition_has() {
    // Provisioned: 100 units a second for the partition.
    let mut parts = Partitions::equal(1, 100, u64::MAX);
    let start = 1_000 * SECOND;
    let mut taken = 0_u64;
    for at in 0..60_000_u64 {
        let now = start + at * MILLISECOND;
        if parts.admits(now, 0, 2) {
            parts.write(0, 1, 2);
            taken += 2;
        }
    }
    // 60 s: at most 1,000 a second, and in all what was kept and what was added.
    assert!(taken <= 300 * 100 + 60 * 100 && taken > 35_000, "{taken}");
    assert!(!parts.admits(start + 60_000 * MILLISECOND, 0, 200));
}

#[test]
fn reads_have_a_limit_of_their_own() {
    let mut parts = Partitions::equal(1, PARTITION_WRITE_UNITS, u64::MAX);
    assert!(parts.read(0, 1, 3_000) && !parts.read(0, 1, 1));
    assert!(parts.admits(0, 0, 1_000));
}
