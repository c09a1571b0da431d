"""The vocabulary of kubectl: options, verbs and kinds, with what each of them does."""

from kosmos.risk.levels import RiskLevel
from kosmos.risk.words import Options

LOW, MEDIUM, HIGH, CRITICAL = RiskLevel.LOW, RiskLevel.MEDIUM, RiskLevel.HIGH, RiskLevel.CRITICAL

# Global options that change who asks, whom, or what is written; the rest of them is harmless.
GLOBAL_RISKS: dict[str, tuple[RiskLevel, str]] = {
    "--as": (MEDIUM, "speaks in the name of somebody else"),
    "--as-group": (MEDIUM, "speaks in the name of somebody else"),
    "--as-uid": (MEDIUM, "speaks in the name of somebody else"),
    "--as-user-extra": (MEDIUM, "speaks in the name of somebody else"),
    "--cache-dir": (MEDIUM, "writes its cache to a chosen folder"),
    "--certificate-authority": (MEDIUM, "trusts another certificate authority"),
    "--client-certificate": (MEDIUM, "uses other credentials"),
    "--client-key": (MEDIUM, "uses other credentials"),
    "--insecure-skip-tls-verify": (MEDIUM, "does not check whom it talks to"),
    "--kubeconfig": (MEDIUM, "uses another kubeconfig, which may name a program to run"),
    "--kuberc": (HIGH, "uses another file of preferences, which may change what a verb does"),
    "--log-dir": (HIGH, "writes a file"),
    "--log-file": (HIGH, "writes a file"),
    "--password": (MEDIUM, "has credentials on the command line"),
    "--profile": (HIGH, "writes a file"),
    "--profile-output": (HIGH, "writes a file"),
    "--proxy-url": (HIGH, "sends requests with their credentials through another host"),
    "--server": (HIGH, "sends requests with their credentials to another host"),
    "-s": (HIGH, "sends requests with their credentials to another host"),
    "--tls-server-name": (MEDIUM, "does not check whom it talks to"),
    "--token": (MEDIUM, "has credentials on the command line"),
    "--username": (MEDIUM, "has credentials on the command line"),
}
GLOBAL = Options(
    valued=frozenset(GLOBAL_RISKS) - {"--insecure-skip-tls-verify"}
    | {"--cluster", "--context", "--namespace", "-n", "--request-timeout", "--user", "--v", "-v", "--vmodule"}
    | {"--log-flush-frequency", "--stderrthreshold"},
    bare=frozenset({"--insecure-skip-tls-verify", "--match-server-version", "--warnings-as-errors"})
    | {"--disable-compression", "-h", "--help"},
)
# Options of the verbs. What is in neither table may or may not take the next word.
OPTIONS = Options(
    valued=frozenset(GLOBAL.valued)
    | {"-c", "--container", "-f", "--filename", "-k", "--kustomize", "-l", "--selector", "-o", "--output"}
    | {"-p", "--patch", "--patch-file", "--type", "--field-selector", "--sort-by", "-L", "--label-columns"}
    | {"--template", "--since", "--since-time", "--tail", "--limit-bytes", "--max-log-requests", "--raw"}
    | {"--for", "--timeout", "--replicas", "--current-replicas", "--resource-version", "--image", "--port"}
    | {"--target-port", "--address", "--field-manager", "--grace-period", "--chunk-size", "--subresource"}
    | {"--to-revision", "--revision", "--api-group", "--verbs", "--api-version", "--overrides", "--env", "-e"}
    | {"--labels", "--annotations", "--command-timeout", "--pod-running-timeout", "--prune-allowlist"}
    | {"--cascade-timeout", "--skip-wait-for-delete-timeout", "--pod-selector", "--name", "--protocol"}
    | {"--from-literal", "--from-file", "--from-env-file", "--duration", "--audience", "--schedule"}
    | {"--output-directory", "--namespaces", "--types", "--output-version", "--list-separator", "-d"}
    | {"--delimiter", "--retries", "--target", "--restart", "--min", "--max", "--cpu", "--reject-paths"},
    bare=frozenset(GLOBAL.bare)
    | {"-A", "--all-namespaces", "-w", "--watch", "--watch-only", "--show-labels", "--show-kind", "-R"}
    | {"--recursive", "--no-headers", "--ignore-not-found", "--server-print", "--previous", "--follow"}
    | {"--timestamps", "--all-containers", "--prefix", "--now", "--force", "--wait", "--all", "--server-side"}
    | {"--force-conflicts", "--overwrite", "--local", "--record", "--save-config", "--show-managed-fields"}
    | {"--show-events", "--containers", "--sum", "--client", "--short", "--minify", "--flatten", "--quiet"}
    | {"--no-color", "--use-openapi-print-columns", "--export", "--prune", "--validate", "--dry-run", "-q"}
    | {"--output-watch-events", "--allow-missing-template-keys", "--cascade", "--delete-emptydir-data"}
    | {"--delete-local-data", "--ignore-daemonsets", "--disable-eviction", "-i", "--stdin", "-t", "--tty"}
    | {"--list", "--no-check-certificate", "--namespaced", "--cached", "--windows-line-endings", "--rm"}
    | {"--ignore-errors", "--insecure-skip-tls-verify-backend", "--expose", "--attach", "--all-pods"},
)
READS: dict[str, str] = {
    "get": "reads resources",
    "describe": "reads resources",
    "logs": "reads logs",
    "log": "reads logs",
    "top": "reads usage",
    "version": "reads the version",
    "api-resources": "reads what the server knows",
    "api-versions": "reads what the server knows",
    "explain": "reads documentation",
    "cluster-info": "reads addresses of the cluster",
    "events": "reads events",
    "wait": "waits for a condition",
    "options": "prints help",
    "help": "prints help",
    "completion": "prints a script",
}
CHECKS: dict[str, str] = {
    "diff": "compares files with the cluster",
    "kustomize": "builds manifests",
    "convert": "converts manifests",
    "port-forward": "opens a way to a pod on this machine",
}
CHANGES: dict[str, tuple[RiskLevel, str]] = {
    "annotate": (HIGH, "changes annotations"),
    "apply": (HIGH, "changes resources"),
    "attach": (HIGH, "speaks to a running process"),
    "autoscale": (HIGH, "changes how a workload scales"),
    "cordon": (HIGH, "takes a node out of scheduling"),
    "cp": (HIGH, "copies files into or out of a container"),
    "create": (HIGH, "creates resources"),
    "debug": (HIGH, "starts a container beside others"),
    "delete": (CRITICAL, "deletes resources"),
    "drain": (CRITICAL, "evicts every pod of a node"),
    "edit": (HIGH, "changes resources"),
    "exec": (HIGH, "runs a command in a container"),
    "expose": (HIGH, "creates a service"),
    "label": (HIGH, "changes labels"),
    "patch": (HIGH, "changes resources"),
    "proxy": (HIGH, "opens the whole API with our rights to whoever reaches the port"),
    "replace": (HIGH, "replaces resources"),
    "run": (HIGH, "starts a pod"),
    "scale": (HIGH, "changes the number of replicas"),
    "taint": (HIGH, "changes where pods may run"),
    "uncordon": (HIGH, "gives a node back to scheduling"),
}
DRY = frozenset(CHANGES) - {"attach", "cp", "debug", "edit", "exec", "proxy"} | {"set", "rollout", "auth"}
# Verbs with words of their own below them. A word that is not here is not understood: HIGH.
NESTED: dict[str, dict[str, tuple[RiskLevel, str]]] = {
    "auth": {
        "can-i": (LOW, "asks for rights"),
        "whoami": (LOW, "asks who it is"),
        "reconcile": (HIGH, "changes roles and bindings"),
    },
    "certificate": {
        "approve": (CRITICAL, "signs a certificate"),
        "deny": (HIGH, "refuses a certificate"),
    },
    "config": {
        "current-context": (LOW, "reads the kubeconfig"),
        "get-clusters": (LOW, "reads the kubeconfig"),
        "get-contexts": (LOW, "reads the kubeconfig"),
        "get-users": (LOW, "reads the kubeconfig"),
        "view": (LOW, "reads the kubeconfig without its secrets"),
        "delete-cluster": (CRITICAL, "deletes from the kubeconfig"),
        "delete-context": (CRITICAL, "deletes from the kubeconfig"),
        "delete-user": (CRITICAL, "deletes from the kubeconfig"),
        "rename-context": (HIGH, "changes the kubeconfig"),
        "set": (HIGH, "changes the kubeconfig"),
        "set-cluster": (HIGH, "changes the kubeconfig"),
        "set-context": (HIGH, "changes the kubeconfig"),
        "set-credentials": (HIGH, "changes the kubeconfig"),
        "unset": (HIGH, "changes the kubeconfig"),
        "use": (HIGH, "changes which cluster later commands mean"),
        "use-context": (HIGH, "changes which cluster later commands mean"),
    },
    "plugin": {"list": (LOW, "lists plugins")},
    "rollout": {
        "history": (LOW, "reads revisions"),
        "status": (LOW, "reads the state of a rollout"),
        "pause": (HIGH, "holds a rollout"),
        "restart": (HIGH, "restarts a workload"),
        "resume": (HIGH, "continues a rollout"),
        "undo": (HIGH, "rolls a workload back"),
    },
    "set": dict.fromkeys(
        ("env", "image", "resources", "selector", "serviceaccount", "sa", "subject"),
        (HIGH, "changes a workload"),
    ),
}
SECRET_KINDS = frozenset({"secret", "secrets"})
RIGHTS = frozenset({"clusterrole", "clusterrolebinding", "role", "rolebinding"})
WHOLE_OUTPUTS = ("name", "wide")  # forms that do not show what is in a secret
RAW_DANGERS = ("secret", "proxy", "exec", "attach", "portforward", "..", "%", "token", "configz", "debug")
