"""Measures what a transformed template makes against AWS's limits (tests/cloud/limits.json), for the longest names
that a deployment may have, and complains above four fifths of a limit.

Names that CloudFormation makes are taken as `<stack>-<logical id>-<13 characters>`, cut where a service cuts them.
"""

import json
import re
from pathlib import Path

DATA = json.loads(Path("tests/cloud/limits.json").read_text())
LIMITS = {row["of"]: row for row in DATA["limits"]}
SHARE = 0.8
LONGEST = DATA["longest"]
STACK = "s" * LONGEST["stack"]
PSEUDO = {
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::Region": "ap-southeast-2",
    "AWS::StackName": STACK,
    "AWS::URLSuffix": "amazonaws.com",
}
NOTHING = object()
# How a Ref and an Arn of a type look: {0} is the physical name.
SHAPES = {
    "AWS::ApiGatewayV2::Api": ("a1b2c3d4e5", ""),
    "AWS::DynamoDB::Table": ("{0}", "arn:aws:dynamodb:ap-southeast-2:111122223333:table/{0}"),
    "AWS::IAM::ManagedPolicy": ("arn:aws:iam::111122223333:policy/{0}", "arn:aws:iam::111122223333:policy/{0}"),
    "AWS::IAM::Role": ("{0}", "arn:aws:iam::111122223333:role/{0}"),
    "AWS::KMS::Key": ("{0}", "arn:aws:kms:ap-southeast-2:111122223333:key/{0}"),
    "AWS::Lambda::Alias": ("arn:aws:lambda:ap-southeast-2:111122223333:function:{0}:live", ""),
    "AWS::Lambda::Function": ("{0}", "arn:aws:lambda:ap-southeast-2:111122223333:function:{0}"),
    "AWS::Logs::LogGroup": ("{0}", "arn:aws:logs:ap-southeast-2:111122223333:log-group:{0}:*"),
    "AWS::S3::Bucket": ("{0}", "arn:aws:s3:::{0}"),
    "AWS::SNS::Topic": ("arn:aws:sns:ap-southeast-2:111122223333:{0}", ""),
    "AWS::SQS::Queue": (
        "https://sqs.ap-southeast-2.amazonaws.com/111122223333/{0}", "arn:aws:sqs:ap-southeast-2:111122223333:{0}",
    ),
    "AWS::SecretsManager::Secret": ("arn:aws:secretsmanager:ap-southeast-2:111122223333:secret:{0}", ""),
    "AWS::Cognito::UserPool": (
        "ap-southeast-2_123456789", "arn:aws:cognito-idp:ap-southeast-2:111122223333:userpool/ap-southeast-2_123456789",
    ),
}
# Types whose policies are measured.
WITH_POLICY = {
    "AWS::IAM::ManagedPolicy", "AWS::IAM::Role", "AWS::KMS::Key", "AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy",
}
CUT = {"AWS::IAM::Role": 64, "AWS::Lambda::Function": 64, "AWS::S3::Bucket": 63, "AWS::SQS::Queue": 80}


def parameters(source):
    """The longest value of every parameter; one that has no longest is a complaint, its value as its name."""
    values = {}
    for name, of in source["Parameters"].items():
        if name in ("Tenants", "MigratingTenants"):
            count = LONGEST["tenants" if name == "Tenants" else "migrating"]
            values[name] = ",".join(f"{number:x<{LONGEST['tenant']}}" for number in range(count))
        elif "AllowedValues" in of:
            # What is there only where it is asked for is looked at as well.
            values[name] = "yes" if "yes" in of["AllowedValues"] else str(max(of["AllowedValues"], key=lambda of: len(str(of))))
        elif of["Type"] == "Number":
            values[name] = str(of.get("MaxValue", 1000000))
        elif of["Type"] == "CommaDelimitedList":
            values[name] = ",".join(["https://" + "w" * 56] * 3)
        elif "MaxLength" in of:
            values[name] = "p" * of["MaxLength"]
        else:
            raise ValueError(f"the parameter {name} has no MaxLength")
    return values


class Names:
    """What references of a transformed template come to."""

    def __init__(self, template, values):
        self.resources, self.values = template["Resources"], {**values, **PSEUDO}

    def name(self, logical):
        of = self.resources[logical]
        properties = of.get("Properties", {})
        if of["Type"] == "AWS::Lambda::Alias":
            return self.name(properties["FunctionName"]["Ref"])
        own = {"AWS::Logs::LogGroup": "LogGroupName", "AWS::SQS::Queue": "QueueName"}.get(of["Type"])
        if own in properties:
            return self.text(properties[own])
        return f"{STACK}-{logical}-{'x' * 13}"[: CUT.get(of["Type"])]

    def ref(self, name):
        if name == "AWS::NoValue":
            return NOTHING
        if name in self.values:
            return self.values[name]
        name = re.sub(r"\.Alias$", "Aliaslive", name)
        shape = SHAPES.get(self.resources[name]["Type"], ("{0}", ""))[0]
        return shape.format(self.name(name))

    def attribute(self, name, attribute):
        kind = self.resources[name]["Type"]
        if kind == "AWS::SSM::Parameter":
            return self.values["TableOverride"]
        if attribute == "StreamArn":
            return self.attribute(name, "Arn") + "/stream/2026-11-21T00:00:00.000"
        if attribute == "Arn" and kind in SHAPES:
            return SHAPES[kind][1].format(self.name(name))
        return self.name(name)

    def text(self, value):
        return self.filled(value) if isinstance(value, str) else self.of(value)

    def filled(self, text, own=()):
        def one(match):
            name, _, attribute = match.group(1).partition(".")
            if name in own:
                return str(own[name])
            if not attribute or attribute == "Alias":
                return str(self.ref(match.group(1)))
            return str(self.attribute(name, attribute))
        return re.sub(r"\$\{([A-Za-z0-9_:.]+)\}", one, text)

    def of(self, value):
        """A value with its references made out; of two that a condition chooses from, the longer."""
        if isinstance(value, str):
            return self.filled(value)
        if isinstance(value, list):
            return [item for item in map(self.of, value) if item is not NOTHING]
        if not isinstance(value, dict):
            return value
        call, argument = next(iter(value.items())) if len(value) == 1 else (None, None)
        if call == "Ref":
            return self.ref(argument)
        if call == "Fn::GetAtt":
            parts = argument.split(".") if isinstance(argument, str) else argument
            return self.attribute(parts[0], ".".join(parts[1:]))
        if call == "Fn::Sub":
            text, own = (argument, {}) if isinstance(argument, str) else argument
            return self.filled(text, {name: self.of(of) for name, of in own.items()})
        if call == "Fn::Join":
            return argument[0].join(map(str, self.of(argument[1])))
        if call == "Fn::If":
            both = [of for of in map(self.of, argument[1:]) if of is not NOTHING]
            return max(both, key=size) if both else NOTHING
        made = {name: self.of(of) for name, of in value.items()}
        return {name: of for name, of in made.items() if of is not NOTHING}


def size(value):
    """The length of a value as JSON without whitespace, as IAM counts it."""
    return len(value) if isinstance(value, str) else len(json.dumps(value, separators=(",", ":")))


def function_policy(names, permissions):
    """A function's policy as Lambda writes it: a statement for each permission."""
    statements = []
    for logical, of in permissions:
        statement = {
            "Sid": f"{STACK}-{logical}-{'x' * 13}"[:100],
            "Effect": "Allow",
            "Principal": {"Service": of["Principal"]},
            "Action": of["Action"],
            "Resource": names.of(of["FunctionName"]),
        }
        if "SourceArn" in of:
            statement["Condition"] = {"ArnLike": {"AWS:SourceArn": names.of(of["SourceArn"])}}
        statements.append(statement)
    return {"Version": "2012-10-17", "Id": "default", "Statement": statements}


def measured(source, text, template, values):
    """Everything that has a limit: which, where, and how large it is."""
    names = Names(template, values)
    resources = template["Resources"]
    yield "resources of the stack", "", len(resources)
    yield "parameters", "", len(source["Parameters"])
    yield "outputs", "", len(template["Outputs"])
    yield "template in S3", "as it is written", len(text.encode())
    yield "template in S3", "as it is transformed", size(template)
    for name, value in values.items():
        yield "value of a parameter", name, len(value.encode())
    permissions = {}
    for name, resource in resources.items():
        kind, of = resource["Type"], resource.get("Properties", {})
        if kind == "AWS::Lambda::Permission":
            permissions.setdefault(str(names.of(of["FunctionName"])), []).append((name, of))
        elif kind == "AWS::Lambda::Function":
            variables = names.of(of.get("Environment", {}).get("Variables", {}))
            yield "environment of a function", name, sum(len(key) + len(str(of)) for key, of in variables.items())
        elif kind == "AWS::IAM::Role":
            policies = [names.of(policy["PolicyDocument"]) for policy in of.get("Policies", [])]
            yield "inline policies of a role", name, sum(map(size, policies))
            yield "trust policy of a role", name, size(names.of(of["AssumeRolePolicyDocument"]))
        elif kind == "AWS::IAM::ManagedPolicy":
            yield "managed policy", name, size(names.of(of["PolicyDocument"]))
        elif kind == "AWS::KMS::Key":
            yield "policy of a key", name, size(names.of(of["KeyPolicy"]))
        elif kind == "AWS::SNS::TopicPolicy":
            yield "policy of a topic", name, size(names.of(of["PolicyDocument"]))
        elif kind == "AWS::S3::BucketPolicy":
            yield "policy of a bucket", name, size(names.of(of["PolicyDocument"]))
        elif kind == "AWS::CloudWatch::Alarm":
            yield "metrics of an alarm", name, sum("MetricStat" in metric for metric in of.get("Metrics", [])) or 1
            yield "description of an alarm", name, len(names.of(of["AlarmDescription"]))
            yield "name of an alarm", name, len(names.of(of["AlarmName"]))
            for actions in ("AlarmActions", "OKActions", "InsufficientDataActions"):
                yield "actions of an alarm", f"{name}, {actions}", len(of.get(actions, []))
        elif kind == "AWS::CloudWatch::Dashboard":
            # Without their names: a row is a metric.
            yield "metrics of the dashboard", name, len(re.findall(r"\n\s*\[", str(of["DashboardBody"])))
        elif kind == "AWS::CodeDeploy::DeploymentGroup":
            yield "alarms of a roll-out", name, len(names.of(of.get("AlarmConfiguration", {})).get("Alarms", []))
        elif kind == "AWS::ApiGatewayV2::Api":
            body = of["Body"]
            operations = [operation for path in body["paths"].values() for operation in path.values()]
            yield "routes of the API", name, len(operations)
            used = [json.dumps(operation["x-amazon-apigateway-integration"]) for operation in operations]
            shared = {text for text in used if "$ref" in text}
            yield "integrations of the API", name, len(shared) + sum("$ref" not in text for text in used)
        elif kind == "AWS::DynamoDB::Table":
            yield "indexes of the table", name, len(of.get("GlobalSecondaryIndexes", []))
        elif kind == "AWS::SQS::Queue" and "QueueName" in of:
            yield "name of a queue", name, len(names.of(of["QueueName"]))
        elif kind == "AWS::StepFunctions::StateMachine":
            yield "name of a state machine", name, len(names.of(of["StateMachineName"]))
        elif kind == "AWS::Scheduler::ScheduleGroup":
            yield "name of a group of schedules", name, len(names.of(of["Name"]))
        elif kind == "AWS::Cognito::UserPool":
            yield "name of the user pool", name, len(names.of(of["UserPoolName"]))
        elif kind == "AWS::CloudTrail::Trail":
            yield "name of a trail", name, len(names.of(of["TrailName"]))
    for function, of in permissions.items():
        logical = ", ".join(sorted({str(permission["FunctionName"].get("Ref")) for _, permission in of}))
        yield "resource policy of a function", logical, size(function_policy(names, of))
    for resource in source["Resources"].values():
        if isinstance(resource, dict) and resource.get("Type") == "AWS::Serverless::StateMachine":
            file = resource["Properties"]["DefinitionUri"]
            yield "definition of a state machine", file, Path(file).stat().st_size


def complaints(source, text, template, values):
    """What is above its share of a limit, and limits that nothing was measured against."""
    seen = set()
    for of, where, much in measured(source, text, template, values):
        if much:
            seen.add(of)
        most = LIMITS[of]["most"]
        if much > SHARE * most:
            yield f"{of}, {where}: {much} of {most} {LIMITS[of]['unit']}"
    for name, resource in template["Resources"].items():
        if "'Statement'" in str(resource) and resource["Type"] not in WITH_POLICY:
            yield f"the policy of {name} has no limit here"
    for of in set(LIMITS) - seen:
        yield f"nothing was measured against the limit of: {of}"


def largest(source, text, template, values):
    """The largest measurement of each limit, as lines of text."""
    found = {}
    for of, where, much in measured(source, text, template, values):
        if much >= found.get(of, ("", -1))[1]:
            found[of] = (where, much)
    for of, (where, much) in found.items():
        most = LIMITS[of]["most"]
        yield f"{100 * much / most:5.1f} %  {much} of {most} {LIMITS[of]['unit']}: {of}{where and f', {where}'}"
