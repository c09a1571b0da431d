"""Commands that want to look harmless, one a line, by the level they must reach at least."""

import shlex

import pytest

from kosmos.risk import RiskLevel, assess, assess_line

CRITICAL = """
kubectl delete pod nginx
kubectl -n demo delete pod nginx
kubectl --namespace demo delete pod nginx
kubectl --namespace=delete delete pod nginx
kubectl -ndemo delete po/nginx
kubectl --context prod -n get delete deploy web
kubectl -v=8 delete ns demo
kubectl -v 8 delete ns demo
kubectl --request-timeout 5s delete pvc data
kubectl --request-timeout=5s --cluster x delete crd widgets.example.com
kubectl delete --all pods
kubectl delete pods --all -A --dry-run=none
kubectl delete pod nginx --dry-run=client --dry-run=none
kubectl delete pod nginx --field-manager --dry-run=client
kubectl delete pod nginx -l --dry-run=client
kubectl delete pod nginx --unheard-of --dry-run=client
kubectl delete pod nginx --dry-run=false
kubectl delete pod nginx --dry-run=clientele
kubectl delete pod nginx -- --dry-run=client
kubectl delete -f pod.yaml --now
kubectl delete pod x --unheard-of --dry-run=client -- y --dry-run=client
kubectl delete --raw /api/v1/namespaces/x/pods/y
kubectl delete pods,services -l app=web
kubectl delete node worker-1
kubectl drain node1 --ignore-daemonsets
kubectl drain --dry-run=none node1
kubectl apply --prune --all -f dir/
kubectl apply -f x.yaml --force
kubectl replace --force -f x.yaml
kubectl create clusterrolebinding root --clusterrole=cluster-admin --user=eve
kubectl create rolebinding a --role=b --user=eve
kubectl create role a --verb=* --resource=*
kubectl certificate approve csr-1
kubectl config delete-context prod
kubectl config delete-cluster prod
kubectl config delete-user admin
kubectl exec nginx -- rm -rf /
kubectl exec -it nginx -c web -- rm -rf /data
kubectl exec nginx -- sh -c "rm -rf /data"
kubectl exec deploy/web -n demo -- kill -9 1
/usr/bin/kubectl delete pod nginx
kubectl.exe delete pod nginx
k delete pod nginx
oc delete project x
k3s kubectl delete pod nginx
microk8s kubectl delete pod nginx
minikube kubectl -- delete pod nginx
sudo kubectl delete pod nginx
sudo -u root kubectl delete pod nginx
sudo -n -E kubectl delete pod nginx
env kubectl delete pod nginx
env -i KUBECONFIG=/x kubectl delete pod nginx
env -u HOME kubectl delete pod nginx
nice -n 5 kubectl delete pod nginx
timeout 5 kubectl delete pod nginx
timeout -k 1 5 kubectl delete pod nginx
timeout --signal=KILL 5 kubectl delete pod nginx
nohup kubectl delete pod nginx
setsid kubectl delete pod nginx
stdbuf -oL kubectl delete pod nginx
stdbuf -o L kubectl delete pod nginx
time kubectl delete pod nginx
xargs kubectl delete pod
xargs -n 1 -I {} kubectl delete pod {}
xargs -0 rm -f
watch kubectl delete pod nginx
watch -n 1 'kubectl get pods; kubectl delete pod nginx'
watch -x kubectl delete pod nginx
command kubectl delete pod nginx
exec kubectl delete pod nginx
busybox rm -rf /
sh -c 'kubectl delete pod nginx'
bash -lc 'kubectl delete pod nginx'
bash -c "kubectl get pods && kubectl delete pods --all"
bash --norc -c "kubectl delete pod nginx"
sh -c 'sh -c "kubectl delete pod nginx"'
sudo sh -c 'rm -rf /var/lib/etcd'
env bash -c 'rm x'
helm uninstall web
helm delete web
helm -n demo un web
helm --namespace=demo del web --keep-history
helm --kube-context prod uninstall web --dry-run=false
docker rm -f web
docker container rm web
docker system prune -af
docker volume rm data
docker image prune
docker --context prod rm web
docker kill web
docker compose down
docker run --privileged alpine
docker run -v /:/host alpine
docker run --volume /:/host alpine
docker run -v /var/run/docker.sock:/s alpine
docker run --pid=host alpine
docker run --pid host alpine
docker exec web rm -rf /
podman rm web
systemctl poweroff
systemctl --no-pager reboot
systemctl isolate rescue.target
systemctl -f kill nginx
rm file
rm -rf -- -file
/bin/rm file
rmdir x
unlink x
shred x
dd if=/dev/zero of=/dev/sda
mkfs.ext4 /dev/sda1
find . -delete
find / -name x -exec rm {} ;
kill -9 1
pkill nginx
shutdown -h now
reboot
journalctl --vacuum-time=1s
journalctl --vac=1s
"""

HIGH = """
kubectl apply -f x.yaml
kubectl apply -f - --server-side
kubectl apply edit-last-applied deploy/web
kubectl apply set-last-applied -f x.yaml --dry-run=client
kubectl create deployment web --image=nginx
kubectl create token default
kubectl create secret generic x --from-literal=a=b
kubectl create --raw /api/v1/namespaces -f x
kubectl edit deploy web
kubectl edit deploy web --dry-run=client
kubectl patch svc web -p {}
kubectl -n demo patch svc web --type=json -p []
kubectl replace -f x.yaml
kubectl scale deploy web --replicas=0
kubectl scale --replicas 3 deploy/web
kubectl autoscale deploy web --max=3
kubectl expose deploy web --port=80
kubectl run web --image=nginx
kubectl label pod web a=b
kubectl annotate pod web a=b
kubectl taint nodes n1 a=b:NoSchedule
kubectl cordon n1
kubectl uncordon n1
kubectl rollout restart deploy web
kubectl rollout restart deploy web --dry-run=client
kubectl rollout undo deploy/web
kubectl rollout pause deploy/web
kubectl rollout resume deploy/web
kubectl rollout -n demo restart deploy web
kubectl rollout -f status restart deploy/web
kubectl rollout --recursive status restart
kubectl rollout frobnicate deploy web
kubectl set image deploy/web web=nginx:1
kubectl set env deploy/web A=B --containers --dry-run=client
kubectl set serviceaccount deploy/web x
kubectl set frobnicate deploy/web
kubectl exec web -- ls
kubectl exec web ls
kubectl exec -i web -- cat /etc/passwd
kubectl attach web -it
kubectl debug node/n1 --image=busybox
kubectl cp web:/etc/passwd ./x
kubectl cp ./x web:/tmp
kubectl proxy
kubectl proxy --port=0 --address=0.0.0.0
kubectl port-forward --address 0.0.0.0 pod/web 80:80
kubectl port-forward --address=localhost,10.0.0.1 pod/web 80:80
kubectl auth reconcile -f rbac.yaml
kubectl auth reconcile -f rbac.yaml --remove-extra-subjects
kubectl auth frobnicate
kubectl config use-context prod
kubectl config use prod
kubectl config set-context --current --namespace=x
kubectl config set-credentials eve --token=x
kubectl config set clusters.x.server https://evil
kubectl config unset current-context
kubectl config rename-context a b
kubectl config view --raw
kubectl config view --raw=true -o json
kubectl config --raw view
kubectl certificate deny csr-1
kubectl get secrets -o yaml
kubectl get secret db -o jsonpath={.data.password}
kubectl get pods,secrets -ojson
kubectl get secrets.v1. -o=json
kubectl get secret/db -o go-template={{.data}}
kubectl get Secret db --template={{.data}}
kubectl get --raw /api/v1/secrets
kubectl get --raw=/api/v1/namespaces/x/services/y/proxy/shutdown
kubectl get --raw /api/v1/namespaces/x/pods/y/exec?command=id
kubectl get pods --server=https://evil.example
kubectl -s https://evil.example get pods
kubectl get pods -shttps://evil.example
kubectl logs -f --server=https://evil.example web
kubectl get pods --kuberc=/tmp/x
kubectl get pods --profile=cpu --profile-output=/tmp/x
kubectl --frobnicate get pods
kubectl -- get pods
kubectl frobnicate
kubectl neat get pods
kubectl krew install x
kubectl alpha debug web
kubectl plugin frobnicate
kubectl kustomize --enable-helm ./
kubectl kustomize --enable-exec ./
kubectl kustomize ./ -o /tmp/out
kubectl cluster-info dump --output-directory=/tmp/x
kubectl diff -f x --frobnicate
kubectl get pods > out.txt
kubectl get pods >out.txt
kubectl get pods 2>err.txt
kubectl get pods | sh
kubectl get pods ; id
kubectl get pods && id
kubectl get $(whoami)
./kubectl get pods
/tmp/kubectl get pods
/usr/bin/../../tmp/kubectl get pods
bin/kubectl get pods
kubectl-neat get pods
sudo kubectl get pods
sudo cat /etc/hosts
doas ls
su -c id
env PATH=/tmp kubectl get pods
env LD_PRELOAD=/tmp/x.so ls
env KUBECTL_EXTERNAL_DIFF=/tmp/x kubectl diff -f x
env -S 'kubectl get pods'
env --split-string='ls'
xargs kubectl get
xargs cat
parallel echo
nohup ls
sh -c 'kubectl get pods'
bash script.sh
sh
bash -i
zsh -c ls
eval ls
python3 -c 'print(1)'
python -m http.server
perl -e 1
node -e 1
awk 'BEGIN{system("id")}'
sed -i s/a/b/ x
sed --in-place s/a/b/ x
sed -n 'w out' x
sed 's/a/b/e' x
sed 's/a/b/w out' x
sed -f script x
sed -e 1p x
sort -o out x
sort -uo out x
sort --out=out x
sort --compress-prog=/tmp/x x
uniq in out
tee out
cp a b
mv a b
ln -s a b
chmod 777 x
chown eve x
touch x
mkdir x
truncate -s 0 x
tar xf x.tar
tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=sh .
rsync -e sh a b
curl https://evil.example
wget https://evil.example
nc evil.example 80
ssh host id
git push
find . -exec cat {} +
find . -fprint out
find . -ok cat {} ;
date -s 2020-01-01
date --se=2020-01-01
date 010100002020
hostname evil
mount /dev/sda1 /mnt
sysctl -w vm.swappiness=1
ip link set eth0 down
ip netns exec x id
dmesg -C
ss -K
rg --pre /tmp/x a
tree -o out
yq -i .a=1 x
xxd -r a b
less /etc/passwd
crontab -e
apt-get install x
pip install x
iptables -F
systemctl restart nginx
systemctl --user restart nginx
systemctl -q stop nginx
systemctl enable nginx
systemctl daemon-reload
systemctl -H host status nginx
systemctl edit nginx
systemctl frobnicate
service nginx restart
helm install web ./chart
helm upgrade web ./chart --install
helm upgrade web ./chart --description --dry-run
helm rollback web 1
helm repo add x https://evil.example
helm plugin install x
helm template ./chart --post-renderer /tmp/x
helm template ./chart --output-dir /tmp/x
helm pull x
helm list --kubeconfig=/tmp/x
helm --frobnicate list
helm frobnicate
docker run alpine
docker exec web ls
docker cp web:/x .
docker build .
docker pull alpine
docker -H tcp://evil:2375 ps
docker --config /tmp/x ps
docker compose up -d
docker compose -f x.yaml ps
docker stop web
docker restart web
docker login
docker frobnicate
docker buildx history rm x
docker buildx use x
podman secret inspect --showsecret x
dmidecode --dump-bin x
nerdctl run alpine
crictl rmi x
etcd --version
frobnicate
cat /etc/shadow
cat /home/eve/.ssh/id_rsa
cat /home/eve/.kube/config
head -c 10 /proc/1/environ
grep -r x /var/run/secrets/kubernetes.io/serviceaccount
base64 server.key
"""

LINES = r"""
kubectl get pods > pods.txt
kubectl get pods >> pods.txt
kubectl get pods &> pods.txt
kubectl get pods 2> errors.txt
kubectl get pods >| pods.txt
kubectl get pods | tee pods.txt
kubectl get pods | xargs kubectl delete pod
kubectl get pods -o name | xargs -I{} kubectl delete {}
kubectl get pods; kubectl delete pod nginx
kubectl get pods && kubectl delete pod nginx
kubectl get pods || kubectl delete pod nginx
kubectl get pods & kubectl delete pod nginx
kubectl get pods\nkubectl delete pod nginx
(kubectl delete pod nginx)
{ kubectl delete pod nginx; }
! kubectl delete pod nginx
if true; then kubectl delete pod nginx; fi
for p in a b; do kubectl delete pod $p; done
while true; do kubectl delete pod nginx; done
kubectl $(echo delete) pod nginx
kubectl `echo delete` pod nginx
kubectl $VERB pod nginx
kubectl {delete,pod,nginx}
kubectl "delete" pod nginx
kubectl de'le'te pod nginx
kubectl d\elete pod nginx
'kubectl' delete pod nginx
\kubectl delete pod nginx
kubectl \\n delete pod nginx
kubectl get pods # x\nkubectl delete pod nginx
cat <<EOF | kubectl apply -f -
kubectl apply -f <(cat x)
kubectl apply -f - < x.yaml
echo x | kubectl apply -f -
echo kubectl delete pod nginx | sh
KUBECONFIG=/x kubectl delete pod nginx
A=1 B=2 kubectl delete pod nginx
PATH=/tmp:$PATH kubectl get pods
LD_PRELOAD=/tmp/x.so ls
FOO+=x ls
eval kubectl delete pod nginx
time kubectl delete pod nginx
kubectl get pods | while read p; do kubectl delete pod $p; done
kubectl get pods | awk '{print $1}'
function x { rm -rf /; }
kubectl get "pods
kubectl get pods; `rm -rf /`
echo $(rm -rf /)
echo "$(rm -rf /)"
find . | xargs rm
"""


def _lines(table: str) -> list[str]:
    return [line for line in table.split("\n") if line]


@pytest.mark.parametrize("line", _lines(CRITICAL))
def test_what_deletes_or_endangers_is_critical(line: str) -> None:
    found = assess(shlex.split(line))
    assert (found.level, found.mutates) == (RiskLevel.CRITICAL, True), found


@pytest.mark.parametrize("line", _lines(HIGH))
def test_what_changes_or_is_not_understood_is_at_least_high(line: str) -> None:
    assert assess(shlex.split(line)).level >= RiskLevel.HIGH


@pytest.mark.parametrize("line", [line.replace(r"\n", "\n") for line in _lines(LINES)])
def test_lines_of_shell_hide_nothing(line: str) -> None:
    found = assess_line(line)
    assert found.level >= RiskLevel.HIGH
    assert found.mutates
    assert assess(["sh", "-c", line]).level >= found.level


def test_there_are_enough_of_them() -> None:
    assert len(set(_lines(CRITICAL) + _lines(HIGH) + _lines(LINES))) >= 350
