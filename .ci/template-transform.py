"""Transforms template.yaml as CloudFormation does, language extensions first and SAM second, for each
environment of samconfig.toml. Offline and without credentials.

Holds what only the transformed template shows: nothing of SAM is left, no role was added, every function is
inside the boundary, nothing waits for itself, every route has its own API's authorizer, a changed parameter
publishes a version of every function that knows it, each tenant has its schedules, and nothing comes near a limit
of AWS's (template_limits.py). Then it plants mistakes, each of which must be found.

cfn-lint is not asked about the result: given the source it makes the same transforms itself.

With --sizes it prints how large everything is that has a limit.
"""

import copy
import logging
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import template_limits
import tomlkit
from boto3.session import Session
from samcli.cli.types import CfnParameterOverridesType
from samcli.lib.cfn_language_extensions.sam_integration import expand_language_extensions
from samcli.lib.intrinsic_resolver.intrinsics_symbol_table import IntrinsicsSymbolTable
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

# What is there only where it is asked for is looked at as well: of the rest the transform leaves half.
OPTIONAL = {"ExportReconciliation": "yes"}


def transform(source, parameters):
    """The template after both transforms, with `parameters` set."""
    values = dict(IntrinsicsSymbolTable.DEFAULT_PSEUDO_PARAM_VALUES, **parameters)
    template = expand_language_extensions(copy.deepcopy(source), values, enabled=True).expanded_template
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            # What `sam deploy` has uploaded by then.
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
        if resource["Type"] == "AWS::Serverless::StateMachine":
            resource["Properties"]["DefinitionUri"] = "s3://bucket/key"
    translator = Translator({}, Parser(), boto_session=Session(region_name=values["AWS::Region"]))
    return translator.translate(template, parameters, get_managed_policy_map=dict)


def mentioned(value):
    """The logical ids that some part of a template waits for."""
    if isinstance(value, str):
        # Inside a Join the transform leaves a Ref as text; a function's alias is a resource that SAM makes.
        aliases = {f"{name}Aliaslive" for name in re.findall(r"'Ref': '([A-Za-z0-9]+)\.Alias'", value)}
        return aliases | set(re.findall(r"\$\{([A-Za-z0-9]+)", value))
    if isinstance(value, list):
        return {name for part in value for name in mentioned(part)}
    if not isinstance(value, dict):
        return set()
    found = {name for part in value.values() for name in mentioned(part)}
    for named in (value.get("Ref"), value.get("Fn::GetAtt"), value.get("DependsOn")):
        if isinstance(named, str):
            found.add(named.split(".")[0])
        elif isinstance(named, list):
            found |= {name for name in named if isinstance(name, str)}
    return found


def of_type(template, kind):
    return {name: it for name, it in template["Resources"].items() if it["Type"] == kind}


def complaints(template, written):
    """What is wrong with a transformed template; `written` are the logical ids of the source."""
    resources = template["Resources"]
    for name, resource in resources.items():
        if resource["Type"].startswith("AWS::Serverless::"):
            yield f"{name} is still {resource['Type']}"
    for name in set(of_type(template, "AWS::IAM::Role")) - written:
        yield f"the role {name} was added by SAM: its policy is not ours"
    for name, function in of_type(template, "AWS::Lambda::Function").items():
        role = function["Properties"]["Role"]["Fn::GetAtt"][0]
        if resources[role]["Properties"].get("PermissionsBoundary") != {"Ref": "FunctionBoundary"}:
            yield f"{name} has a role without the boundary"
    waits = {name: mentioned(resource) & set(resources) for name, resource in resources.items()}
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as cycle:
        yield f"these wait for each other: {', '.join(cycle.args[1])}"


def authorizer_of(path):
    """The authorizer that a route must have, by its path."""
    owners = {"terminal": "NONE", "webhooks": "NONE", "me": "Customer", "merchant": "Merchant"}
    return owners.get(path.split("/")[2], "Admin")


def unauthorized(template):
    """Routes that accept the tokens of another API's client, or none."""
    (api,) = of_type(template, "AWS::ApiGatewayV2::Api").values()
    body = api["Properties"]["Body"]
    for name, scheme in body["components"]["securitySchemes"].items():
        audience = scheme["x-amazon-apigateway-authorizer"]["jwtConfiguration"]["audience"]
        if audience != [{"Ref": f"{name}Client"}]:
            yield f"the authorizer {name} accepts {audience}"
    for path, operations in body["paths"].items():
        for method, operation in operations.items():
            given = [name for one in operation.get("security", []) for name in one]
            # SAM leaves no security where a route names NONE.
            if (given or ["NONE"]) != [authorizer_of(path)]:
                yield f"{method} {path} has the authorizers {given}"


def environments(samconfig):
    """The parameters of every environment that can be deployed."""
    for name, tables in tomlkit.parse(samconfig).unwrap().items():
        if isinstance(tables, dict) and "deploy" in tables:
            pairs = tables["deploy"]["parameters"]["parameter_overrides"]
            # As `sam deploy` reads them: it takes no empty value.
            yield name, CfnParameterOverridesType().convert(pairs, None, None)


def versions(source, parameters):
    """The functions' versions: the id of each holds a hash of what it is made from."""
    return set(of_type(transform(source, parameters), "AWS::Lambda::Version"))


def most_of(source, values):
    """The largest stack, under the longest name: what is there only without one of these parameters is there."""
    chosen = {"JwtIssuer": "", "TableOverride": "", "LedgerName": "", "RollOut": "canary"}
    return transform(source, {**values, **chosen, **template_limits.PSEUDO})


def oversized(source, text):
    """What comes near a limit, with the longest names that a deployment may have."""
    try:
        values = template_limits.parameters(source)
    except ValueError as error:
        return [str(error)]
    return list(template_limits.complaints(source, text, most_of(source, values), values))


def plant_routes(source):
    """As it was: a route is an event of its function, and SAM makes a permission for each."""
    events = source["Resources"]["AdminFunction"]["Properties"].setdefault("Events", {})
    for number in range(46):
        path = f"/v1/admin/merchants/{{merchant_id}}/planted/{number}"
        route = {"ApiId": {"Ref": "Api"}, "Method": "GET", "Path": path}
        events[f"GetMerchantsOnePlanted{number}"] = {"Type": "HttpApi", "Properties": route}


def plant_statement(source, document, count):
    """A statement that names many resources."""
    arns = [f"arn:aws:sqs:ap-northeast-1:111122223333:planted-queue-{number}" for number in range(count)]
    statement = {"Sid": "Planted", "Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": arns}
    document["Statement"].append(statement)


def plant_alarm(source):
    """More metrics than an alarm may have: those of the workers, twice, beside those of the other functions."""
    resources = source["Resources"]
    metrics = resources["WorkerErrorsAlarm"]["Properties"]["Metrics"][1:]
    resources["FunctionErrorsAlarm"]["Properties"]["Metrics"] += metrics * 2


def properties(source, name):
    return source["Resources"][name]["Properties"]


# What is planted, and what must be said of it.
PLANTED = [
    (plant_routes, "resource policy of a function, AdminFunctionAliaslive: "),
    (
        lambda source: source["Globals"]["Function"]["DeploymentPreference"]["Alarms"]["Fn::If"][1].append(
            {"Ref": "LatencyAlarm"}
        ),
        "alarms of a roll-out, ",
    ),
    (plant_alarm, "metrics of an alarm, FunctionErrorsAlarm: 15 of 10"),
    (lambda source: plant_statement(source, properties(source, "FunctionBoundary")["PolicyDocument"], 40), "managed policy, "),
    (
        lambda source: plant_statement(source, properties(source, "JobsRole")["Policies"][0]["PolicyDocument"], 120),
        "inline policies of a role, JobsRole: ",
    ),
    (
        lambda source: properties(source, "JobsFunction")["Environment"]["Variables"].update(PLANTED="v" * 3300),
        "environment of a function, JobsFunction: ",
    ),
    (
        lambda source: source["Resources"].update(
            {f"Planted{number}": {"Type": "AWS::SNS::Topic"} for number in range(120)}
        ),
        "resources of the stack, : ",
    ),
    (
        lambda source: source["Outputs"].update({f"Planted{number}": {"Value": "a"} for number in range(120)}),
        "outputs, : ",
    ),
    (
        lambda source: source["Resources"].update(
            Planted={"Type": "AWS::SQS::QueuePolicy", "Properties": {"PolicyDocument": {"Statement": []}}}
        ),
        "the policy of Planted has no limit here",
    ),
    (lambda source: source["Parameters"]["KycUrl"].pop("MaxLength"), "the parameter KycUrl has no MaxLength"),
    (
        lambda source: properties(source, "EventQueue").update(
            QueueName={"Fn::Sub": "${AWS::StackName}-events-of-transactions-that-are-published.fifo"}
        ),
        "name of a queue, EventQueue: ",
    ),
]


def unfound(source, text):
    """The planted mistakes that nothing is said of."""
    for change, wanted in PLANTED:
        planted = copy.deepcopy(source)
        change(planted)
        found = oversized(planted, text)
        if not any(what.startswith(wanted) for what in found):
            yield f"planted, and not found: {wanted}: {found}"


def schedules(template, migrations):
    """The schedules that a stack has; those of migrations hang on a condition."""
    ticks = of_type(template, "AWS::Scheduler::Schedule").items()
    return {name for name, tick in ticks if migrations or tick.get("Condition") != "WithMigrations"}


def main():
    # SAM mentions what its service switches elsewhere.
    logging.disable(logging.CRITICAL)
    text = Path("template.yaml").read_text()
    source = yaml_parse(text)
    found = []
    for name, parameters in environments(Path("samconfig.toml").read_text()):
        found += [f"{name} sets {odd}, which is no parameter" for odd in set(parameters) - set(source["Parameters"])]
        template = transform(source, {**OPTIONAL, **parameters})
        found += [f"{name}: {what}" for what in complaints(template, set(source["Resources"]))]
        found += [f"{name}: {what}" for what in unauthorized(template)]
        print(f"template: {name} has {len(template['Resources'])} resources")

    found += oversized(source, text)
    found += unfound(source, text)
    planted = copy.deepcopy(source)
    del properties(planted, "Api")["DefinitionBody"]["paths"]["/v1/me"]["get"]["security"]
    if list(unauthorized(transform(planted, OPTIONAL))) != ["get /v1/me has the authorizers ['Admin']"]:
        found.append("planted, and not found: a customer's route with the operator's authorizer")
    if "--sizes" in sys.argv:
        values = template_limits.parameters(source)
        print("\n".join(sorted(template_limits.largest(source, text, most_of(source, values), values))))

    for kept in versions(source, OPTIONAL) & versions(source, {**OPTIONAL, "TableOverride": "restored"}):
        # Those that know no table.
        if not kept.startswith(("TokenClaims", "ReconcileExport")):
            found.append(f"another table leaves {kept} as it is")
    tenants = {"Tenants": "aoba,kaede,minato-ku"}
    for migrating, ticks in (("NONE", 9), ("aoba,minato-ku", 11)):
        made = schedules(transform(source, {**tenants, "MigratingTenants": migrating}), migrating != "NONE")
        if len(made) != ticks:
            found.append(f"three tenants, of whom {migrating} migrate, have the schedules {sorted(made)}")

    for what in found:
        print(f"template: {what}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
