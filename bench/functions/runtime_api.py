"""Lambda's Runtime API on the loopback, for one function: hands out events one at a time and takes the responses."""

import json
import queue
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "/2018-06-01/runtime"
TIMEOUT_SECONDS = 30


class RuntimeApi:
    """A running Runtime API. `address` is the value of AWS_LAMBDA_RUNTIME_API."""

    def __init__(self, function: str):
        self.arn = f"arn:aws:lambda:us-east-1:123456789012:function:{function}"
        self.events: queue.Queue = queue.Queue()
        self.replies: queue.Queue = queue.Queue()
        self.ready = threading.Event()
        self.init_error: dict | None = None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # A function that is ended closes its connection.
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def invoke(self, event: dict) -> dict:
        """Hands an event to the function and waits for its response. Fails if the function reports an error."""
        self.events.put((str(uuid.uuid4()), json.dumps(event).encode()))
        kind, body = self.replies.get(timeout=TIMEOUT_SECONDS)
        if kind != "response":
            raise RuntimeError(f"the function reported an error: {body}")
        return body

    def close(self) -> None:
        """Ends the server."""
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    api: RuntimeApi
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path != f"{PREFIX}/invocation/next":
            self.answer(404, b"{}")
            return
        self.api.ready.set()
        event_id, payload = self.api.events.get()
        self.answer(
            200,
            payload,
            {
                "Lambda-Runtime-Aws-Request-Id": event_id,
                "Lambda-Runtime-Deadline-Ms": str(int((time.time() + TIMEOUT_SECONDS) * 1000)),
                "Lambda-Runtime-Invoked-Function-Arn": self.api.arn,
            },
        )

    def do_POST(self) -> None:
        length = self.headers.get("content-length")
        body = json.loads((self.rfile.read(int(length)) if length else self.chunks()) or b"null")
        if self.path == f"{PREFIX}/init/error":
            self.api.init_error = body
            self.api.ready.set()
        else:
            self.api.replies.put((self.path.rsplit("/", 1)[1], body))
        self.answer(202, b'{"status":"OK"}')

    def chunks(self) -> bytes:
        """A body in chunked transfer coding."""
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Sends a JSON response."""
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        """Logs nothing."""
