"""At the end, after all that was done to the instance: everything is proved, and nothing is amiss."""

import signal

from acceptance.engines.instance import Caller, Instance


def test_every_document_of_the_instance_is_proved(instance: Instance, owner: Caller) -> None:
    for space in owner.ok("GET", "/spaces")["items"]:
        owner.settle(space["id"])
    report = instance.cli("verify")
    assert report["faults"] == []
    assert report["verified"] == report["documents"] > 10
    assert instance.cli("gc")["removed"] >= 0
    assert instance.cli("verify")["faults"] == []


def test_the_doctor_finds_nothing(instance: Instance) -> None:
    checks = {check["name"]: check for check in instance.cli("doctor")}
    assert [check for check in checks.values() if check["state"] == "problem"] == []
    assert checks["database"]["state"] == checks["index"]["state"] == "ok"


def test_processes_end_when_asked(instance: Instance) -> None:
    for name in list(instance.processes):
        assert instance.end(name) in (0, -signal.SIGTERM), instance.log(name).read_text()
        said = instance.log(name).read_text().split("\n")
        assert not any(line.startswith("Traceback") for line in said)  # what is logged is another matter
