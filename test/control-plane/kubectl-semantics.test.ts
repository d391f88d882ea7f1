/**
 * The exact output of an unmodified kubectl with our API server, without nodes: a table of commands with output and exit codes.
 * The rows of a group build on each other.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createCertificateRequest } from './certificate-request.ts';
import { start } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';
import { kubectlGroup } from './kubectl-rows-fixture.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';

let plane: ControlPlaneFixture;
const group = kubectlGroup(() => plane);
/** kubectl repeats this request ten times, each time for as long as a revision may take; it runs beside all others. */
let ofTheFuture: ReturnType<ControlPlaneFixture['kubectl']>;

before(async () => {
  // A pod on a missing node stays, however long the commands take.
  plane = await startControlPlane({ without: ['pod-garbage-collector-controller'] });
  ofTheFuture = plane.kubectl(['get', '--raw', '/api/v1/namespaces/default/configmaps/a?resourceVersion=999999']);
});
after(() => plane.stop());

function configMap(name: string, data: string, more = ''): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: ${data}\n${more}`;
}

const DEPLOYMENT =
  'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b}\nspec: {foo: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, bar: 1}]}}}\n';
const CONFLICT_TEXT = 'the object has been modified; please apply your changes to the latest version and try again';

group('create, change, delete', () => [
  { run: 'create cm a --from-literal=x=1', out: 'configmap/a created' },
  {
    run: 'create cm a --from-literal=x=1',
    err: 'error: failed to create configmap: configmaps "a" already exists',
    code: 1,
  },
  { run: 'annotate cm a x=y', out: 'configmap/a annotated' },
  {
    run: 'annotate cm a x=z',
    err: "error: --overwrite is false but found the following declared annotation(s): 'x' already has a value (y)",
    code: 1,
  },
  { run: 'label cm a x=y', out: 'configmap/a labeled' },
  { run: 'label cm a x=y', out: 'configmap/a not labeled' },
  { run: 'patch cm a -p {"data":{"x":"1"}}', out: 'configmap/a patched (no change)' },
  { run: 'patch cm a -p {"data":{"x":"2"}}', out: 'configmap/a patched' },
  {
    run: 'replace -f -',
    input: configMap('a', '{z: "1"}').replace('name: a', 'name: a, resourceVersion: "1"'),
    err: `Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "a": ${CONFLICT_TEXT}`,
    code: 1,
  },
  { run: 'replace -f -', input: configMap('a', '{z: "1"}'), out: 'configmap/a replaced' },
  {
    run: 'replace -f -',
    input: configMap('nope', '{}'),
    err: 'Error from server (NotFound): error when replacing "STDIN": configmaps "nope" not found',
    code: 1,
  },
  { run: 'get cm a -o jsonpath={.data}', out: '{"z":"1"}' },
  { run: 'delete cm a --dry-run=server', out: 'configmap "a" deleted from default namespace (server dry run)' },
  { run: 'get cm a -o name', out: 'configmap/a' },
  { run: 'delete cm a', out: 'configmap "a" deleted from default namespace' },
  { run: 'delete cm a', err: 'Error from server (NotFound): configmaps "a" not found', code: 1 },
  { run: 'delete cm a --ignore-not-found', out: '' },
  {
    run: 'delete ns kube-system',
    err: 'Error from server (Forbidden): namespaces "kube-system" is forbidden: this namespace may not be deleted',
    code: 1,
  },
  { run: 'create cm a -n nope', err: 'error: failed to create configmap: namespaces "nope" not found', code: 1 },
]);

group('patches that do not fit', () => [
  { run: 'create cm p --from-literal=x=1', out: 'configmap/p created' },
  {
    run: 'patch cm p --type=json -p [{"op":"remove","path":"/data/nope"}]',
    err: /^The request is invalid: patch: error in remove for path: '\/data\/nope': Unable to remove nonexistent key: nope/,
    code: 1,
  },
  {
    run: 'patch cm p --type=json -p [{"op":"test","path":"/data/x","value":"2"}]',
    err: 'The request is invalid: patch: testing value /data/x failed: test failed',
    code: 1,
  },
  {
    run: 'patch cm p --type=json -p {"a":1}',
    err: /^Error from server \(BadRequest\): .*cannot unmarshal object into Go value of type \[\]handlers\.jsonPatchOp$/,
    code: 1,
  },
  {
    run: 'patch cm p --type=merge -p {"data":5}',
    err: /^The request is invalid: patch: Invalid value: "\{\\"apiVersion\\":\\"v1\\",\\"data\\":5,.*\}": json: cannot unmarshal number into Go struct field ConfigMap\.data of type map\[string\]string$/,
    code: 1,
  },
  {
    run: 'patch cm p --type=merge -p {"kind":"Pod"}',
    err: /^The request is invalid: patch: Invalid value: "\{.*\\"kind\\":\\"Pod\\".*\}": converting \(v1\.Pod\) to \(core\.ConfigMap\): unknown conversion$/,
    code: 1,
  },
  { run: 'patch cm p -p {"foo":5}', out: 'configmap/p patched (no change)', err: 'Warning: unknown field "foo"' },
  // An absent field is added before its type is looked up: mergeMap looks up only fields that both have.
  {
    run: 'patch cm p -p {"foo":{"a":1}}',
    out: 'configmap/p patched (no change)',
    err: 'Warning: unknown field "foo"',
  },
  {
    run: 'patch cm p --type=merge -p {"metadata":{"name":"q"}}',
    err: 'Error from server (BadRequest): the name of the object (q) does not match the name on the URL (p)',
    code: 1,
  },
  {
    run: 'patch cm p --type=merge -p {"metadata":{"resourceVersion":"1"}}',
    err: `Error from server (Conflict): Operation cannot be fulfilled on configmaps "p": ${CONFLICT_TEXT}`,
    code: 1,
  },
]);

group('field validation', () => [
  {
    run: 'create -f -',
    input: DEPLOYMENT,
    err: 'Error from server (BadRequest): error when creating "STDIN": Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.foo", unknown field "spec.template.spec.containers[0].bar"',
    code: 1,
  },
  {
    run: 'create -f - --validate=warn',
    input: DEPLOYMENT,
    out: 'deployment.apps/b created',
    err: 'Warning: unknown field "spec.foo"\nWarning: unknown field "spec.template.spec.containers[0].bar"',
  },
  {
    run: 'create -f - --validate=ignore',
    input: DEPLOYMENT.replace('{name: b}', '{name: c}'),
    out: 'deployment.apps/c created',
  },
  {
    run: 'create -f -',
    input: configMap('B_c', '{}'),
    err: /^The ConfigMap "B_c" is invalid: metadata\.name: Invalid value: "B_c": a lowercase RFC 1123 subdomain must consist of lower case/,
    code: 1,
  },
  {
    run: 'create -f -',
    input: configMap('d', '{a: 1}'),
    err: 'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    code: 1,
  },
  {
    run: 'delete deploy b c',
    out: 'deployment.apps "b" deleted from default namespace\ndeployment.apps "c" deleted from default namespace',
  },
]);

group('apply', () => [
  { run: 'apply -f -', input: configMap('ca', '{a: "1"}'), out: 'configmap/ca created' },
  { run: 'apply -f -', input: configMap('ca', '{a: "1"}'), out: 'configmap/ca unchanged' },
  { run: 'diff -f -', input: configMap('ca', '{a: "1"}'), out: '' },
  { run: 'diff -f -', input: configMap('ca', '{a: "3"}'), out: /^-  a: "1"\n\+  a: "3"$/m, code: 1 },
  { run: 'apply -f -', input: configMap('ca', '{a: "2"}'), out: 'configmap/ca configured' },
  { run: 'apply view-last-applied cm ca', out: /a: "2"/ },
  {
    run: 'apply --server-side --field-manager=m1 -f -',
    input: configMap('ssa', '{a: "1"}'),
    out: 'configmap/ssa serverside-applied',
  },
  {
    run: 'apply --server-side --field-manager=m2 -f -',
    input: configMap('ssa', '{a: "2"}'),
    err: /^error: Apply failed with 1 conflict: conflict with "m1": \.data\.a\n/,
    code: 1,
  },
  {
    run: 'apply --server-side --field-manager=m2 --force-conflicts -f -',
    input: configMap('ssa', '{a: "2"}'),
    out: 'configmap/ssa serverside-applied',
  },
  { run: 'get cm ssa -o jsonpath={.metadata.managedFields[*].manager}', out: 'm2' },
  {
    run: 'apply --server-side --field-manager=m3 -f -',
    input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new, uid: abc}\n',
    err: /^error: Operation cannot be fulfilled on configmaps "new": uid mismatch: the provided object specified uid abc, and no existing object was found\n/,
    code: 1,
  },
]);

group('lists and selectors', () => [
  {
    run: 'get pods --field-selector=spec.foo=1',
    err: 'Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector "", field selector "spec.foo=1": field label not supported: spec.foo',
    code: 1,
  },
  {
    run: 'get cm --field-selector=data.x=1',
    err: 'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", field selector "data.x=1": "data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    code: 1,
  },
  {
    run: "get pods -l 'a in (b'",
    err: `Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector "a in (b", field selector "": unable to parse requirement: found '', expected: ',' or ')'`,
    code: 1,
  },
  {
    run: 'get cm --chunk-size=1 -o name',
    out: /^configmap\/ca\nconfigmap\/kube-root-ca\.crt\nconfigmap\/p\nconfigmap\/ssa$/,
  },
  { run: 'get cm --field-selector=metadata.name=ca -o wide', out: /^NAME\s+DATA\s+AGE\nca\s+1\s+\S+$/ },
  { run: 'get pods nope', err: 'Error from server (NotFound): pods "nope" not found', code: 1 },
  { run: 'get foo', err: `error: the server doesn't have a resource type "foo"`, code: 1 },
  { run: 'get pods', err: 'No resources found in default namespace.', out: '', soon: true },
  {
    run: 'get endpoints kubernetes -o name',
    out: 'endpoints/kubernetes',
    err: 'Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  },
  {
    run: 'get --raw /api/v1/namespaces/default/configmaps?continue=abc',
    err: /^Error from server \(BadRequest\): invalid continue token: continue key is not valid: /,
    code: 1,
  },
  {
    run: 'get --raw /api/v1/nope',
    err: 'Error from server (NotFound): the server could not find the requested resource',
    code: 1,
  },
]);

const WEB =
  'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, selector: {matchLabels: {a: web}}, template: {metadata: {labels: {a: web}}, spec: {containers: [{name: c, image: i}]}}}\n';

group('workloads without nodes', () => [
  { run: 'create -f -', input: WEB, out: 'deployment.apps/web created' },
  { run: 'get deploy web -o jsonpath={.status.updatedReplicas}', out: '2', soon: true },
  {
    run: 'scale deploy web --replicas=3 --current-replicas=7',
    err: 'error: Expected replicas to be 7, was 2',
    code: 1,
  },
  { run: 'scale deploy web --replicas=3', out: 'deployment.apps/web scaled' },
  { run: 'get deploy web --subresource=scale', out: /^NAME\s+DESIRED\s+AVAILABLE\s+AGE\nweb\s+3\s+\d\s+\S+$/ },
  { run: 'autoscale deploy web --min=1 --max=3', out: 'horizontalpodautoscaler.autoscaling/web autoscaled' },
  { run: 'get horizontalpodautoscalers.v1.autoscaling web -o jsonpath={.apiVersion}', out: 'autoscaling/v1' },
  { run: 'delete hpa web', out: 'horizontalpodautoscaler.autoscaling "web" deleted from default namespace' },
  { run: 'set image deploy/web c=j', out: 'deployment.apps/web image updated' },
  {
    run: 'get deploy web -o jsonpath={.metadata.annotations.deployment\\.kubernetes\\.io/revision},{.status.updatedReplicas}',
    out: '2,1',
    soon: true,
  },
  {
    run: 'rollout status deploy/web --timeout=3s',
    out: /^Waiting for deployment "web" rollout to finish: \d out of 3 new replicas have been updated/,
    err: 'error: timed out waiting for the condition',
    code: 1,
    soon: true,
  },
  { run: 'rollout undo deploy/web', out: 'deployment.apps/web rolled back' },
  {
    run: 'rollout history deploy/web',
    out: /^deployment\.apps\/web \nREVISION\s+CHANGE-CAUSE\n2\s+<none>\n3\s+<none>$/,
    soon: true,
  },
  { run: 'delete deploy web --cascade=orphan', out: 'deployment.apps "web" deleted from default namespace' },
  { run: 'get rs -o jsonpath={.items[*].metadata.ownerReferences}', out: '' },
  {
    run: 'delete rs --all --cascade=foreground',
    out: /^replicaset\.apps "web-\w+" deleted from default namespace\nreplicaset\.apps "web-\w+" deleted from default namespace$/,
  },
  { run: 'wait --for=delete pods -l a=web --timeout=120s', out: /.*/ },
  { run: 'get pods -l a=web', err: 'No resources found in default namespace.', soon: true },
]);

const POD =
  'apiVersion: v1\nkind: Pod\nmetadata: {name: dbg, labels: {a: dbg}}\nspec: {nodeName: nowhere, containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}\n';

group('pods and their sub-resources', () => [
  {
    run: 'create -f -',
    input:
      'apiVersion: v1\nkind: Node\nmetadata: {name: nowhere, labels: {kubernetes.io/os: linux}}\nstatus: {allocatable: {cpu: "1", memory: 2Gi}}\n',
    out: 'node/nowhere created',
  },
  { run: 'create -f -', input: POD, out: 'pod/dbg created' },
  { run: 'debug dbg --image=busybox --target=c -c d1 --attach=false', out: /^Targeting container "c"\./ },
  { run: 'get pod dbg -o jsonpath={.spec.ephemeralContainers[*].name}', out: 'd1' },
  {
    run: 'patch pod dbg --subresource=resize -p {"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"200m"}}}]}}',
    out: 'pod/dbg patched',
  },
  { run: 'get pod dbg -o jsonpath={.spec.containers[0].resources.requests.cpu},{.metadata.generation}', out: '200m,3' },
  {
    run: 'patch pod dbg --subresource=resize --type=json -p [{"op":"replace","path":"/spec/containers/0/resources","value":{"limits":{"memory":"1Gi"}}}]',
    err: /^The Pod "dbg" is invalid: spec\.containers\[0\]\.resources\.requests: Forbidden: resource requests cannot be removed/,
    code: 1,
  },
  {
    run: 'patch pod dbg --subresource=resize -p {"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"200m","memory":"1Gi"}}}]}}',
    err: /^The Pod "dbg" is invalid: spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing/,
    code: 1,
  },
  {
    run: 'patch pod dbg --subresource=resize -p {"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}',
    err: `Error from server (Forbidden): pods "dbg" is forbidden: Node didn't have enough allocatable resources: cpu, requested: 2000, allocatable: 1000`,
    code: 1,
  },
  {
    run: 'patch pod dbg --subresource=resize -p {"spec":{"resources":{"requests":{"cpu":"200m"}}}}',
    err: 'Error from server (Forbidden): pods "dbg" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "nowhere"',
    code: 1,
  },
  {
    run: 'patch pod dbg -p {"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"300m"}}}]}}',
    err: /^The Pod "dbg" is invalid: spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`/,
    code: 1,
  },
  { run: 'set image pod/dbg c=new', out: 'pod/dbg image updated' },
  { run: 'logs dbg -c c', err: 'Error from server: no preferred addresses found; known addresses: []', code: 1 },
  {
    run: 'get --raw /api/v1/nodes/elsewhere/proxy/healthz',
    err: 'Error from server (NotFound): nodes "elsewhere" not found',
    code: 1,
  },
  {
    run: 'wait --for=condition=Ready pod/dbg --timeout=3s',
    err: 'error: timed out waiting for the condition on pods/dbg',
    code: 1,
    soon: true,
  },
  { run: 'delete pod dbg --wait=false', out: 'pod "dbg" deleted from default namespace' },
  { run: 'get pod dbg', out: /^NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\ndbg\s+0\/1\s+Terminating\s+0\s+\S+$/ },
  {
    run: 'delete pod dbg --force --grace-period=0',
    out: 'pod "dbg" force deleted from default namespace',
    err: /^Warning: Immediate deletion does not wait/,
  },
]);

group('who may do what', () => [
  { run: 'auth whoami -o jsonpath={.status.userInfo.username}', out: 'kubernetes-admin' },
  {
    run: 'auth whoami --as=bob --as-group=x --as-group=y -o jsonpath={.status.userInfo.groups}',
    out: '["x","y","system:authenticated"]',
  },
  {
    run: 'auth can-i --list',
    out: /^Resources\s+Non-Resource URLs\s+Resource Names\s+Verbs\n\*\.\*\s+\[\]\s+\[\]\s+\[\*\]\n/,
  },
  { run: 'auth can-i get pods --as=bob', out: 'no', code: 1 },
  {
    run: 'create clusterrolebinding bob --clusterrole=view --user=bob',
    out: 'clusterrolebinding.rbac.authorization.k8s.io/bob created',
  },
  { run: 'auth can-i get pods --as=bob', out: 'yes' },
  { run: 'auth can-i get pods --subresource=log --as=bob', out: 'yes' },
  {
    run: 'get secrets --as=bob',
    err: 'Error from server (Forbidden): secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "default"',
    code: 1,
  },
  { run: 'get pods --as-group=x', err: /without impersonating a user|requesting/, code: 1 },
  {
    run: 'get leases -n kube-system -l apiserver.kubernetes.io/identity=kube-apiserver -o name',
    out: /^lease\.coordination\.k8s\.io\/apiserver-[0-9a-f]{26}$/,
  },
  { run: 'create sa robot', out: 'serviceaccount/robot created' },
  {
    run: 'create token robot --duration=1m',
    err: 'error: failed to create token: TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes',
    code: 1,
  },
  { run: 'create token robot', out: /^[\w-]+\.[\w-]+\.[\w-]+$/ },
  { run: 'create token nope', err: 'error: failed to create token: serviceaccounts "nope" not found', code: 1 },
]);

group('discovery and documentation', () => [
  {
    run: 'api-versions',
    out: /^admissionregistration\.k8s\.io\/v1\napiextensions\.k8s\.io\/v1\n[\s\S]*\nstorage\.k8s\.io\/v1\nv1$/,
  },
  {
    run: 'api-resources --api-group=apps --no-headers',
    out: /^controllerrevisions\s+apps\/v1\s+true\s+ControllerRevision\ndaemonsets\s+ds\s+apps\/v1\s+true\s+DaemonSet\ndeployments\s+deploy\s/,
  },
  {
    run: 'api-resources --categories=all -o name',
    out: /^pods\nreplicationcontrollers\nservices\ndaemonsets\.apps\ndeployments\.apps\nreplicasets\.apps\nstatefulsets\.apps\nhorizontalpodautoscalers\.autoscaling\ncronjobs\.batch\njobs\.batch$/,
  },
  {
    run: 'explain deployment.spec.strategy --recursive',
    out: /FIELD: strategy <DeploymentStrategy>[\s\S]*rollingUpdate\t<RollingUpdateDeployment>\n\s+maxSurge\t<IntOrString>\n\s+maxUnavailable\t<IntOrString>\n\s+type\t<string>/,
  },
  { run: 'explain pod.foo', out: /^KIND:\s+Pod\nVERSION:\s+v1$/, err: 'error: field "foo" does not exist', code: 1 },
  { run: 'get --raw /livez/ping', out: 'ok' },
  { run: 'version -o json', out: /"gitVersion": "v1\.36\.\d+/ },
]);

test('kubectl get --watch -o wide shows the table once and then each change', async () => {
  const all = ['get', 'cm', '--watch', '-o', 'wide', '--field-selector=metadata.name=seen'];
  const watching = start(kubectlProgram(), [`--kubeconfig=${plane.kubeconfig}`, ...all]);
  // The watch starts when kubectl is ready: changes are made until some are seen.
  await until('some changes are seen', async () => {
    await plane.kubectl(['create', 'cm', 'seen', '--from-literal=a=1']);
    await plane.kubectl(['delete', 'cm', 'seen']);
    return watching.stdout().split('\n').length > 5;
  });
  watching.kill('SIGKILL');
  const { stdout } = await watching.ended();
  const [head, ...lines] = stdout.trimEnd().split('\n');
  assert.match(head!, /^NAME\s+DATA\s+AGE$/);
  assert.ok(lines.length > 0 && lines.every((line) => /^seen\s+1\s+\S+$/.test(line)), stdout);
});

test('a certificate request is approved and signed', async () => {
  const request = Buffer.from(await createCertificateRequest('CN=alice,O=devs')).toString('base64');
  const manifest = `apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: alice}\nspec: {request: ${request}, signerName: example.com/any, usages: [client auth]}\n`;
  const created = await plane.kubectl(['create', '-f', '-'], manifest);
  assert.equal(created.stdout, 'certificatesigningrequest.certificates.k8s.io/alice created', created.stderr);
  const pending = await plane.kubectl(['get', 'csr', 'alice']);
  assert.match(
    pending.stdout,
    /^NAME\s+AGE\s+SIGNERNAME\s+REQUESTOR\s+REQUESTEDDURATION\s+CONDITION\nalice\s+\d+s\s+example\.com\/any\s+kubernetes-admin\s+<none>\s+Pending$/,
  );
  const approved = await plane.kubectl(['certificate', 'approve', 'alice']);
  assert.equal(approved.stdout, 'certificatesigningrequest.certificates.k8s.io/alice approved', approved.stderr);
  const denied = await plane.kubectl(['certificate', 'deny', 'alice']);
  assert.equal(denied.stderr, 'error: certificate signing request "alice" is already Approved');
  const after = await plane.kubectl(['get', 'csr', 'alice', '-o', 'jsonpath={.status.conditions[*].type}']);
  assert.equal(after.stdout, 'Approved');
});

test('a revision in the future is awaited until the timeout', async () => {
  const { code, stderr } = await ofTheFuture;
  assert.match(stderr, /^Error from server \(Timeout\): Timeout: Too large resource version: 999999, current: \d+$/);
  assert.equal(code, 1);
});
