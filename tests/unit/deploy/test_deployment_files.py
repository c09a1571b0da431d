"""The files for containers, held against rules: what no daemon is needed for."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kosmos.config import Settings, load_settings
from kosmos.doctor import State, inspect

ROOT = Path(__file__).parents[3]
KUBERNETES = ROOT / "deploy" / "kubernetes"
FILES = sorted(KUBERNETES.rglob("*.yaml"))
TAG = re.compile(r"^[\w./-]+:(?!latest$)[\w.-]*\d[\w.-]*$")
ONCE = {"bucket", "upgrade"}  # they end by themselves
PODS = {"Deployment", "StatefulSet", "Job"}
CAPABILITIES = {"drop": ["ALL"]}


def _compose() -> dict[str, Any]:
    """The services of `compose.yaml`."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    return found


def _documents() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in FILES:
        for document in yaml.safe_load_all(path.read_text()):
            yield f"{path.name}/{document['kind']}/{document['metadata']['name']}", document


PARTS = dict(_documents())
WORKLOADS = {name: item for name, item in PARTS.items() if item["kind"] in PODS}
SERVICES = _compose()


def _example() -> dict[str, str]:
    lines = (ROOT / "deploy" / "compose.env.example").read_text().split("\n")
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def _filled(values: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, str]:
    """Variables as compose would fill them."""
    return {
        name: re.sub(r"\$\{(\w+):\?[^}]*\}", lambda match: secrets[match.group(1)], str(value))
        for name, value in values.items()
    }


def _is_known(name: str) -> bool:
    return not name.startswith("KOSMOS_") or name.removeprefix("KOSMOS_").lower() in Settings.model_fields


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_restricted(name: str) -> None:
    service = SERVICES[name]
    assert TAG.match(service["image"]), "a pinned tag"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert int(str(service["user"]).split(":", maxsplit=1)[0]) > 0
    limits = service["deploy"]["resources"]["limits"]
    assert limits["cpus"]
    assert limits["memory"]
    assert "privileged" not in service
    assert name in ONCE or service["healthcheck"]["test"]


def test_only_the_api_is_published_and_only_here() -> None:
    published = {name: item["ports"] for name, item in SERVICES.items() if "ports" in item}
    assert published == {"api": ["127.0.0.1:8420:8420"]}
    networks = yaml.safe_load((ROOT / "compose.yaml").read_text())["networks"]
    assert networks["inside"]["internal"] is True
    for name, item in SERVICES.items():
        assert item["networks"] == (["inside", "outside"] if name in ("api", "worker") else ["inside"]), name


def test_whatever_a_service_waits_for_is_there_and_healthy() -> None:
    for item in SERVICES.values():
        for other, wait in item.get("depends_on", {}).items():
            ends = "service_completed_successfully" if other in ONCE else "service_healthy"
            assert wait["condition"] == ends


def test_no_secret_stands_in_a_file() -> None:
    secrets = _example()
    for item in SERVICES.values():
        for name, value in item.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|TOKEN|ACCESS_KEY|ROOT_USER", name):
                assert re.fullmatch(r"\$\{(\w+):\?[^}]*\}", str(value)), name
    assert set(re.findall(r"\$\{(\w+):\?", (ROOT / "compose.yaml").read_text())) == set(secrets)


@pytest.mark.parametrize("name", ["upgrade", "api", "worker"])
def test_the_environment_of_compose_is_one_that_kosmos_takes(name: str, tmp_path: Path) -> None:
    environ = _filled(SERVICES[name]["environment"], _example())
    assert all(map(_is_known, environ))
    settings = load_settings({**environ, "KOSMOS_HOME": str(tmp_path / "home")})
    checks = inspect(settings)
    assert [check for check in checks if check.state is State.PROBLEM] == []
    assert not settings.embedded
    assert not (tmp_path / "home").exists()  # a dry run makes nothing


def test_every_manifest_has_a_place_and_a_name() -> None:
    assert len(PARTS) > 10
    for name, item in PARTS.items():
        assert item["apiVersion"], name
        namespace = item["metadata"].get("namespace")
        assert namespace == ("kosmos" if item["kind"] != "Namespace" else None), name


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_pod_is_restricted(name: str) -> None:
    pod = WORKLOADS[name]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert not any("hostPath" in volume for volume in pod["volumes"])
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        inner = container["securityContext"]
        assert TAG.match(container["image"])
        assert inner["allowPrivilegeEscalation"] is False
        assert inner["readOnlyRootFilesystem"] is True
        assert inner["capabilities"] == CAPABILITIES
        assert set(container["resources"]) == {"requests", "limits"}
        assert set(container["resources"]["limits"]) == {"cpu", "memory"}
        if WORKLOADS[name]["kind"] != "Job":
            assert container["readinessProbe"]
            assert container["livenessProbe"]


@pytest.mark.parametrize("name", WORKLOADS)
def test_mounts_have_volumes_and_selectors_fit(name: str) -> None:
    spec = WORKLOADS[name]["spec"]
    pod = spec["template"]["spec"]
    volumes = {item["name"] for item in pod["volumes"]}
    volumes |= {item["metadata"]["name"] for item in spec.get("volumeClaimTemplates", [])}
    for container in pod["containers"]:
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    if WORKLOADS[name]["kind"] != "Job":
        wanted = spec["selector"]["matchLabels"].items()
        assert wanted <= spec["template"]["metadata"]["labels"].items()


def test_services_and_budgets_name_pods_that_there_are() -> None:
    labels = [item["spec"]["template"]["metadata"]["labels"] for item in WORKLOADS.values()]
    for name, item in PARTS.items():
        if item["kind"] in ("Service", "PodDisruptionBudget"):
            wanted = item["spec"]["selector"]
            wanted = wanted.get("matchLabels", wanted)
            assert any(wanted.items() <= label.items() for label in labels), name
    kinds = [item["kind"] for item in PARTS.values()]
    assert {"NetworkPolicy", "Namespace", "Secret", "ConfigMap"} <= set(kinds)


def test_the_environment_of_the_manifests_is_one_that_kosmos_takes(tmp_path: Path) -> None:
    environ = dict(PARTS["secret.template.yaml/Secret/kosmos"]["stringData"])
    environ |= PARTS["config.yaml/ConfigMap/kosmos"]["data"]
    for item in WORKLOADS.values():
        for container in item["spec"]["template"]["spec"]["containers"]:
            environ |= {one["name"]: one["value"] for one in container.get("env", []) if "value" in one}
            used = [
                one["valueFrom"]["secretKeyRef"]["key"]
                for one in container.get("env", [])
                if "valueFrom" in one
            ]
            assert set(used) <= set(environ)
    assert all(map(_is_known, environ))
    settings = load_settings({**environ, "KOSMOS_HOME": str(tmp_path / "home")})
    assert [check for check in inspect(settings) if check.state is State.PROBLEM] == []


def test_the_image_runs_as_nobody_in_particular_and_by_the_lock_file() -> None:
    lines = (ROOT / "Dockerfile").read_text().split("\n")
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert len(bases) == 2
    assert all(map(TAG.match, bases))
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users == ["10001:10001"]
    text = "\n".join(lines)
    assert "--require-hashes" in text
    assert "requirements/dev.lock" in text
    variables = re.findall(r"\b(KOSMOS_[A-Z_]+)=", text)
    assert variables
    assert all(map(_is_known, variables))
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            assert all((ROOT / part).exists() for part in line.split()[1:-1]), line
