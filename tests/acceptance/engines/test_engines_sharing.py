"""Several people on one instance: roles in a space, and walls around it."""

from acceptance.engines.instance import Caller, Instance
from acceptance.engines.material import CERTIFICATES, PUMPS


def _join(instance: Instance, name: str) -> Caller:
    return instance.client(instance.cli("users", "add", name)["token"])


def test_roles_in_a_space(instance: Instance, owner: Caller) -> None:
    space = owner.space("共享 shared")
    document = owner.add(space, "证书.md", CERTIFICATES)
    viewer, editor, stranger = (_join(instance, name) for name in ("读者", "Editor", "Stranger"))
    instance.cli("spaces", "share", "共享 shared", "读者", "--role", "viewer")
    owner.ok("PUT", f"/spaces/{space}/members", {"user": "Editor", "role": "editor"})
    assert len(owner.ok("GET", f"/spaces/{space}/members")["items"]) == 3
    question = {"query": "叶子证书 轮换"}
    for person in (viewer, editor):
        found = person.ok("POST", "/search", question)["items"]
        assert {hit["document_id"] for hit in found} == {document}
    assert stranger.ok("POST", "/search", question)["items"] == []
    assert stranger.call("GET", f"/documents/{document}").status_code == 404
    path = f"/spaces/{space}/documents"
    refused = viewer.call("POST", path, params={"filename": "x.md"}, content=PUMPS.encode())
    assert refused.status_code == 403
    editor.add(space, "pumps.md", PUMPS)
    assert viewer.ok("POST", "/search", {"query": "blue pump oiled"})["items"]
    members = owner.ok("GET", f"/spaces/{space}/members")["items"]
    left = next(item["user_id"] for item in members if item["user_name"] == "读者")
    assert owner.call("DELETE", f"/spaces/{space}/members/{left}").status_code == 204
    assert viewer.ok("POST", "/search", question)["items"] == []
