"""AWS Secrets Manager on the loopback, as far as the functions use it: one secret, with the keys of markers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET_ID = "arn:aws:secretsmanager:us-east-1:123456789012:secret:marker-keys-AbCdEf"
# The keys of the golden vectors, as in tests/src/declared.rs.
GOLDEN_KEYS = {
    "current": "k2",
    "k1": "golden-key-1-of-markers-which-is-not-a-secret-0",
    "k2": "golden-key-2-of-markers-which-is-not-a-secret-0",
}


class SecretsManager:
    """A running service. `variables` are a function's environment variables for it."""

    def __init__(self):
        self.keys: dict[str, str] | None = GOLDEN_KEYS
        """The content of the secret. `None`: it cannot be read."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"service": self}))
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # A function that is ended closes its connection.
        self.variables = {
            "MARKER_KEYS_SECRET_ID": SECRET_ID,
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": f"http://127.0.0.1:{server.server_address[1]}",
        }
        threading.Thread(target=server.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    service: SecretsManager
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        target, keys = self.headers["x-amz-target"], self.service.keys
        status, answer = 400, {"__type": "ResourceNotFoundException"}
        if target == "secretsmanager.GetSecretValue" and request == {"SecretId": SECRET_ID} and keys:
            status, answer = 200, {"ARN": SECRET_ID, "Name": "marker-keys", "SecretString": json.dumps(keys)}
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_) -> None:
        """Logs nothing."""
