//! The published vectors: the verifier's base and the signature equal the file's, byte for byte.

use super::*;
use crate::testing::terminal_vectors::Vectors;

#[test]
fn base_and_signature_of_each_vector_are_the_published_ones() {
    let Vectors { key, vectors, .. } = Vectors::load();
    let private = SecretKey::from_pem(&AlgorithmName::EcdsaP256Sha256, &key.private_key).unwrap();
    for vector in &vectors {
        let (parts, _) = vector.request().into_parts();
        let input = SignatureInput::parse(&parts.headers).unwrap();
        let covered = input.covered(&parts.headers).unwrap();
        let base = signature_base(&input, &covered, &parts.method, &parts.uri, &parts.headers).unwrap();
        assert_eq!(base, vector.signature_base.join("\n"), "{}", vector.id);

        assert_eq!(vector.header("content-digest"), digest_of(vector.body.as_bytes()), "{}", vector.id);
        let signature = STANDARD.encode(private.sign(base.as_bytes()).unwrap());
        assert_eq!(vector.header("signature"), format!("terminal=:{signature}:"), "{}", vector.id);

        assert_eq!(input.string("keyid"), Ok(Some(key.keyid.as_str())), "{}", vector.id);
        assert_eq!(input.string("nonce"), Ok(vector.nonce.as_deref()), "{}", vector.id);
        assert_eq!(input.integer("created"), Ok(Some(vector.created)), "{}", vector.id);
        assert_eq!(input.integer("expires"), Ok(vector.expires), "{}", vector.id);
    }
    assert!(vectors.len() >= 4, "{}", vectors.len());
}

#[test]
fn each_vector_is_accepted_at_its_times() {
    let Vectors { key, vectors, .. } = Vectors::load();
    for vector in &vectors {
        let (parts, _) = vector.request().into_parts();
        for at in &vector.accepted_at {
            let body = vector.body.as_bytes();
            let verified = verify(&parts.method, &parts.uri, &parts.headers, body, &key.public_key, *at);
            assert_eq!(verified, Ok(()), "{} at {at}", vector.id);
        }
    }
}
