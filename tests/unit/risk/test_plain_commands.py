"""Commands that only look: they stay LOW, and checks stay MEDIUM, or nobody would keep the engine on."""

import shlex

import pytest

from kosmos.risk import RiskLevel, assess, assess_line

LOW = """
kubectl get pods
kubectl get pods -A -o wide
kubectl get pods -o yaml
kubectl get pod nginx -n demo -o json
kubectl -n demo get pods -l app=web --show-labels
kubectl --context prod --namespace demo get deploy web
kubectl get pods --watch
kubectl get pods --field-selector status.phase!=Running --sort-by=.metadata.name
kubectl get pods -o jsonpath={.items[0].metadata.name}
kubectl get configmaps
kubectl get virtualmachines
kubectl get events --sort-by .lastTimestamp
kubectl describe pod nginx
kubectl describe node/n1
kubectl logs nginx
kubectl logs -f deploy/web -c web --tail=100 --since 5m
kubectl logs -p nginx --timestamps
kubectl top pods
kubectl top nodes
kubectl version
kubectl version --client
kubectl api-resources
kubectl api-versions
kubectl explain pods.spec
kubectl cluster-info
kubectl events -n demo
kubectl wait --for=condition=Ready pod/web --timeout=60s
kubectl rollout status deploy web
kubectl rollout --recursive=false status --timeout=0s deployment -w nginx
kubectl rollout history deploy/web --revision 2
kubectl auth can-i create pods
kubectl auth whoami
kubectl config view
kubectl config current-context
kubectl config get-contexts
kubectl plugin list
kubectl help delete
kubectl
k get po
oc get pods
timeout 5 kubectl get pods
env LANG=C kubectl get pods
nice kubectl get pods
watch -n 2 kubectl get pods
helm list -A
helm ls
helm status web -n demo
helm history web
helm repo list
helm search repo nginx
helm version
docker ps -a
docker logs --tail 5 web
docker images
docker container ls
docker version
docker stats --no-stream
systemctl status nginx
systemctl --no-pager status nginx
systemctl list-units --failed
systemctl is-active nginx
systemctl
service nginx status
journalctl -u nginx -n 100
cat README.md
ls -la /var/log
head -n 5 x
tail -n 100 /var/log/syslog
grep -rn error .
grep <none> x
find . -name *.log -size +1M
sed -n 1,20p x
sed s/a/b/ x
sort -rn x
uniq -c x
wc -l x
stat x
df -h
du -sh .
free -m
ps aux
uptime
uname -a
date -u +%s
hostname
ip addr show
ip a
ss -tlnp
dmesg
jq .items x.json
echo hello
diff a b
sha256sum x
"""

MEDIUM = """
kubectl get secrets
kubectl describe secret db
kubectl get secret db -o name
kubectl diff -f x.yaml
kubectl kustomize ./
kubectl convert -f x.yaml --output-version=v1
kubectl port-forward pod/web 8080:80
kubectl port-forward --address 127.0.0.1 svc/web 8080:80
kubectl apply -f x.yaml --dry-run=server
kubectl apply -f x.yaml --dry-run
kubectl apply -f x.yaml --server-side --dry-run=server
kubectl delete pod nginx --dry-run=client
kubectl delete pod nginx --dry-run client
kubectl drain n1 --dry-run=client
kubectl set image deploy/web web=nginx:1 --dry-run=client
kubectl create deploy web --image nginx --dry-run=client -o yaml
kubectl apply view-last-applied deploy/web
kubectl get pods --as=eve
kubectl get pods --kubeconfig=/path/config
kubectl --token=abc get pods
kubectl get --raw /readyz
kubectl get -f x.yaml
kubectl cluster-info dump
helm get values web
helm template ./chart
helm upgrade web ./chart --dry-run
helm lint ./chart
docker inspect web
docker compose config
env
dig example.com
"""

PIPES = """
kubectl get pods | grep nginx
kubectl get pods; kubectl get deployments
kubectl get pods -o json | jq .items | head -n 5
kubectl get pods 2>/dev/null | wc -l
kubectl get pods 2>&1 | grep x
"""


def _lines(table: str) -> list[str]:
    return [line for line in table.split("\n") if line]


@pytest.mark.parametrize("line", _lines(LOW))
def test_reading_ordinary_things_is_low(line: str) -> None:
    found = assess(shlex.split(line))
    assert (found.level, found.mutates) == (RiskLevel.LOW, False), found


@pytest.mark.parametrize("line", _lines(MEDIUM))
def test_checks_and_tries_are_medium(line: str) -> None:
    found = assess(shlex.split(line))
    assert (found.level, found.mutates) == (RiskLevel.MEDIUM, False), found


@pytest.mark.parametrize("line", _lines(PIPES))
def test_several_readers_together_are_medium(line: str) -> None:
    found = assess_line(line)
    assert (found.level, found.mutates) == (RiskLevel.MEDIUM, False), found


def test_one_plain_command_as_a_line_is_what_it_is() -> None:
    assert assess_line("kubectl  get   pods -o jsonpath='{.items[0].metadata.name}'").level is RiskLevel.LOW
    assert assess_line("kubectl logs \\\n  deployment/my-app \\\n  --follow").level is RiskLevel.LOW
