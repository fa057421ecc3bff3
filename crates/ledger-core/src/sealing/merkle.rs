//! Merkle trees of hashes, as in RFC 6962: the root of a list of hashes, and the path from one of them to the root.
//!
//! A leaf is SHA-256 of a zero byte and the hash, a node SHA-256 of a one byte and its two children. A list of more than one
//! is split at the largest power of two below its length. The root of no hashes is SHA-256 of nothing.

use super::canonical::SealHash;

const LEAF: u8 = 0;
const NODE: u8 = 1;

/// A node beside a path, on its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sibling {
    /// It is left of the path.
    Left(SealHash),
    /// It is right of the path.
    Right(SealHash),
}

/// The root of the hashes that were added, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    /// The roots of the whole trees that the hashes make, with their sizes, which decrease and are powers of two.
    whole: Vec<(u64, SealHash)>,
}

impl Tree {
    /// The tree of a list of hashes.
    pub(super) fn of(hashes: impl IntoIterator<Item = SealHash>) -> Self {
        let mut tree = Self::default();
        for hash in hashes {
            tree.add(hash);
        }
        tree
    }

    /// Adds a hash.
    pub(super) fn add(&mut self, hash: SealHash) {
        let (mut size, mut root) = (1_u64, leaf(hash));
        while let Some((_, before)) = self.whole.pop_if(|(whole, _)| *whole == size) {
            (size, root) = (size.saturating_mul(2), node(before, root));
        }
        self.whole.push((size, root));
    }

    /// The root.
    pub(super) fn root(&self) -> SealHash {
        let mut roots = self.whole.iter().rev().map(|(_, root)| *root);
        match roots.next() {
            Some(last) => roots.fold(last, |right, left| node(left, right)),
            None => SealHash::of(&[]),
        }
    }
}

/// The path from the hash at a position to the root, its nearest sibling first; `None` if there is no such position.
pub(super) fn path(hashes: &[SealHash], at: usize) -> Option<Vec<Sibling>> {
    let (mut from, mut few, mut path) = (at, hashes, Vec::new());
    if at >= hashes.len() {
        return None;
    }
    while few.len() > 1 {
        let split = few.len().div_ceil(2).next_power_of_two();
        let (left, right) = few.split_at_checked(split)?;
        let root = |of: &[SealHash]| Tree::of(of.iter().copied()).root();
        if from < split {
            path.push(Sibling::Right(root(right)));
            few = left;
        } else {
            path.push(Sibling::Left(root(left)));
            (from, few) = (from.checked_sub(split)?, right);
        }
    }
    path.reverse();
    Some(path)
}

/// The root to which a path leads from a hash.
pub(super) fn root_of(hash: SealHash, path: &[Sibling]) -> SealHash {
    path.iter().fold(leaf(hash), |under, sibling| match sibling {
        Sibling::Left(left) => node(*left, under),
        Sibling::Right(right) => node(under, *right),
    })
}

fn leaf(hash: SealHash) -> SealHash {
    SealHash::of(&[&[LEAF], hash.bytes()])
}

fn node(left: SealHash, right: SealHash) -> SealHash {
    SealHash::of(&[&[NODE], left.bytes(), right.bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    fn hashes(count: u8) -> Vec<SealHash> {
        (0..count).map(|number| SealHash::of(&[&[number]])).collect()
    }

    /// The root by the definition of RFC 6962, 2.1.
    fn defined(hashes: &[SealHash]) -> SealHash {
        match hashes {
            [] => SealHash::read(&Sha256::digest(b"")).unwrap(),
            [one] => SealHash::read(&Sha256::digest([&[0], one.bytes()].concat())).unwrap(),
            more => {
                let mut split = 1_usize;
                while split.saturating_mul(2) < more.len() {
                    split = split.saturating_mul(2);
                }
                let (left, right) = (defined(&more[..split]), defined(&more[split..]));
                SealHash::read(&Sha256::digest([&[1], left.bytes(), right.bytes()].concat())).unwrap()
            }
        }
    }

    #[test]
    fn root_is_that_of_rfc_6962_and_each_path_leads_to_it() {
        for count in 0..=130 {
            let all = hashes(count);
            let root = Tree::of(all.iter().copied()).root();
            assert_eq!(root, defined(&all), "{count}");
            for (at, hash) in all.iter().enumerate() {
                assert_eq!(root_of(*hash, &path(&all, at).unwrap()), root, "{at} of {count}");
            }
            assert_eq!(path(&all, all.len()), None);
        }
        // The hash of the empty list in RFC 6962.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Tree::default().root().to_string(), empty);
    }

    proptest! {
        #[test]
        fn root_changes_with_order_and_number(count in 2..100_u8, at in 0..99_usize, other in 0..99_usize) {
            let all = hashes(count);
            let (at, other) = (at.checked_rem(all.len()).unwrap(), other.checked_rem(all.len()).unwrap());
            prop_assume!(at != other);
            let root = Tree::of(all.iter().copied()).root();
            let mut turned = all.clone();
            turned.swap(at, other);
            prop_assert_ne!(Tree::of(turned).root(), root);
            let mut fewer = all.clone();
            fewer.remove(at);
            prop_assert_ne!(Tree::of(fewer).root(), root);
            prop_assert_ne!(root_of(all[other], &path(&all, at).unwrap()), root);
        }
    }
}
