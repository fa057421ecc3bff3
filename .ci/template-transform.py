"""Transforms template.yaml as CloudFormation does, language extensions first and SAM second, for each
environment of samconfig.toml. Offline and without credentials.

Holds what only the transformed template shows: nothing of SAM is left, no role was added, every function is
inside the boundary, nothing waits for itself, a changed parameter publishes a version of every function that
knows it, and each tenant has its schedules.

cfn-lint is not asked about the result: given the source it makes the same transforms itself.
"""

import json
import logging
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

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
# CloudFormation's and IAM's own limits.
RESOURCES_MAX = 500
POLICY_MAX = 6144


def transform(text, parameters):
    """The template after both transforms, with `parameters` set."""
    values = dict(IntrinsicsSymbolTable.DEFAULT_PSEUDO_PARAM_VALUES, **parameters)
    template = expand_language_extensions(yaml_parse(text), values, enabled=True).expanded_template
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
        return set(re.findall(r"\$\{([A-Za-z0-9]+)", value))
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
    boundary = json.dumps(resources["FunctionBoundary"]["Properties"]["PolicyDocument"], separators=(",", ":"))
    if len(boundary) > POLICY_MAX:
        yield f"the boundary has {len(boundary)} characters of {POLICY_MAX}"
    if len(resources) > RESOURCES_MAX:
        yield f"{len(resources)} resources of {RESOURCES_MAX}"
    waits = {name: mentioned(resource) & set(resources) for name, resource in resources.items()}
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as cycle:
        yield f"these wait for each other: {', '.join(cycle.args[1])}"


def environments(samconfig):
    """The parameters of every environment that can be deployed."""
    for name, tables in tomlkit.parse(samconfig).unwrap().items():
        if isinstance(tables, dict) and "deploy" in tables:
            pairs = tables["deploy"]["parameters"]["parameter_overrides"]
            # As `sam deploy` reads them: it takes no empty value.
            yield name, CfnParameterOverridesType().convert(pairs, None, None)


def versions(text, parameters):
    """The functions' versions: the id of each holds a hash of what it is made from."""
    return set(of_type(transform(text, parameters), "AWS::Lambda::Version"))


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
        template = transform(text, {**OPTIONAL, **parameters})
        found += [f"{name}: {what}" for what in complaints(template, set(source["Resources"]))]
        print(f"template: {name} has {len(template['Resources'])} resources")

    for kept in versions(text, OPTIONAL) & versions(text, {**OPTIONAL, "TableOverride": "restored"}):
        # Those that know no table.
        if not kept.startswith(("TokenClaims", "ReconcileExport")):
            found.append(f"another table leaves {kept} as it is")
    tenants = {"Tenants": "aoba,kaede,minato-ku"}
    for migrating, ticks in (("NONE", 12), ("aoba,minato-ku", 14)):
        made = schedules(transform(text, {**tenants, "MigratingTenants": migrating}), migrating != "NONE")
        if len(made) != ticks:
            found.append(f"three tenants, of whom {migrating} migrate, have the schedules {sorted(made)}")

    for what in found:
        print(f"template: {what}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
