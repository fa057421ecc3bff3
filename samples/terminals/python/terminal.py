"""A storefront terminal: enrols, signs its requests (RFC 9421) and sends them.

docs/terminals.md says what is signed, and what to do with each answer.
"""

import argparse
import base64
import datetime
import http.client
import json
import os
import pathlib
import secrets
import sys
import time
import urllib.parse
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from http_message_signatures import ContentDigest, HTTPMessageSigner
from http_message_signatures.algorithms import ECDSA_P256_SHA256

ATTEMPTS_MAX = 5
TIMEOUT_S = 35


@dataclass
class Request:
    method: str
    url: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


# Signing


def sign(request, key_id, private_key, created, expires=None, nonce=None):
    """Puts the signature's headers on `request`; returns the signature base. Times are Unix seconds."""
    covered = ["@method", "@path", "@query", "content-digest"]
    if "idempotency-key" in request.headers:
        covered.append("idempotency-key")
    request.headers["content-digest"] = ContentDigest.create(request.body)
    signer = HTTPMessageSigner(signature_algorithm=ECDSA_P256_SHA256)
    prepared = signer.prepare(
        request,
        key_id=key_id,
        created=utc(created),
        expires=utc(expires) if expires is not None else None,
        nonce=nonce,
        label="terminal",
        covered_component_ids=covered,
        use_existing_digest=True,
    )
    # A terminal with a secure element calls it here: SHA-256 and ECDSA, `r` and `s` of 32 bytes each.
    signature = ECDSA_P256_SHA256(private_key=private_key.encode()).sign(prepared.signature_base)
    signer.apply(request, prepared, signature)
    request.headers = {name.lower(): value for name, value in request.headers.items()}
    return prepared.signature_base


def utc(epoch_s):
    return datetime.datetime.fromtimestamp(epoch_s, datetime.timezone.utc)


# The credential: a file that only its owner can read.


def save(path, credential):
    beside = path.with_suffix(".tmp")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(credential, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def next_key(path):
    """The idempotency key of a new operation. The sequence is stored before the key is used."""
    credential = json.loads(path.read_text())
    credential["sequence"] += 1
    save(path, credential)
    return f"{credential['terminal_id']}-{credential['epoch']}-{credential['sequence']}"


# Sending


def exchange(request):
    """Sends once. `None` if there is no answer: then the outcome is unknown."""
    url = urllib.parse.urlsplit(request.url)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.netloc, timeout=TIMEOUT_S)
    target = url.path + (f"?{url.query}" if url.query else "")
    try:
        connection.request(request.method, target, body=request.body or None, headers=request.headers)
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def send(request, before_each=lambda: None):
    """Sends until there is an answer that a repetition would not change: same key, same body."""
    for attempt in range(ATTEMPTS_MAX):
        before_each()
        answer = exchange(request)
        if answer and answer.status != 429 and answer.status < 500:
            return answer
        if attempt + 1 < ATTEMPTS_MAX:
            time.sleep(int(answer.headers.get("retry-after", 1)) if answer else 1)
    sys.exit(f"The outcome is unknown. Repeat it, or reverse it: {request.headers.get('idempotency-key')}")


# Commands


def enrol(arguments):
    path = arguments.credential
    credential = json.loads(path.read_text()) if path.exists() else {}
    if "next_private_key" not in credential:
        made = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        credential["next_private_key"] = made.decode()
        # Before the code is answered: if the answer is lost, the same key is sent again.
        save(path, credential)
    private_key = credential["next_private_key"]
    public_key = serialization.load_pem_private_key(private_key.encode(), None).public_key()
    pem = public_key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    body = json.dumps({"code": arguments.code, "public_key": pem.decode()}).encode()
    headers = {"content-type": "application/json"}
    answer = send(Request("POST", f"{arguments.url}/v1/terminal/enrolments", body, headers))
    if answer.status == 201:
        save(path, {"private_key": private_key, **json.loads(answer.body), "sequence": 0})
    return answer


def call(arguments):
    credential = json.loads(arguments.credential.read_text())
    request = Request(arguments.method, arguments.url + arguments.path, arguments.body.encode())
    if request.body:
        request.headers["content-type"] = "application/json"
    if request.method != "GET":
        request.headers["idempotency-key"] = arguments.key or next_key(arguments.credential)

    def signed():
        # For each attempt again: `created` has to be near the server's time.
        created = int(time.time()) if arguments.created is None else arguments.created
        sign(request, credential["key_id"], credential["private_key"], created, nonce=secrets.token_urlsafe(12))

    if arguments.dry_run:
        signed()
        print(json.dumps({**vars(request), "body": request.body.decode()}))
        return None
    if "idempotency-key" in request.headers:
        print(f"sent with idempotency-key: {request.headers['idempotency-key']}")
    return send(request, before_each=signed)


def check(arguments):
    """Compares what this file signs with the published vectors."""
    published = json.loads(arguments.file.read_text())
    key = published["key"]
    verifier = ECDSA_P256_SHA256(public_key=key["public_key"].encode())
    for vector in published["vectors"]:
        wanted = dict(vector["headers"])
        request = Request(vector["method"], f"https://terminal.example{vector['target']}", vector["body"].encode())
        if "idempotency-key" in wanted:
            request.headers["idempotency-key"] = wanted["idempotency-key"]
        times = vector["created"], vector.get("expires")
        base = sign(request, key["keyid"], key["private_key"], *times, vector.get("nonce"))
        same(vector["id"], "signature base", base.decode(), "\n".join(vector["signature_base"]))
        for name in ("content-digest", "signature-input"):
            same(vector["id"], name, request.headers[name], wanted[name])
        for header in (wanted["signature"], request.headers["signature"]):
            verifier.verify(base64.b64decode(header.removeprefix("terminal=:").removesuffix(":")), base)
        print(f"ok  {vector['id']}")


def same(vector, what, ours, published):
    if ours != published:
        sys.exit(f"{vector}: another {what}\nours:      {ours}\npublished: {published}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:3000", help="base URL of the API [%(default)s]")
    parser.add_argument("--credential", type=pathlib.Path, default="terminal.json", help="file [%(default)s]")
    commands = parser.add_subparsers(required=True)

    command = commands.add_parser("enrol", help="answer an enrolment code with a new public key")
    command.add_argument("code")
    command.set_defaults(run=enrol)

    command = commands.add_parser("send", help="sign a request and send it")
    command.add_argument("method", choices=["GET", "POST"])
    command.add_argument("path", help="path and query, as in /v1/terminal/totals?date=2026-11-21")
    command.add_argument("body", nargs="?", default="", help="JSON")
    command.add_argument("--key", help="idempotency key [the next of the sequence]")
    command.add_argument("--created", type=int, help="time of the signature, Unix seconds [now]")
    command.add_argument("--dry-run", action="store_true", help="print the signed request, send nothing")
    command.set_defaults(run=call)

    command = commands.add_parser("vectors", help="check the published vectors")
    command.add_argument("file", type=pathlib.Path)
    command.set_defaults(run=check)

    arguments = parser.parse_args()
    arguments.url = arguments.url.rstrip("/")
    answer = arguments.run(arguments)
    if answer is None:
        return
    print(f"HTTP {answer.status}")
    for name in ("idempotent-replayed", "retry-after"):
        if name in answer.headers:
            print(f"{name}: {answer.headers[name]}")
    print(f"\n{answer.body.decode()}")
    sys.exit(answer.status >= 400)


if __name__ == "__main__":
    main()
