"""Compares two OpenAPI documents. What a client of the first sends must still be accepted by the second, what it gets
must still match what it reads, and a client generated anew must still have the same names. Additions are not breaks.

    compatibility.py BEFORE AFTER         prints each break, and fails if there is one
    compatibility.py --self-test CURRENT  plants breaks and additions, and fails unless each is classified correctly

Problem codes may be added: a client reads `status` where it gets a code that it does not know. No other closed list of
an answer may grow.
"""

import copy
import json
import sys

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# (member of a schema, whether a greater value allows less)
BOUNDS = {"minLength": True, "minItems": True, "minimum": True, "exclusiveMinimum": True, "minProperties": True,
          "maxLength": False, "maxItems": False, "maximum": False, "exclusiveMaximum": False, "maxProperties": False}


class Comparison:
    """The breaks between two documents."""

    def __init__(self, old, new):
        self.old, self.new, self.breaks, self.seen = old, new, [], set()

    def say(self, at, what):
        self.breaks.append(f"{at}: {what}")

    def resolve(self, document, value):
        while isinstance(value, dict) and "$ref" in value:
            found = document
            for part in value["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            value = found
        return value

    def compare(self):
        for path, item in self.old["paths"].items():
            for method in METHODS:
                if method in item:
                    at = f"{method.upper()} {path}"
                    new = self.new["paths"].get(path, {}).get(method)
                    if new is None:
                        self.say(at, "the operation is gone")
                    else:
                        self.operation(at, item[method], new)
        return self.breaks

    def operation(self, at, old, new):
        for member in ("operationId", "x-operation"):
            if old.get(member) != new.get(member):
                self.say(at, f"{member} was {old.get(member)} and is {new.get(member)}")
        # Generators name a client's modules by the tag.
        if old.get("tags", [])[:1] != new.get("tags", [])[:1]:
            self.say(at, f"the tag was {old.get('tags')} and is {new.get('tags')}")
        self.security(at, old, new)
        self.parameters(at, old, new)
        self.request_body(at, old.get("requestBody"), new.get("requestBody"))
        for status, response in old["responses"].items():
            if status not in new["responses"]:
                self.say(at, f"the status {status} is gone")
            else:
                self.response(f"{at} {status}", response, new["responses"][status])
        for status in new["responses"].keys() - old["responses"].keys():
            if status.startswith(("2", "3")):
                self.say(at, f"the success {status} is added: a client does not know it as a success")

    def security(self, at, old, new):
        def of(document, operation):
            needs = operation.get("security", document.get("security", []))
            schemes = document["components"]["securitySchemes"]
            return [{name: (schemes[name]["type"], schemes[name].get("in"), schemes[name].get("name"),
                            schemes[name].get("scheme")) for name in need} for need in needs]

        before, after = of(self.old, old), of(self.new, new)
        if any(need not in after for need in before):
            self.say(at, f"callers identified themselves by {before}, and identify themselves by {after}")

    def parameters(self, at, old, new):
        def of(document, operation):
            all_ = (self.resolve(document, one) for one in operation.get("parameters", []))
            return {(one["in"], one["name"].lower()): one for one in all_}

        before, after = of(self.old, old), of(self.new, new)
        for key, parameter in before.items():
            name = f"{at} {key[0]} parameter {key[1]}"
            if key not in after:
                self.say(name, "it is gone")
                continue
            if after[key].get("required") and not parameter.get("required"):
                self.say(name, "it is required")
            self.request(name, parameter.get("schema", {}), after[key].get("schema", {}))
        for key in after.keys() - before.keys():
            if after[key].get("required"):
                self.say(f"{at} {key[0]} parameter {key[1]}", "it is added and required")

    def request_body(self, at, old, new):
        old, new = self.resolve(self.old, old), self.resolve(self.new, new)
        if old is None:
            if new is not None and new.get("required"):
                self.say(at, "a body is required")
            return
        if new is None:
            self.say(at, "the request's body is gone")
            return
        if new.get("required") and not old.get("required"):
            self.say(at, "the body is required")
        for media_type, content in old["content"].items():
            if media_type not in new["content"]:
                self.say(at, f"requests of {media_type} are not accepted")
            else:
                schema = new["content"][media_type].get("schema", {})
                self.names(f"{at} request", content.get("schema", {}), schema)
                self.request(f"{at} request", content.get("schema", {}), schema)

    def response(self, at, old, new):
        old, new = self.resolve(self.old, old), self.resolve(self.new, new)
        headers = {name.lower(): self.resolve(self.new, header) for name, header in new.get("headers", {}).items()}
        for name, header in old.get("headers", {}).items():
            header, after = self.resolve(self.old, header), headers.get(name.lower())
            if after is None:
                self.say(f"{at} header {name}", "it is gone")
                continue
            if header.get("required") and not after.get("required"):
                self.say(f"{at} header {name}", "it may be absent")
            self.answer(f"{at} header {name}", header.get("schema", {}), after.get("schema", {}))
        for media_type, content in old.get("content", {}).items():
            if media_type not in new.get("content", {}):
                self.say(at, f"it is not answered as {media_type}")
            else:
                before, schema = content.get("schema", {}), new["content"][media_type].get("schema", {})
                # Problem documents of an operation get another name when a code is added.
                if media_type == "application/json":
                    self.names(f"{at} body", before, schema)
                self.answer(f"{at} body", before, schema)

    def names(self, at, old, new):
        """Generators name a client's types by the schemas."""
        if "$ref" in old and old["$ref"] != new.get("$ref"):
            self.say(at, f"the schema was {old['$ref']} and is {new.get('$ref')}")

    # Schemas: `request` is what a client may send, `answer` what it may get.

    def request(self, at, old, new):
        self.schema(at, old, new, True)

    def answer(self, at, old, new):
        self.schema(at, old, new, False)

    def schema(self, at, old, new, is_request, is_code=False):
        # One pair is compared once for each direction: a schema of many operations is named by the first.
        pair = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), is_request, is_code)
        if "$ref" in old and pair in self.seen:
            return
        self.seen.add(pair)
        old, new = self.resolve(self.old, old), self.resolve(self.new, new)
        self.types(at, old, new, is_request)
        self.words(at, old, new, is_request, is_code)
        self.forms(at, old, new, is_request)
        self.bounds(at, old, new, is_request)
        self.members(at, old, new, is_request)
        for member in ("items", "additionalProperties", "propertyNames"):
            before, after = old.get(member), new.get(member)
            if isinstance(before, dict) and isinstance(after, dict):
                self.schema(f"{at} {member}", before, after, is_request)
            elif member == "additionalProperties" and before not in (None, after):
                narrowed = after is False if is_request else before is False
                if narrowed or (is_request and isinstance(after, dict)):
                    self.say(at, f"additionalProperties was {before} and is {after}")
            elif member == "additionalProperties" and before is None and after is False and is_request:
                self.say(at, "unknown fields are refused")
        for member in ("allOf", "oneOf", "anyOf"):
            self.parts(at, member, old.get(member, []), new.get(member, []), is_request)

    def types(self, at, old, new, is_request):
        def of(schema):
            kind = schema.get("type")
            return None if kind is None else set(kind if isinstance(kind, list) else [kind])

        before, after = of(old), of(new)
        if before is None and after is None:
            return
        if before is None or after is None:
            self.say(at, f"the type was {old.get('type')} and is {new.get('type')}")
        elif not (after >= before if is_request else after <= before):
            self.say(at, f"the type was {sorted(before)} and is {sorted(after)}")

    def words(self, at, old, new, is_request, is_code):
        def of(schema):
            return [schema["const"]] if "const" in schema else schema.get("enum")

        before, after = of(old), of(new)
        if before is None and after is None:
            return
        if before is None:
            if is_request:
                self.say(at, f"only {after} are accepted")
            return
        if after is None:
            if not is_request:
                self.say(at, f"the closed list {before} is open")
            return
        gone, added = [one for one in before if one not in after], [one for one in after if one not in before]
        if gone and (is_request or is_code):
            self.say(at, f"{gone} of the closed list are gone")
        if added and not is_request and not is_code:
            self.say(at, f"{added} are added to the closed list of an answer")

    def forms(self, at, old, new, is_request):
        for member in ("pattern", "format"):
            before, after = old.get(member), new.get(member)
            if before == after:
                continue
            if is_request and after is not None:
                self.say(at, f"{member} was {before} and is {after}: what was accepted may be refused")
            elif not is_request and (before is not None or member == "format"):
                # Generators make another type of a field that gets a format.
                self.say(at, f"{member} was {before} and is {after}: clients may not read what is answered")
        if is_request and "default" in old and old.get("default") != new.get("default"):
            self.say(at, f"absent meant {old.get('default')} and means {new.get('default')}")

    def bounds(self, at, old, new, is_request):
        for member, is_least in BOUNDS.items():
            before, after = old.get(member), new.get(member)
            if before == after:
                continue
            if is_request:
                narrowed = after is not None and (before is None or (after > before) == is_least)
            else:
                narrowed = before is not None and (after is None or (after < before) == is_least)
            if narrowed:
                self.say(at, f"{member} was {before} and is {after}")

    def members(self, at, old, new, is_request):
        before, after = old.get("properties", {}), new.get("properties", {})
        needed, needs = set(old.get("required", [])), set(new.get("required", []))
        for name, member in before.items():
            place = f"{at}.{name}"
            if name not in after:
                self.say(place, "the field is gone")
                continue
            self.schema(place, member, after[name], is_request, name == "code" and not is_request)
        if is_request:
            for name in sorted(needs - needed):
                self.say(f"{at}.{name}", "it is required")
        else:
            for name in sorted(needed - needs):
                self.say(f"{at}.{name}", "it may be absent")

    def parts(self, at, member, old, new, is_request):
        if len(new) < len(old) and (is_request or member == "allOf"):
            self.say(at, f"{member} had {len(old)} parts and has {len(new)}")
        if len(new) > len(old) and (not is_request or member == "allOf"):
            self.say(at, f"{member} had {len(old)} parts and has {len(new)}")
        for place, (before, after) in enumerate(zip(old, new)):
            self.schema(f"{at} {member}[{place}]", before, after, is_request)


def breaks(old, new):
    return Comparison(old, new).compare()


# What is planted to see that it is found: each changes a document, and says where the break must be found.

PAY, TOPUP, ME = "/v1/me/payments", "/v1/me/topups", "/v1/me"
PROBLEM = "application/problem+json"


def schemas(document):
    return document["components"]["schemas"]


def field(document, schema, name):
    return schemas(document)[schema]["properties"][name]


def codes_of_pay(document):
    refused = document["paths"][PAY]["post"]["responses"]["400"]["content"][PROBLEM]["schema"]
    return refused["allOf"][1]["properties"]["code"]["enum"]


def breaks_to_plant():
    return [
        ("an operation is removed", lambda d: d["paths"].pop(PAY), "POST /v1/me/payments: the operation is gone"),
        ("an operation changes its name", lambda d: d["paths"][PAY]["post"].update(operationId="pay"), "operationId"),
        ("a key is scoped to another operation", lambda d: d["paths"][PAY]["post"].update({"x-operation": "charge"}),
         "x-operation"),
        ("a status is removed", lambda d: d["paths"][PAY]["post"]["responses"].pop("409"), "the status 409 is gone"),
        ("a success is added", lambda d: d["paths"][PAY]["post"]["responses"].update({"202": {"description": "x"}}),
         "the success 202 is added"),
        ("a code is removed", lambda d: codes_of_pay(d).remove("insufficient_balance"), "insufficient_balance"),
        ("a pattern is narrowed", lambda d: schemas(d)["AmountText"].update(pattern="^[1-9][0-9]{0,5}$"), "pattern"),
        ("a pattern is added to a request", lambda d: field(d, "CustomerOpenBody", "phone").update(pattern="^0"),
         "pattern was None"),
        ("maxLength is lowered", lambda d: field(d, "PayBody", "memo").update(maxLength=100), "maxLength was 140"),
        ("minimum is raised", lambda d: field(d, "PassBody", "customers_per_second").update(minimum=10), "minimum"),
        ("maximum is lowered", lambda d: d["paths"]["/v1/me/transactions"]["get"]["parameters"][0]["schema"].update(
            maximum=50), "maximum was 100"),
        ("an absent parameter means something else", lambda d: d["paths"]["/v1/me/transactions"]["get"]["parameters"][0][
            "schema"].update(default=50), "absent meant 20"),
        ("a word of a request is removed", lambda d: schemas(d)["AdjustmentReason"]["enum"].remove("goodwill"),
         "['goodwill'] of the closed list are gone"),
        ("a word of an answer is added", lambda d: schemas(d)["PaymentStatus"]["enum"].append("disputed"),
         "['disputed'] are added"),
        ("a closed list of an answer is opened", lambda d: schemas(d)["RunStatus"].pop("enum"), "is open"),
        ("a field of a request is required", lambda d: schemas(d)["PayBody"]["required"].append("memo"),
         ".memo: it is required"),
        ("a new field of a request is required", lambda d: (
            schemas(d)["TopupBody"]["properties"].update(source={"type": "string"}),
            schemas(d)["TopupBody"]["required"].append("source")), ".source: it is required"),
        ("a field of a request is removed", lambda d: schemas(d)["PayBody"]["properties"].pop("points"),
         ".points: the field is gone"),
        ("a field of an answer is removed", lambda d: schemas(d)["PaymentView"]["properties"].pop("co2_kg"),
         ".co2_kg: the field is gone"),
        ("a field of an answer may be absent", lambda d: schemas(d)["PaymentView"]["required"].remove("amount"),
         ".amount: it may be absent"),
        ("the type of an answer's field changes", lambda d: field(d, "PaymentView", "amount").update(type="number"),
         "the type was ['string'] and is ['number']"),
        ("an answer's field may be null", lambda d: field(d, "HistoryView", "memo").update(type=["string", "null"]),
         "the type was ['string'] and is ['null', 'string']"),
        ("an operation moves to another tag", lambda d: d["paths"][ME]["get"].update(tags=["wallet"]), "the tag was"),
        ("the schema of an answer is renamed", lambda d: d["paths"][PAY]["post"]["responses"]["201"].update(
            content={"application/json": {"schema": {"allOf": [{"$ref": "#/components/schemas/PaymentView"}]}}}),
         "the schema was #/components/schemas/PaymentView"),
        ("an answer's field gets a format", lambda d: field(d, "TopupView", "payment_intent_id").update(format="uuid"),
         "format was None"),
        ("the format of an answer's field changes", lambda d: field(d, "PaymentView", "created_at").update(
            format="date"), "format was date-time"),
        ("null does not clear a field", lambda d: field(d, "ProfileBody", "email").update(type="string"),
         "the type was ['null', 'string'] and is ['string']"),
        ("a header is required", lambda d: d["paths"][ME]["get"].setdefault("parameters", []).append(
            {"in": "header", "name": "X-Version", "required": True, "schema": {"type": "string"}}),
         "it is added and required"),
        ("a parameter is removed", lambda d: d["paths"]["/v1/me/transactions"]["get"]["parameters"].pop(), "it is gone"),
        ("the pattern of the key is narrowed", lambda d: d["paths"][PAY]["post"]["parameters"][0]["schema"].update(
            pattern="^[0-9a-f-]{36}$"), "idempotency-key: pattern"),
        ("an answer's header is removed", lambda d: d["paths"][PAY]["post"]["responses"]["201"]["headers"].pop(
            "Location"), "header Location: it is gone"),
        ("an answer's header may be absent", lambda d: d["components"]["headers"]["RequestId"].pop("required"),
         "it may be absent"),
        ("another content type is answered", lambda d: d["paths"][PAY]["post"]["responses"]["201"].update(
            content={"text/plain": {"schema": {"type": "string"}}}), "it is not answered as application/json"),
        ("callers identify themselves in another way", lambda d: d["paths"]["/v1/terminal/totals"]["get"].update(
            security=[{"bearer": []}]), "callers identified themselves"),
        ("an open operation needs a token", lambda d: d["paths"]["/v1/terminal/enrolments"]["post"].pop("security"),
         "callers identified themselves"),
        ("fewer items are accepted", lambda d: field(d, "GrantBody", "customer_ids").update(maxItems=1000),
         "maxItems was 1500"),
        ("an alternative of a request is removed", lambda d: schemas(d)["DestinationBody"]["oneOf"].pop(),
         "oneOf had 2 parts"),
    ]


def additions_to_plant():
    return [
        ("nothing", lambda d: None),
        ("an operation", lambda d: d["paths"].update({"/v1/me/another": {"get": d["paths"][ME]["get"]}})),
        ("an optional field of a request", lambda d: schemas(d)["PayBody"]["properties"].update(
            tip={"type": "string"})),
        ("a field of an answer", lambda d: (schemas(d)["PaymentView"]["properties"].update(tip={"type": "string"}),
                                            schemas(d)["PaymentView"]["required"].append("tip"))),
        ("an optional parameter", lambda d: d["paths"]["/v1/me/transactions"]["get"]["parameters"].append(
            {"in": "query", "name": "from", "schema": {"type": "string"}})),
        ("a code", lambda d: codes_of_pay(d).append("limit_exceeded")),
        ("a refusal", lambda d: d["paths"][PAY]["post"]["responses"].update(
            {"451": d["paths"][PAY]["post"]["responses"]["400"]})),
        ("a word of a request", lambda d: schemas(d)["AdjustmentReason"]["enum"].append("other")),
        ("a longer memo", lambda d: field(d, "PayBody", "memo").update(maxLength=500)),
        ("a header of an answer", lambda d: d["paths"][ME]["get"]["responses"]["200"]["headers"].update(
            {"ETag": {"schema": {"type": "string"}}})),
        ("another text", lambda d: d["paths"][ME]["get"].update(summary="Another text.")),
    ]


def self_test(document):
    failed = 0
    for name, change, where in breaks_to_plant():
        changed = copy.deepcopy(document)
        change(changed)
        found = breaks(document, changed)
        if not any(where in one for one in found):
            failed += 1
            print(f"not found: {name}: {found}")
    for name, change in additions_to_plant():
        changed = copy.deepcopy(document)
        change(changed)
        found = breaks(document, changed)
        # Requests and answers share the list: for an answer, the word is a break.
        if name == "a word of a request":
            found = [one for one in found if "answer" not in one]
        if found:
            failed += 1
            print(f"an addition, and found as a break: {name}: {found}")
    planted, added = len(breaks_to_plant()), len(additions_to_plant())
    print(f"planted: {planted} breaks and {added} additions, of which {failed} were classified wrongly")
    return failed


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    if sys.argv[1] == "--self-test":
        return 1 if self_test(read(sys.argv[2])) else 0
    found = breaks(read(sys.argv[1]), read(sys.argv[2]))
    for one in found:
        print(one)
    print(f"compatibility: {len(found)} breaks")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
