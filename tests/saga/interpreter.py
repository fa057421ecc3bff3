"""An interpreter of the Amazon States Language, on which a deployed machine runs with a function that fails.

The function is a shim that calls our own tasks, and meanwhile fails as a plan says: before the task is done, after
it, every time, or by doing it twice.
"""

import io
import json
import os
import socket
import subprocess
import sys
import time
import zipfile

import botocore.session
from botocore.config import Config

# As often as anybody may try.
ALWAYS = 1000

# The machine's function: one file, no dependencies. TASKS is where it calls our own function. PLANS is a directory;
# PLANNED is the field of an event whose value names the plan in it. FAULTS is what the names of errors begin with.
SHIM = '''
import json, os, urllib.error, urllib.request

class Unavailable(Exception):
    pass

class Broken(Exception):
    pass

Unavailable.__name__ = os.environ["FAULTS"] + ".Unavailable"
Broken.__name__ = os.environ["FAULTS"] + ".Broken"

def call(event):
    request = urllib.request.Request(os.environ["TASKS"], json.dumps(event).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        name = json.load(error).get("errorType")
        raise (Unavailable if name == Unavailable.__name__ else Broken)(name)

def mode_of(event):
    path = os.path.join(os.environ["PLANS"], event[os.environ["PLANNED"]])
    with open(path + ".log", "a") as log:
        log.write(event["task"] + "\\n")
    with open(path) as file:
        plan = json.load(file)
    if plan.get("task") != event["task"] or event.get("part", 0) != 0 or plan.get("times", 0) <= 0:
        return None
    plan["times"] -= 1
    with open(path + ".new", "w") as file:
        json.dump(plan, file)
    os.replace(path + ".new", path)
    return plan["mode"]

def handler(event, context):
    mode = mode_of(event)
    if mode == "before":
        raise Unavailable("before")
    if mode == "broken":
        raise Broken("broken")
    if mode in ("again", "nonsense"):
        return {"outcome": mode}
    answer = call(event)
    if mode == "twice":
        answer = call(event)
    if mode == "after":
        raise Unavailable("after")
    return answer
'''


class Interpreter:
    """Step Functions with one machine and its function, and whatever else of AWS a `client` is made for."""

    def __init__(self, plans, **environment):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # Pauses of minutes become tenths of seconds.
        environment = dict(
            os.environ, BIND_HOST="127.0.0.1", GATEWAY_PORT=str(port), SFN_WAIT_SCALE="0.001", **environment
        )
        self.plans, self.url = plans, f"http://127.0.0.1:{port}"
        self.log = open(os.path.join(plans, "interpreter.log"), "w")
        self.process = subprocess.Popen(
            [os.path.join(os.path.dirname(sys.executable), "ministack")], env=environment, stdout=self.log, stderr=self.log
        )
        self.session = botocore.session.get_session()
        self.states = self.client("stepfunctions")
        for _ in range(300):
            try:
                self.states.list_state_machines()
                break
            except Exception:
                time.sleep(0.1)

    def client(self, service):
        config = Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"})
        return self.session.create_client(
            service, "us-east-1", endpoint_url=self.url, aws_access_key_id="test", aws_secret_access_key="test",
            config=config,
        )

    def machine(self, name, path, faults, planned, tasks_url, alias, filled):
        """Makes the machine of a deployed file, whose variable `alias` is its function and the others are `filled`.

        The function calls ours at `tasks_url`; `faults` and `planned` are as the shim has them.
        """
        package = io.BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("shim.py", SHIM)
        role = "arn:aws:iam::000000000000:role/machine"
        variables = {"TASKS": tasks_url, "PLANS": self.plans, "FAULTS": faults, "PLANNED": planned}
        function = self.client("lambda").create_function(
            FunctionName=name, Runtime="python3.11", Role=role, Handler="shim.handler", Timeout=60,
            Code={"ZipFile": package.getvalue()}, Environment={"Variables": variables},
        )["FunctionArn"]
        with open(path) as file:
            definition = file.read()
        for variable, value in {alias: function, **filled}.items():
            definition = definition.replace("${%s}" % variable, value)
        self.names, self.entered = set(json.loads(definition)["States"]), set()
        self.arn = self.states.create_state_machine(name=name, definition=definition, roleArn=role)["stateMachineArn"]

    def plan(self, name, plan):
        """Says how the function is to fail: in which `mode` at which `task` and how many `times`; or not at all."""
        with open(os.path.join(self.plans, name), "w") as file:
            json.dump(plan or {}, file)

    def tasks(self, name):
        """The tasks that were asked for under a plan's name."""
        with open(os.path.join(self.plans, name + ".log")) as log:
            return log.read().split()

    def start(self, given, **more):
        return self.states.start_execution(stateMachineArn=self.arn, input=json.dumps(given), **more)["executionArn"]

    def ended(self, execution):
        """How an execution ended. The states that it came through are among those `entered`."""
        for _ in range(60 * 20):
            ended = self.states.describe_execution(executionArn=execution)
            if ended["status"] != "RUNNING":
                break
            time.sleep(0.05)
        token = {}
        while True:
            page = self.states.get_execution_history(executionArn=execution, maxResults=1000, **token)
            for event in page["events"]:
                if "stateEnteredEventDetails" in event:
                    self.entered.add(event["stateEnteredEventDetails"]["name"])
            if "nextToken" not in page:
                return ended
            token = {"nextToken": page["nextToken"]}

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()
