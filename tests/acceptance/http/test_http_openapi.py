"""The description of the API is valid, complete and true."""

from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate

from acceptance.http.operations import operations
from acceptance.http.world import World

PROBLEM = "application/problem+json"
DOCUMENTED = {"401", "403", "404", "413", "422"}


@pytest.fixture(scope="module")
def document(world: World) -> dict[str, Any]:
    """The description as a client gets it, without a token."""
    found: dict[str, Any] = world.served.client().get("/api/v1/openapi.json").json()
    return found


APART = {"test_credential", "job_events"}  # one waits for somebody else, the other is a stream
APART |= {"run_events", "all_job_events", "add_address"}
OPEN_FORMS = {"ChatIn", "RecallIn"}  # of another protocol, whose clients send more than we know
APART |= {"get_original", "get_asset", "get_crawl_picture"}  # bytes
ADMINS = {"list_users", "create_user", "list_evaluations", "metrics"}
CONTROLS = {"pause_job", "resume_job", "cancel_job", "decide_approval"}  # what is at hand has ended


def _check(document: dict[str, Any], schema: dict[str, Any], value: Any) -> list[str]:
    """What is wrong with a value, by a schema of the document."""
    whole = {**schema, "components": document["components"]}
    return [error.message for error in OAS31Validator(whole).iter_errors(value)]


def test_it_is_valid(document: dict[str, Any], world: World) -> None:
    validate(document)
    assert document == world.served.api.openapi()
    assert document["openapi"].startswith("3.1")


def test_every_operation_is_described(world: World) -> None:
    known = operations(world.served.api)
    assert len({operation.name for operation in known}) == len(known)
    for operation in known:
        schema = operation.schema
        assert schema["summary"], operation.name
        assert schema["description"].endswith("."), operation.name
        assert len(schema["tags"]) == 1, operation.name
        if operation.name == "healthz":
            continue
        assert schema["security"] == [{"HTTPBearer": []}], operation.name
        assert set(schema["responses"]) >= DOCUMENTED, operation.name


def test_problems_are_described_under_their_own_type(world: World) -> None:
    for operation in operations(world.served.api):
        for status, response in operation.schema["responses"].items():
            if status.startswith(("4", "5")):
                schema = {"$ref": "#/components/schemas/Problem"}
                assert response["content"] == {PROBLEM: {"schema": schema}}, (operation.name, status)


def test_every_form_and_every_parameter_has_an_example(document: dict[str, Any], world: World) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["Problem"]["example"]
    for operation in operations(world.served.api):
        for parameter in operation.schema.get("parameters", []):
            if parameter["in"] == "path":
                assert parameter["schema"]["examples"], (operation.name, parameter["name"])
        body = operation.schema.get("requestBody")
        if body and "application/json" in body["content"]:
            name = body["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
            examples = [field for field in schemas[name]["properties"].values() if field.get("examples")]
            assert examples, name
            allowed = schemas[name].get("additionalProperties", True)
            assert allowed is (name in OPEN_FORMS), name


def test_every_example_is_true(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        for field, part in schema.get("properties", {}).items():
            for example in part.get("examples", []):
                assert _check(document, part, example) == [], (name, field)
        if "example" in schema:
            assert _check(document, schema, schema["example"]) == [], name


def test_answers_have_the_form_that_is_described(document: dict[str, Any], world: World) -> None:
    for operation in operations(world.served.api):
        if operation.method not in ("GET", "POST") or operation.name in APART:
            continue
        body = operation.bodies(world.own)[-1]
        if operation.name in ("create_space", "create_user", "create_agent"):
            body = {"name": f"described {world.served.settings.database[:6]}"}
        answer = world.stranger.call(operation.method, operation.fill(world.own), body)
        described = operation.schema["responses"][str(answer.status_code)]["content"]
        kind = answer.headers["content-type"]
        assert _check(document, described[kind]["schema"], answer.json()) == [], operation.name
        allowed = operation.name not in {*ADMINS, *CONTROLS}
        assert answer.is_success or not allowed, operation.name


def test_every_kind_of_answer_is_described(world: World) -> None:
    known = {operation.name: operation.schema["responses"] for operation in operations(world.served.api)}
    for name in ("job_events", "all_job_events", "run_events"):
        assert set(known[name]["200"]["content"]) == {"text/event-stream"}, name
    assert {"image/png", "application/octet-stream"} <= set(known["get_asset"]["200"]["content"])
    for name in ("test_credential", "add_address"):  # somebody else may not answer
        assert "502" in known[name], name
