"""A proxy before a DynamoDB engine: counts the calls, and can lose the answers to an operation."""

import collections
import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}


class EngineProxy:
    """A running proxy at `url`."""

    def __init__(self, engine: str):
        self.engine = urlsplit(engine)
        self.calls: collections.Counter = collections.Counter()
        self.transaction: list[dict] = []
        """The actions of the last transaction."""
        self.lost: str | None = None
        """The operation whose answers are lost: the engine executes it, and the function gets a 500."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # A function that is ended closes its connection.
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def taken(self) -> dict[str, int]:
        """The calls since this was last asked."""
        calls, self.calls = self.calls, collections.Counter()
        return dict(calls)


class _Handler(BaseHTTPRequestHandler):
    proxy: EngineProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        operation = self.headers["x-amz-target"].rsplit(".", 1)[1]
        self.proxy.calls[operation] += 1
        if operation == "TransactWriteItems":
            self.proxy.transaction = json.loads(body)["TransactItems"]
        engine = http.client.HTTPConnection(self.proxy.engine.hostname, self.proxy.engine.port, timeout=30)
        engine.request("POST", self.path, body, dict(self.headers.items()))
        answer = engine.getresponse()
        content, status, headers = answer.read(), answer.status, answer.headers.items()
        engine.close()
        if operation == self.proxy.lost:
            content, status = b'{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}', 500
            headers = [("Content-Type", "application/x-amz-json-1.0")]
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_) -> None:
        """Logs nothing."""
