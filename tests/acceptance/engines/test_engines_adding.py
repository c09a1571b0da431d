"""Documents come in by the command and over HTTP, again, and changed."""

from pathlib import Path

from acceptance.engines.conftest import LIBRARY
from acceptance.engines.instance import Caller, Instance
from acceptance.engines.material import CERTIFICATES, FILES, FOLDER, NOTES, PUMPS, write_files


def test_a_folder_is_there_as_it_was_given(instance: Instance, owner: Caller, library: str) -> None:
    listed = instance.cli("documents", "list", "--space", LIBRARY)
    served = owner.ok("GET", f"/spaces/{library}/documents")["items"]
    assert {item["id"] for item in listed} == {item["id"] for item in served}
    assert {item["source"] for item in served} == {f"{FOLDER}/{name}" for name in FILES}
    assert {item["status"] for item in served} == {"READY"}
    pumps = next(item for item in served if item["source"].endswith("pumps.md"))
    assert pumps["metadata"]["tags"] == ["泵", "pump"]


def test_what_is_unchanged_is_left_alone(instance: Instance, tmp_path: Path) -> None:
    """The same files elsewhere are other documents; the same paths are not."""
    place = write_files(tmp_path)
    first = instance.cli("add", place, "--space", "default", "--include", "*.md")
    again = instance.cli("add", place, "--space", "default", "--include", "*.md")
    assert (len(first["added"]), len(first["skipped"])) == (2, len(FILES) - 2)
    assert (again["added"], again["updated"], len(again["unchanged"])) == ([], [], 2)


def test_uploaded_it_is_read_to_the_letter(owner: Caller) -> None:
    space = owner.space("uploaded")
    certificates = owner.add(space, "证书.md", CERTIFICATES)
    lines = owner.ok("GET", f"/documents/{certificates}/lines")
    assert lines["lines"] == CERTIFICATES.rstrip("\n").split("\n")
    again = owner.upload(space, "证书.md", CERTIFICATES)
    assert (again["outcome"], again["jobs"]) == ("unchanged", [])
    assert again["document"]["id"] == certificates
    original = owner.call("GET", f"/documents/{certificates}/original")
    assert original.content == CERTIFICATES.encode()


def test_a_new_version_takes_the_place_of_the_old_one(owner: Caller) -> None:
    space = owner.space("versions")
    first = owner.add(space, "pumps.md", PUMPS)
    added = owner.upload(space, "pumps.md", PUMPS.replace("blue pump", "violet pump"))
    assert (added["outcome"], added["document"]["id"]) == ("updated", first)
    owner.settle(space)
    found = owner.ok("POST", "/search", {"query": "violet pump", "space_ids": [space]})["items"]
    assert "violet pump" in found[0]["text"]
    old = owner.ok("POST", "/search", {"query": "blue", "space_ids": [space], "routes": {"vector": 0}})
    assert all("blue" not in item["text"] for item in old["items"])
    assert len(owner.ok("GET", f"/spaces/{space}/documents")["items"]) == 1


def test_removed_it_is_found_no_more(instance: Instance, owner: Caller) -> None:
    space = owner.space("removals")
    gone, kept = owner.add(space, "gone.txt", NOTES), owner.add(space, "kept.md", PUMPS)
    instance.cli("documents", "remove", gone)
    assert owner.call("GET", f"/documents/{gone}").status_code == 404
    found = owner.ok("POST", "/search", {"query": "锅炉房 boiler house", "space_ids": [space]})["items"]
    assert {item["document_id"] for item in found} == {kept}
    assert owner.call("DELETE", f"/spaces/{space}").status_code == 204
    assert owner.ok("POST", "/search", {"query": "boiler house pump oiled", "k": 50})["items"]
    assert owner.call("GET", f"/documents/{kept}").status_code == 404
