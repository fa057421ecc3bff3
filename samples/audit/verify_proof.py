#!/usr/bin/env python3
"""Verifies that a journal entry of EcoPay Ledger was sealed before a binding, with nothing but the proof and that
binding's hash:

    python3 verify_proof.py proof.json HEAD

The proof is what `ledger-local audit proof` prints; HEAD was noted before. It prints the entry and ends with 0 if the proof
leads from the entry to HEAD, else with 1. docs/operations/prove-a-receipt.md says what each hash covers.
"""
import base64
import hashlib
import json
import sys


class Refused(Exception):
    """The proof does not show what it says."""


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def encoded(attribute):
    """An attribute as the AWS CLI prints it, as the bytes that are hashed: a letter, a length and the content."""
    (kind, value), = attribute.items()
    if kind in ("S", "N"):
        content = value.encode()
    elif kind == "B":
        content = base64.b64decode(value)
        if binary(content) != attribute:
            raise Refused(f"{value} is not Base64")
    elif kind == "BOOL":
        return (b"T" if value is True else b"F") + (0).to_bytes(8, "big")
    elif kind == "L":
        return b"L" + len(value).to_bytes(8, "big") + b"".join(encoded(one) for one in value)
    elif kind == "M":
        return encoded_map(value)
    else:
        raise Refused(f"an attribute of type {kind}")
    return kind.encode() + len(content).to_bytes(8, "big") + content


def encoded_map(members):
    """A map: the number of its members, and each with the length and the bytes of its name, sorted by these bytes."""
    named = sorted((name.encode(), value) for name, value in members.items())
    parts = [len(name).to_bytes(8, "big") + name + encoded(value) for name, value in named]
    return b"M" + len(parts).to_bytes(8, "big") + b"".join(parts)


def digest(item):
    return sha256(b"ecopay.ledger.seal.v1\0", encoded_map(item))


def binary(value):
    return {"B": base64.b64encode(value).decode()}


def read_hash(text):
    value = bytes.fromhex(text)
    if len(value) != 32 or value.hex() != text:
        raise Refused(f"{text!r} is not a hash")
    return value


def root(of, path):
    """The root of the Merkle tree to which a path leads from a hash, as in RFC 6962."""
    node = sha256(b"\0", of)
    for step in path:
        (side, text), = step.items()
        sibling = read_hash(text)
        if side not in ("left", "right"):
            raise Refused(f"{side} is no side")
        node = sha256(b"\1", sibling, node) if side == "left" else sha256(b"\1", node, sibling)
    return node


def verify(proof, head):
    """Returns the entry that is proven; raises Refused unless the proof leads from it to the head."""
    members = {"form", "record", "record_path", "segment", "segment_path", "lane_path", "after", "bindings"}
    if set(proof) != members or proof["form"] != 1:
        raise Refused("not a proof of form 1")
    record, segment = proof["record"], proof["segment"]
    # What is not covered by a hash would be shown and not proven.
    if any(name.startswith("_") for name in [*record, *segment]) or {"hash", "records", "root"} & set(segment):
        raise Refused("it has an attribute that no hash covers")
    sealed = digest({**segment, "root": binary(root(digest(record), proof["record_path"]))})
    bound = root(root(sealed, proof["segment_path"]), proof["lane_path"])
    after = proof["after"] and read_hash(proof["after"])
    bindings = [(read_hash(one["root"]), read_hash(one["rest"])) for one in proof["bindings"]]
    if not bindings or bindings[0][0] != bound:
        raise Refused("the entry is not in the binding")
    for of, rest in bindings:
        covered = {"root": binary(of), "rest": binary(rest)}
        after = digest({**covered, "after": binary(after)} if after else covered)
    if after != read_hash(head):
        raise Refused("the proof does not lead to this head")
    return record


def main(path, head):
    try:
        with open(path, encoding="utf-8") as file:
            record = verify(json.load(file), head)
    except (Refused, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"not proven: {error}", file=sys.stderr)
        return 1
    print(json.dumps(record, indent=2, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
