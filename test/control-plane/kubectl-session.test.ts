/**
 * Every verb of an unmodified kubectl that needs no node, in the order in which users type them: generators, output formats,
 * describe of every kind, edits, sets, rollouts, nodes, rights, kustomize and prune. test/integration/streams.test.ts tests
 * streams (exec, attach, cp, port-forward, logs).
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from '../integration/fixtures/until.ts';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';
import { kubectlGroup, type KubectlRow } from './kubectl-rows-fixture.ts';

let plane: ControlPlaneFixture;
const group = kubectlGroup(() => plane);

before(async () => {
  // A pod on a missing node stays, however long the commands take.
  plane = await startControlPlane({ without: ['pod-garbage-collector-controller'] });
});
after(() => plane.stop());

const made = (run: string, out: string): KubectlRow => ({ run: `create ${run}`, out: `${out} created` });

group('create: every generator', () => [
  made('deployment web --image=nginx:1 --replicas=2 --port=80', 'deployment.apps/web'),
  made('job j --image=busybox -- echo hi', 'job.batch/j'),
  made(`cronjob cj --image=busybox '--schedule=*/5 * * * *' -- date`, 'cronjob.batch/cj'),
  made('job from --from=cronjob/cj', 'job.batch/from'),
  made('ingress ing --rule=foo.com/bar*=svc1:8080,tls=my-cert --class=nginx', 'ingress.networking.k8s.io/ing'),
  made('pdb pdb --selector=app=web --min-available=1', 'poddisruptionbudget.policy/pdb'),
  made('priorityclass pc --value=1000 --description=hi', 'priorityclass.scheduling.k8s.io/pc'),
  made('quota q --hard=cpu=10,pods=20 --scopes=Terminating', 'resourcequota/q'),
  made('role r --verb=get,list --resource=pods,deployments.apps', 'role.rbac.authorization.k8s.io/r'),
  made('rolebinding rb --role=r --serviceaccount=default:default', 'rolebinding.rbac.authorization.k8s.io/rb'),
  made('clusterrole cr --verb=get --resource=nodes', 'clusterrole.rbac.authorization.k8s.io/cr'),
  made('clusterrole agg --aggregation-rule=a=b', 'clusterrole.rbac.authorization.k8s.io/agg'),
  made('clusterrolebinding crb --clusterrole=cr --group=g', 'clusterrolebinding.rbac.authorization.k8s.io/crb'),
  made('secret generic s --from-literal=a=b --type=example.com/x', 'secret/s'),
  made('secret docker-registry dr --docker-username=u --docker-password=p --docker-server=s', 'secret/dr'),
  made('service clusterip cip --tcp=80:8080', 'service/cip'),
  made('service nodeport np --tcp=80', 'service/np'),
  made('service loadbalancer lb --tcp=80', 'service/lb'),
  made('service externalname en --external-name=a.b', 'service/en'),
  made('sa bot', 'serviceaccount/bot'),
  made('ns other', 'namespace/other'),
  made('configmap cm --from-literal=k=v', 'configmap/cm'),
  { run: 'create token bot --audience=x --duration=20m', out: /^[\w-]+\.[\w-]+\.[\w-]+$/ },
  { run: 'run solo --image=nginx --labels=a=solo --env=A=B --port=80', out: 'pod/solo created' },
  { run: 'expose deploy web --port=80 --name=websvc --type=NodePort', out: 'service/websvc exposed' },
  // A read right after the creation sees the first generation.
  { run: 'get deploy web -o jsonpath={.metadata.generation},{.status.observedGeneration}', out: '1,1', soon: true },
]);

group('get: every way to print', () => [
  { run: 'get deploy web -o name', out: 'deployment.apps/web' },
  { run: 'get deploy web -o json', out: /^\{\n {4}"apiVersion": "apps\/v1",\n {4}"kind": "Deployment"/ },
  { run: 'get deploy web -o yaml', out: /^apiVersion: apps\/v1\nkind: Deployment\nmetadata:\n/ },
  { run: 'get deploy web -o yaml --show-managed-fields', out: /managedFields:\n {2}- apiVersion: apps\/v1/ },
  { run: `get deploy web -o 'go-template={{.spec.replicas}}'`, out: '2' },
  { run: 'get deploy web -o jsonpath={.spec.replicas}', out: '2' },
  {
    run: 'get deploy web -o jsonpath-as-json={.spec.selector.matchLabels}',
    out: '[\n    {\n        "app": "web"\n    }\n]',
  },
  { run: 'get pods -l app=web -o custom-columns=I:.spec.containers[*].image', out: 'I\nnginx:1\nnginx:1', soon: true },
  {
    run: 'get deploy -o wide',
    out: /^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE\s+CONTAINERS\s+IMAGES\s+SELECTOR\nweb\s+0\/2\s+2\s+0\s+\S+\s+nginx\s+nginx:1\s+app=web$/,
    soon: true,
  },
  {
    run: 'get deploy -L app --show-labels --show-kind',
    out: /^NAME\s+READY.*APP\s+LABELS\ndeployment\.apps\/web\s.*\sweb\s+app=web$/,
  },
  { run: 'get svc --sort-by=.metadata.name -o name', out: /^service\/cip\nservice\/en\nservice\/kubernetes\n/ },
  { run: `get pods -l 'app in (web),app!=x' -A --no-headers -o name`, out: /^(pod\/web-\S+\n?){2}$/ },
  { run: 'get deploy/web svc/cip -o name', out: 'deployment.apps/web\nservice/cip' },
  { run: 'get ing', out: /^NAME\s+CLASS\s+HOSTS\s+ADDRESS\s+PORTS\s+AGE\ning\s+nginx\s+foo\.com\s+80, 443\s/ },
  { run: 'get pdb', out: /MIN AVAILABLE\s+MAX UNAVAILABLE\s+ALLOWED DISRUPTIONS\s+AGE\npdb\s+1\s+N\/A\s+0\s/ },
  {
    run: 'get cj',
    out: /^NAME\s+SCHEDULE\s+TIMEZONE\s+SUSPEND\s+ACTIVE\s+LAST SCHEDULE\s+AGE\ncj\s+\*\/5 \* \* \* \*\s+<none>/,
  },
  { run: 'get job j', out: /^NAME\s+STATUS\s+COMPLETIONS\s+DURATION\s+AGE\nj\s+Running\s+0\/1\s/, soon: true },
  { run: 'get quota q', out: /^NAME\s+REQUEST\s+LIMIT\s+AGE\nq\s+cpu: 0\/10, pods: 0\/20\s/, soon: true },
  { run: 'get secrets', out: /\ndr\s+kubernetes\.io\/dockerconfigjson\s+1\s+\S+\ns\s+example\.com\/x\s+1\s/ },
  {
    run: 'get all',
    out: /pod\/solo[^]*service\/cip[^]*deployment\.apps\/web[^]*replicaset\.apps\/web-[^]*cronjob\.batch\/cj[^]*job\.batch\/j/,
  },
  {
    run: 'events --for pod/solo',
    out: /Warning\s+FailedScheduling\s+Pod\/solo\s+no nodes available to schedule pods/,
    soon: true,
  },
]);

const described: readonly (readonly [what: string, words: RegExp])[] = [
  ['deployment web', /^Name: +web\n[^]*Replicas: +2 desired \| 2 updated[^]*ScalingReplicaSet[^]*from 0 to 2/],
  ['rs -l app=web', /Controlled By: +Deployment\/web\n[^]*SuccessfulCreate/],
  ['pod solo', /Environment:\n +A: +B\n[^]*TokenExpirationSeconds: +3607[^]*FailedScheduling/],
  ['job j', /Pods Statuses: +1 Active[^]*SuccessfulCreate +\S+ +job-controller/],
  ['cronjob cj', /Schedule: +\*\/5 \* \* \* \*\nConcurrency Policy: +Allow/],
  ['ingress ing', /TLS:\n +my-cert terminates foo\.com\nRules:[^]*\/bar +svc1:8080/],
  ['pdb pdb', /Min available: +1\nSelector: +app=web/],
  ['priorityclass pc', /Value: +1000\nGlobalDefault: +false/],
  ['quota q', /Scopes: +Terminating[^]*cpu +0 +10\npods +0 +20/],
  ['role r', /deployments\.apps +\[\] +\[\] +\[get list\]/],
  ['rolebinding rb', /Role:\n +Kind: +Role\n +Name: +r\nSubjects:/],
  ['clusterrole cr', /nodes +\[\] +\[\] +\[get\]/],
  ['clusterrolebinding crb', /Group +g/],
  ['secret s', /Type: +example\.com\/x\n[^]*a: +1 bytes/],
  ['svc np', /Type: +NodePort\nIP Family Policy: +SingleStack[^]*NodePort: +80 +3\d+\/TCP/],
  ['svc en', /Type: +ExternalName\n[^]*External Name: +a\.b/],
  ['endpointslice -l kubernetes.io/service-name=websvc', /AddressType: +IPv4/],
  ['sa bot', /Image pull secrets: +<none>/],
  ['ns default', /Resource Quotas?\n +Name: +q/],
  ['cm cm', /Data\n====\nk:\n----\nv/],
  ['storageclass', /./],
  ['crd', /^$/],
];
group('describe: every kind people use', () =>
  described.map(([what, words]) => ({
    run: `describe ${what}`,
    out: words,
    err: /^(|No resources found)/,
    soon: true,
  })),
);

group('change: set, annotate, label, patch, scale, rollout', () => [
  { run: 'set env deploy/web A=B', out: 'deployment.apps/web env updated' },
  { run: 'set env deploy/web --list', out: '# Deployment web, container nginx\nA=B' },
  { run: 'set env deploy/web A-', out: 'deployment.apps/web env updated' },
  {
    run: 'set resources deploy/web --limits=cpu=100m,memory=64Mi',
    out: 'deployment.apps/web resource requirements updated',
  },
  { run: 'set serviceaccount deploy/web bot', out: 'deployment.apps/web serviceaccount updated' },
  { run: 'set image deploy/web *=nginx:2', out: 'deployment.apps/web image updated' },
  { run: 'set selector svc/cip a=b', out: 'service/cip selector updated' },
  {
    run: 'set subject rolebinding rb --user=y --group=z',
    out: 'rolebinding.rbac.authorization.k8s.io/rb subjects updated',
  },
  { run: 'get rolebinding rb -o jsonpath={.subjects[*].name}', out: 'default y z' },
  { run: 'annotate deploy web x=y', out: 'deployment.apps/web annotated' },
  { run: 'annotate deploy web x-', out: 'deployment.apps/web annotated' },
  { run: 'label deploy web t=1 --overwrite', out: 'deployment.apps/web labeled' },
  { run: 'label deploy web t-', out: 'deployment.apps/web unlabeled' },
  {
    run: 'patch deploy web --type=strategic -p {"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:3"}]}}}}',
    out: 'deployment.apps/web patched',
  },
  {
    run: 'patch deploy web --type=merge -p {"metadata":{"annotations":{"m":"1"}}}',
    out: 'deployment.apps/web patched',
  },
  {
    run: 'patch deploy web --type=json -p [{"op":"add","path":"/metadata/annotations/j","value":"1"}]',
    out: 'deployment.apps/web patched',
  },
  { run: 'get deploy web -o jsonpath={.metadata.annotations.m}{.metadata.annotations.j}', out: '11' },
  { run: 'rollout pause deploy/web', out: 'deployment.apps/web paused' },
  { run: 'rollout pause deploy/web', err: 'error: deployments.apps "web" is already paused', code: 1 },
  { run: 'rollout resume deploy/web', out: 'deployment.apps/web resumed' },
  { run: 'rollout restart deploy/web', out: 'deployment.apps/web restarted' },
  {
    run: 'rollout history deploy/web --revision=2',
    out: /^deployment\.apps\/web with revision #2\n[^]*Image:\s+nginx:1\n[^]*A:\s+B\n/,
  },
  { run: 'rollout status deploy/web --watch=false', out: /^Waiting for deployment "web" rollout to finish: / },
  { run: 'rollout undo deploy/web --to-revision=2', out: 'deployment.apps/web rolled back' },
  { run: 'get deploy web -o jsonpath={.spec.template.spec.containers[0].image}', out: 'nginx:1' },
  { run: 'scale deploy/web --replicas=1', out: 'deployment.apps/web scaled' },
  { run: 'autoscale deploy web --min=1 --max=3 --cpu=50%', out: 'horizontalpodautoscaler.autoscaling/web autoscaled' },
  { run: 'describe hpa web', out: /resource cpu on pods +\(as a percentage of request\): +<unknown> \/ 50%/ },
  { run: 'wait --for=jsonpath={.spec.replicas}=1 deploy/web --timeout=60s', out: 'deployment.apps/web condition met' },
  { run: 'wait --for=create deploy/web --timeout=60s', out: 'deployment.apps/web condition met' },
]);

test("kubectl edit: the editor's text is sent; a refused text is opened again, and an unchanged one cancels", async () => {
  const edit = async (editor: string, ...args: string[]) => {
    const before = process.env['TMPDIR'];
    Object.assign(process.env, { KUBE_EDITOR: editor, TMPDIR: plane.directory });
    try {
      return await plane.kubectl(['edit', ...args]);
    } finally {
      delete process.env['KUBE_EDITOR'];
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
  };
  assert.equal((await edit('sed -i s/k:.v/k:\\ w/', 'cm', 'cm')).stdout, 'configmap/cm edited');
  assert.equal((await plane.kubectl(['get', 'cm', 'cm', '-o', 'jsonpath={.data.k}'])).stdout, 'w');
  assert.match((await edit('true', 'cm', 'cm')).stderr, /^Edit cancelled, no changes made\.$/m);
  const wrong = await edit('sed -i s/replicas:.1/replicas:\\ -1/', 'deploy', 'web');
  assert.match(wrong.stderr, /^error: deployments\.apps "web" is invalid$/m);
  const kept = /stored to "([^"]+)"/.exec(wrong.stderr)?.[1] ?? '';
  assert.match(await readFile(kept, 'utf8'), /# .*spec\.replicas: Invalid value: -1/);
});

group('nodes', () => [
  { run: 'create -f -', input: 'apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n', out: 'node/n1 created' },
  { run: 'taint node n1 k=v:NoSchedule', out: 'node/n1 tainted' },
  {
    run: 'taint node n1 k=w:NoSchedule',
    err: /already has k taint\(s\) with same effect\(s\) and --overwrite is false/,
    code: 1,
  },
  { run: 'taint node n1 k:NoSchedule-', out: 'node/n1 untainted' },
  { run: 'cordon n1', out: 'node/n1 cordoned' },
  { run: 'cordon n1', out: 'node/n1 already cordoned' },
  { run: 'uncordon n1', out: 'node/n1 uncordoned' },
  { run: 'drain n1 --ignore-daemonsets', out: /^node\/n1 cordoned\n(.*\n)*node\/n1 drained$/, err: /.*/ },
  {
    run: 'get nodes',
    out: /^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\nn1\s+(Unknown|NotReady),SchedulingDisabled\s+<none>/,
  },
  {
    run: 'describe node n1',
    out: /Unschedulable: +true\n[^]*Non-terminated Pods: +\(0 in total\)[^]*Allocated resources:/,
  },
  {
    run: 'debug node/n1 --image=busybox --attach=false',
    out: /^Creating debugging pod node-debugger-n1-\w+ with container debugger on node n1\.$/,
  },
  {
    run: 'debug solo --image=busybox --copy-to=copied --attach=false',
    out: /^Defaulting debug container name to debugger-\w+\.$/,
  },
  { run: 'top nodes', err: 'error: metrics not available yet', code: 1 },
  { run: 'top pods', err: 'error: metrics not available yet', code: 1 },
]);

const role = (verbs: string): string =>
  JSON.stringify({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'rec' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: [verbs] }],
  });

group('rights', () => [
  { run: 'auth reconcile -f -', input: role('get'), out: /rec reconciled/, err: /reconciliation required create/ },
  { run: 'auth reconcile -f -', input: role('list'), out: /rec reconciled/, err: /reconciliation required update/ },
  { run: 'get clusterrole rec -o jsonpath={.rules[*].verbs[*]}', out: 'get list' },
  { run: 'auth can-i create pods', out: 'yes' },
  { run: 'auth can-i create pods --as=nobody', out: 'no', code: 1 },
  {
    run: 'auth whoami',
    out: /^ATTRIBUTE\s+VALUE\nUsername\s+kubernetes-admin\nGroups\s+\[system:masters system:authenticated\]/,
  },
]);

group('what there is', () => [
  { run: 'cluster-info', out: /^Kubernetes control plane is running at https:\/\/127\.0\.0\.1:\d+/ },
  { run: 'api-versions', out: /^apps\/v1$[^]*^v1$/m },
  { run: 'api-resources --namespaced=false -o name', out: /^nodes$[^]*^storageclasses\.storage\.k8s\.io$/m },
  { run: 'explain cronjob --api-version=batch/v1', out: /^GROUP: +batch\nKIND: +CronJob\nVERSION: +v1/ },
  {
    run: 'explain pods.spec.containers',
    out: /FIELD: containers <\[\]Container>[^]*image\t<string>\n +The image to run\./,
  },
  { run: 'version', out: /Server Version: v1\.36\.0/ },
  { run: 'config view --minify -o jsonpath={.contexts[0].name}', out: 'test' },
  { run: 'config get-contexts -o name', out: 'test' },
  { run: 'config set-context --current --namespace=other', out: 'Context "test" modified.' },
  { run: 'get sa', out: /default/ },
  { run: 'config set-context --current --namespace=default', out: 'Context "test" modified.' },
]);

const pruned = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, labels: {app: pr}}\n`;

test('kubectl cluster-info dump, kustomize, apply and diff of folders, prune', async (t) => {
  const folder = join(plane.directory, 'kustomization');
  const dump = join(plane.directory, 'dump');
  await mkdir(folder);
  await writeFile(join(folder, 'kustomization.yaml'), 'resources: [cm.yaml]\nnamePrefix: kz-\n');
  await writeFile(join(folder, 'cm.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: "1"}\n');
  const rows: readonly (readonly [args: readonly string[], out: RegExp, input?: string, code?: number])[] = [
    [['cluster-info', 'dump', '--namespaces=default', `--output-directory=${dump}`], /^Cluster info dumped to /],
    [['kustomize', folder], /^ {2}name: kz-a$/m],
    [['diff', '-k', folder], /^\+ {2}name: kz-a$/m, '', 1],
    [['apply', '-k', folder], /^configmap\/kz-a created$/],
    [['diff', '-k', folder], /^$/],
    [['delete', '-k', folder], /^configmap "kz-a" deleted from default namespace$/],
    [['apply', '--prune', '-l', 'app=pr', '-f', '-'], /^configmap\/pr1 created$/, pruned('pr1')],
    [['apply', '--prune', '-l', 'app=pr', '-f', '-'], /^configmap\/pr2 created\nconfigmap\/pr1 pruned$/, pruned('pr2')],
    [['replace', '--force', '-f', '-'], /configmap\/pr2 replaced$/, pruned('pr2')],
  ];
  for (const [args, out, input, code] of rows)
    await t.test(`kubectl ${args.slice(0, 3).join(' ')}`, async () => {
      const said = await plane.kubectl(args, input);
      assert.match(said.stdout, out, said.stderr);
      assert.equal(said.code, code ?? 0, said.stderr);
    });
  assert.ok(existsSync(join(dump, 'default', 'deployments.json')));
});

test('kubectl delete: by label, everything of a namespace, and the namespace', async () => {
  assert.equal((await plane.kubectl(['delete', 'deploy,svc,hpa,job,cj,pdb,ing', '--all', '--wait=false'])).code, 0);
  assert.match((await plane.kubectl(['delete', 'pod', '-l', 'a=solo', '--force'])).stdout, /pod "solo" force deleted/);
  await plane.kubectl(['create', 'cm', 'last', '-n', 'other']);
  assert.equal((await plane.kubectl(['delete', 'ns', 'other'])).stdout, 'namespace "other" deleted');
  await until('nothing is left', async () => {
    const { stdout } = await plane.kubectl(['get', 'deploy,rs,job,cj,hpa', '-o', 'name']);
    return stdout === '';
  });
});
