"""Every path of the state machine that reconciles exports, on an interpreter of the Amazon States Language.

The machine is the deployed file, its pauses shortened. Its function is our own binary behind a Lambda Runtime
API, over the interpreter's S3, and fails as a plan says. The interpreter's DynamoDB knows exports but writes
none: their files are put here, in the format that DynamoDB documents.
"""

import argparse
import gzip
import http.server
import json
import queue
import subprocess
import tempfile
import threading
import time
import uuid

from interpreter import ALWAYS, Interpreter

PARTS = 3
# How long an export of the interpreter takes. Its files are put meanwhile.
EXPORT_SECONDS = 2
ATTEMPTS_MAX = 10


class Function(http.server.ThreadingHTTPServer):
    """A binary behind a Lambda Runtime API, one event at a time, and `/invoke` for the shim."""

    daemon_threads = True

    def __init__(self, binary, s3):
        super().__init__(("127.0.0.1", 0), Handler)
        self.events, self.waiting = queue.Queue(), {}
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.address = "127.0.0.1:%d" % self.server_address[1]
        # A function has its /tmp to itself.
        self.files = tempfile.TemporaryDirectory()
        environment = {
            "AWS_LAMBDA_RUNTIME_API": self.address, "AWS_LAMBDA_FUNCTION_NAME": "reconcile-export",
            "AWS_LAMBDA_FUNCTION_VERSION": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
            "AWS_LAMBDA_LOG_GROUP_NAME": "log", "AWS_LAMBDA_LOG_STREAM_NAME": "log", "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL_S3": s3,
            "EXPORT_BUCKET": "exports", "RECONCILIATION_BUCKET": "reports",
            "TMPDIR": self.files.name,
        }
        self.process = subprocess.Popen([binary], env=environment, stdout=subprocess.DEVNULL)

    def invoke(self, payload):
        """The path's end of what the runtime answers with, and its body."""
        id, answer = str(uuid.uuid4()), queue.Queue()
        self.waiting[id] = answer
        self.events.put((id, payload))
        return answer.get(timeout=60)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.files.cleanup()
        self.shutdown()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.endswith("/invocation/next"):
            id, payload = self.server.events.get()
            deadline = str(int(time.time() * 1000) + 900_000)
            arn = "arn:aws:lambda:us-east-1:000000000000:function:reconcile-export"
            self.answer(200, payload, {
                "lambda-runtime-aws-request-id": id, "lambda-runtime-deadline-ms": deadline,
                "lambda-runtime-invoked-function-arn": arn, "lambda-runtime-trace-id": "Root=1-0-0",
            })
        else:
            threading.Event().wait()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if not self.headers.get("content-length") and self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        if self.path == "/invoke":
            kind, answer = self.server.invoke(body)
            self.answer(200 if kind == "response" else 500, answer, {})
        elif self.path.endswith("/register"):
            known = {"functionName": "reconcile-export", "functionVersion": "1", "handler": "bootstrap"}
            self.answer(200, json.dumps(known).encode(), {"lambda-extension-identifier": str(uuid.uuid4())})
        else:
            *_, id, kind = self.path.split("/")
            self.server.waiting.pop(id).put((kind, body))
            self.answer(202, b"{}", {})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in dict(headers, **{"content-type": "application/json", "content-length": len(body)}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def balance(letter, amount):
    number = f"00000000-0000-7000-8000-00000000000{letter}"
    return {
        "uuid": {"S": f"demo#customer#{number}"}, "type": {"S": "BALANCE#ECOPAY"}, "asset": {"S": "ECOPAY"},
        "balance": {"N": amount}, "held": {"N": "0"}, "exposure": {"N": amount},
        "updated_at": {"S": "2026-11-20T00:00:00.000Z"},
    }


class Cloud:
    """Step Functions with its function, DynamoDB and S3."""

    def __init__(self, machine, binary, plans):
        self.interpreter = Interpreter(plans, MINISTACK_DDB_EXPORT_COMPLETE_AFTER_SEC=str(EXPORT_SECONDS))
        self.dynamodb, self.s3 = map(self.interpreter.client, ("dynamodb", "s3"))
        for bucket in ("exports", "reports"):
            self.s3.create_bucket(Bucket=bucket)
        table = self.dynamodb.create_table(
            TableName="ecopay", BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "uuid", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "uuid", "KeyType": "HASH"}],
        )["TableDescription"]["TableArn"]
        self.function = Function(binary, self.interpreter.url)
        self.interpreter.machine(
            "reconcile-export", machine, faults="Export", planned="run",
            tasks_url=f"http://{self.function.address}/invoke", alias="ReconcileExportFunctionAlias",
            filled={"ExportBucket": "exports", "TableArn": table},
        )
        self.count = 0
        self.known = set()

    def put_export(self, run, files, said=None):
        """Puts the files of the export that the machine has asked for."""
        prefix = f"exports/{run}"
        for _ in range(200):
            summaries = self.dynamodb.list_exports()["ExportSummaries"]
            arns = [arn for summary in summaries if (arn := summary["ExportArn"]) not in self.known]
            described = [self.dynamodb.describe_export(ExportArn=arn)["ExportDescription"] for arn in arns]
            self.known.update(arns)
            asked = [export for export in described if export["S3Prefix"] == prefix]
            if asked:
                break
            time.sleep(0.02)
        assert len(asked) == 1, asked
        asked = asked[0]
        assert asked["ClientToken"] == run and asked["S3SseAlgorithm"] == "AES256", asked
        folder = f"{prefix}/AWSDynamoDB/{asked['ExportArn'].split('/')[-1]}"
        put = lambda name, body: self.s3.put_object(Bucket="exports", Key=f"{folder}/{name}", Body=body)
        manifest = ""
        for number, items in enumerate(files):
            name = f"data/{number}.json.gz"
            if items is not None:
                lines = "".join(json.dumps({"Item": item}) + "\n" for item in items)
                put(name, gzip.compress(lines.encode()))
            count = len(items or ())
            manifest += json.dumps({
                "itemCount": (said or count) if number == 0 else count, "md5Checksum": "", "etag": "",
                "dataFileS3Key": f"{folder}/{name}",
            }) + "\n"
        put("manifest-files.json", manifest)
        count = sum(len(items or ()) for items in files)
        put("manifest-summary.json", json.dumps({"exportTime": "2026-11-21T03:00:00.000Z", "itemCount": count}))

    def run(self, files, plan=None, status="SUCCEEDED", said=None, parts=PARTS):
        """One run, and its output or the kinds that it found."""
        for _ in range(ATTEMPTS_MAX):
            run = f"run-{uuid.uuid4()}"
            self.interpreter.plan(run, plan)
            began = time.monotonic()
            started = self.interpreter.start({} if parts is None else {"parts": parts}, name=run)
            self.put_export(run, files, said)
            in_time = time.monotonic() - began < EXPORT_SECONDS
            ended = self.interpreter.ended(started)
            # On a busy machine the export was complete before all of its files were there: that run shows nothing.
            if in_time:
                break
        assert in_time, f"the files of {ATTEMPTS_MAX} exports were not put within {EXPORT_SECONDS} s each"
        assert ended["status"] == status, (ended, plan)
        self.count += 1
        tasks = self.interpreter.tasks(run)
        report = f"demo/reconciliation-{run}.jsonl"
        if status != "SUCCEEDED":
            keys = [found["Key"] for found in self.s3.list_objects_v2(Bucket="reports").get("Contents", [])]
            assert report not in keys or plan, "a run that failed says nothing of the books"
            return tasks, None
        lines = self.s3.get_object(Bucket="reports", Key=report)["Body"].read().decode().splitlines()
        head, *found = map(json.loads, lines)
        output = json.loads(ended["output"])
        assert output == {"items": sum(map(len, files)), "tenants": 1, "breaks": len(found)}, output
        assert head["status"] == ("breaks" if found else "clean") and head["run_id"] == run, head
        return tasks, sorted(line["kind"] for line in found)

    def paths(self):
        broken = [[balance("a", "5")], [balance("b", "0"), balance("c", "-1")]]
        kinds = ["balance_differs", "balance_differs", "negative_balance"]
        tasks, found = self.run([[balance("a", "0")]])
        assert (tasks, found) == (["facts"] + ["fold"] * PARTS + ["report"], []), (tasks, found)
        tasks, found = self.run(broken)
        assert (tasks.count("facts"), found) == (2, kinds), (tasks, found)
        # The usual number of parts.
        tasks, found = self.run(broken, parts=None)
        assert (tasks.count("fold"), found) == (256, kinds), found

        # Each task fails before it is done and after, is repeated, fails for good, and as often as it may.
        for task in ("facts", "fold", "report"):
            for mode in ("before", "after", "twice"):
                _, found = self.run(broken, plan={"task": task, "mode": mode, "times": 1})
                assert found == kinds, (task, mode, found)
            # The interpreter gives every error of a function one name, so that it tries again what is for good.
            for mode in ("before", "after", "broken"):
                tasks, _ = self.run(broken, plan={"task": task, "mode": mode, "times": ALWAYS}, status="FAILED")
                assert tasks.count(task) >= 7, (task, tasks)

        # A data file that is short, or that is not there: nothing is said of the books.
        for files, said in ((broken, 2), ([broken[0], None], None)):
            tasks, _ = self.run(files, status="FAILED", said=said)
            assert "fold" not in tasks, tasks
        # Parts that there are not: nothing is even exported.
        for parts in (0, 513, "many"):
            started = self.interpreter.start({"parts": parts})
            assert self.interpreter.ended(started)["status"] == "FAILED", parts
        # The interpreter's exports do not fail.
        never = self.interpreter.names - self.interpreter.entered - {"NotExported"}
        assert not never, f"states that no path came through: {never}"

    def stop(self):
        self.function.stop()
        self.interpreter.stop()


def main():
    arguments = argparse.ArgumentParser()
    for name in ("--binary", "--machine"):
        arguments.add_argument(name, required=True)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as plans:
        cloud = Cloud(given.machine, given.binary, plans)
        try:
            cloud.paths()
        finally:
            cloud.stop()
        print(f"export-paths: {cloud.count} runs took every path")


if __name__ == "__main__":
    main()
