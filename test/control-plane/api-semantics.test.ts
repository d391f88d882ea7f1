/**
 * Guarantees of upstream's API beyond kubectl's output: requests over the wire to a control plane on loopback, with kubectl where
 * it has a command.
 */
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, before, test } from 'node:test';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createMemoryStore } from '../../src/storage/memory/memory-store.ts';
import { until } from '../integration/fixtures/until.ts';
import { createCertificateRequest } from './certificate-request.ts';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';

let plane: ControlPlaneFixture;
const store = createMemoryStore({ clock: createNodeClock() });
before(async () => {
  plane = await startControlPlane({ store: async () => store, without: ['pod-garbage-collector-controller'] });
});
after(() => plane.stop());

// oxlint-disable-next-line typescript/no-explicit-any -- assertions read any field
type Body = any;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly body: Body;
}

interface Ask {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without the administrator's certificate. */
  readonly anonymous?: boolean;
}

function ask(method: string, path: string, { body, headers = {}, anonymous = false }: Ask = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { ca, cert, key } = plane.tls;
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const options = { method, ca, agent: false, headers: { ...json, ...headers }, ...(anonymous ? {} : { cert, key }) };
    const call = request(`https://127.0.0.1:${plane.port}${path}`, options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson =
          (answer.headers['content-type'] ?? '').startsWith('application/json') && !path.includes('watch=1');
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text,
          body: isJson ? JSON.parse(text) : undefined,
        });
      });
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const MAPS = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

async function made(path: string, object: object): Promise<Body> {
  const { status, body } = await ask('POST', path, { body: object });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

test('unsupported encodings are refused', async () => {
  const cbor = 'application/cbor';
  assert.equal((await ask('GET', MAPS, { headers: { accept: cbor } })).status, 406);
  assert.equal((await ask('GET', MAPS, { headers: { accept: `${cbor}, application/json` } })).status, 200);
  const sent = await ask('POST', MAPS, { body: configMap('x'), headers: { 'content-type': cbor } });
  assert.deepEqual([sent.status, sent.body.reason], [415, 'UnsupportedMediaType']);
});

test('a PUT creates where upstream allows it', async () => {
  const named = (apiVersion: string, kind: string, more: object = {}) => ({
    apiVersion,
    kind,
    metadata: { name: 'put' },
    ...more,
  });
  const rows: readonly [string, object, number][] = [
    ['/apis/coordination.k8s.io/v1/namespaces/default/leases', named('coordination.k8s.io/v1', 'Lease'), 201],
    ['/api/v1/namespaces/default/endpoints', named('v1', 'Endpoints'), 201],
    ['/api/v1/namespaces/default/services', named('v1', 'Service', { spec: { ports: [{ port: 1 }] } }), 201],
    ['/apis/rbac.authorization.k8s.io/v1/clusterroles', named('rbac.authorization.k8s.io/v1', 'ClusterRole'), 201],
    [MAPS, named('v1', 'ConfigMap'), 404],
    ['/api/v1/namespaces', named('v1', 'Namespace'), 404],
  ];
  for (const [path, body, status] of rows) {
    const answer = await ask('PUT', `${path}/put`, { body });
    assert.equal(answer.status, status, `${path}: ${answer.text}`);
  }
});

test('lists at, not older than and exactly at a revision; pages survive writes until they expire', async () => {
  const names = ({ body }: Answer): string[] => body.items.map((one: Body) => one.metadata.name);
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-public/leases';
  const lease = (name: string): object => ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } });
  const revisions: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) revisions.push((await made(path, lease(name))).metadata.resourceVersion);
  const second = revisions[1]!;
  assert.deepEqual(names(await ask('GET', `${path}?resourceVersion=0`)), ['a', 'b', 'c', 'd']);
  const notOlder = `resourceVersion=${second}&resourceVersionMatch=NotOlderThan`;
  assert.deepEqual(names(await ask('GET', `${path}?${notOlder}`)), ['a', 'b', 'c', 'd']);
  const exact = await ask('GET', `${path}?resourceVersion=${second}&resourceVersionMatch=Exact`);
  assert.deepEqual([names(exact), exact.body.metadata.resourceVersion], [['a', 'b'], second]);
  const legacy = await ask('GET', `${path}?resourceVersion=${second}&limit=5`);
  assert.deepEqual(names(legacy), ['a', 'b'], 'a limit makes it exact');
  const refused: readonly [string, number, RegExp][] = [
    ['resourceVersionMatch=Exact', 422, /resourceVersionMatch is forbidden unless resourceVersion is provided/],
    ['resourceVersion=0&resourceVersionMatch=Exact', 422, /is forbidden for resourceVersion "0"/],
    ['resourceVersion=1&resourceVersionMatch=Other', 422, /Unsupported value: "Other"/],
    ['resourceVersion=x', 400, /Invalid value: "x"/],
    [`resourceVersion=${2 ** 40}`, 504, /Too large resource version: 1099511627776, current: \d+/],
  ];
  for (const [query, status, message] of refused) {
    const answer = await ask('GET', `${path}?${query}`);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.body.message, message);
  }
  const first = await ask('GET', `${path}?limit=2`);
  assert.deepEqual([names(first), first.body.metadata.remainingItemCount], [['a', 'b'], 2]);
  assert.equal((await ask('DELETE', `${path}/c`)).status, 200);
  await made(path, lease('e'));
  const next = `${path}?limit=2&continue=${first.body.metadata.continue}`;
  assert.deepEqual(names(await ask('GET', next)), ['c', 'd'], 'as it was at the first page');
  assert.equal((await ask('GET', `${next}&resourceVersion=5`)).status, 400);
  // Other lists replace the snapshot that is kept for the pages, and old revisions are compacted.
  for (let other = 0; other < 8; other++) {
    await made(path, lease(`f${other}`));
    await ask('GET', `${path}?limit=1`);
  }
  await store.compact((await store.status()).revision);
  const gone = await ask('GET', next);
  assert.deepEqual([gone.status, gone.body.reason], [410, 'Expired']);
  assert.match(gone.body.message, /^The provided continue parameter is too old to display a consistent list result\./);
  const rest = await ask('GET', `${path}?limit=2&continue=${gone.body.metadata.continue}`);
  assert.deepEqual(names(rest), ['d', 'e'], 'as it is now');
  const last = await ask('GET', `${path}?continue=${rest.body.metadata.continue}`);
  assert.equal(names(last).length, 8);
  const old = await ask('GET', `${path}?resourceVersion=${second}&resourceVersionMatch=Exact`);
  assert.deepEqual([old.status, old.body.reason], [410, 'Expired']);
});

test('tables and bare metadata can be watched', async () => {
  const watchOf = async (as: string): Promise<Body[]> => {
    const accept = `application/json;as=${as};v=v1;g=meta.k8s.io`;
    const query = 'watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dseen';
    const { text } = await ask('GET', `${MAPS}?${query}`, { headers: { accept } });
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  await made(MAPS, { ...configMap('seen'), data: { k: 'v' } });
  const [table] = await watchOf('Table');
  assert.deepEqual([table.type, table.object.kind], ['ADDED', 'Table']);
  assert.deepEqual(
    table.object.columnDefinitions.map((column: Body) => column.name),
    ['Name', 'Data', 'Age'],
  );
  assert.deepEqual(table.object.rows[0].cells.slice(0, 2), ['seen', 1]);
  assert.equal(table.object.rows[0].object.kind, 'PartialObjectMetadata');
  const [bare] = await watchOf('PartialObjectMetadata');
  assert.deepEqual(
    [bare.type, bare.object.kind, bare.object.apiVersion],
    ['ADDED', 'PartialObjectMetadata', 'meta.k8s.io/v1'],
  );
  assert.deepEqual([bare.object.metadata.name, bare.object.data], ['seen', undefined]);
});

test('field selectors of every kind that has some', async () => {
  const core = (resource: string): string => `/api/v1/${resource}`;
  const rows: readonly [string, readonly string[]][] = [
    [
      core('pods'),
      [
        ...['spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName', 'spec.hostNetwork'],
        ...['status.phase', 'status.podIP', 'status.nominatedNodeName', 'metadata.name', 'metadata.namespace'],
      ],
    ],
    [
      core('events'),
      [
        ...['involvedObject.kind', 'involvedObject.namespace', 'involvedObject.name', 'involvedObject.uid'],
        ...['involvedObject.apiVersion', 'involvedObject.resourceVersion', 'involvedObject.fieldPath'],
        ...['reason', 'reportingComponent', 'source', 'type'],
      ],
    ],
    ['/apis/events.k8s.io/v1/events', ['reason', 'regarding.kind', 'regarding.name', 'type']],
    [core('secrets'), ['type']],
    [core('namespaces'), ['status.phase']],
    [core('nodes'), ['spec.unschedulable']],
    [core('services'), ['spec.clusterIP', 'spec.type']],
    [core('replicationcontrollers'), ['status.replicas']],
    // As upstream, the registry knows `status.replicas`, but no conversion of the version does.
    ['/apis/apps/v1/replicasets', ['metadata.name']],
    ['/apis/batch/v1/jobs', ['status.successful']],
    ['/apis/certificates.k8s.io/v1/certificatesigningrequests', ['spec.signerName']],
    ['/apis/resource.k8s.io/v1/resourceslices', ['spec.nodeName', 'spec.driver']],
  ];
  for (const [path, fields] of rows) {
    for (const field of fields) {
      const answer = await ask('GET', `${path}?fieldSelector=${field}%3Dnone`);
      assert.deepEqual([answer.status, answer.body.items], [200, []], `${path} ${field}: ${answer.text}`);
    }
    assert.equal((await ask('GET', `${path}?fieldSelector=spec.nope%3Da`)).status, 400, path);
  }
  assert.equal((await ask('GET', '/apis/apps/v1/replicasets?fieldSelector=status.replicas%3D1')).status, 400);
  const service = await ask('GET', '/api/v1/services?fieldSelector=spec.type%3DClusterIP,metadata.name%21%3Dput');
  assert.deepEqual(
    service.body.items.map((one: Body) => one.metadata.name),
    ['kubernetes'],
  );
});

test('each warning is a header of its own', async () => {
  const body = { ...configMap('warned'), extra: 'a "b"', other: 1 };
  const { headers, status } = await ask('POST', MAPS, { body });
  assert.equal(status, 201);
  assert.equal(headers['warning'], '299 - "unknown field \\"extra\\"", 299 - "unknown field \\"other\\""');
  const old = await ask('GET', '/api/v1/namespaces/default/endpoints');
  assert.match(String(old.headers['warning']), /^299 - "v1 Endpoints is deprecated in v1\.33\+; use discovery/);
});

test('reviews of tokens and of access', async () => {
  const token = (await plane.kubectl(['create', 'token', 'default'])).stdout;
  const review = async (path: string, spec: object): Promise<Body> => {
    const [, group, kind] = /^\/apis\/([^/]+)\/v1\/(?:.*\/)?([^/]+)$/.exec(path) ?? [];
    const kinds: Record<string, string> = {
      tokenreviews: 'TokenReview',
      subjectaccessreviews: 'SubjectAccessReview',
      localsubjectaccessreviews: 'LocalSubjectAccessReview',
      selfsubjectaccessreviews: 'SelfSubjectAccessReview',
      selfsubjectrulesreviews: 'SelfSubjectRulesReview',
    };
    const body = { apiVersion: `${group}/v1`, kind: kinds[kind!], spec };
    const answer = await ask('POST', path, { body });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.status;
  };
  const [authn, authz] = ['/apis/authentication.k8s.io/v1', '/apis/authorization.k8s.io/v1'];
  const known = await review(`${authn}/tokenreviews`, { token });
  assert.equal(known.user.username, 'system:serviceaccount:default:default');
  assert.deepEqual([known.authenticated, known.audiences.length], [true, 1]);
  const elsewhere = await review(`${authn}/tokenreviews`, { token, audiences: ['vault'] });
  assert.equal(elsewhere.authenticated, undefined);
  assert.match(elsewhere.error, /is invalid for the target audiences \["vault"\]/);
  const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'default' };
  const asked = await review(`${authz}/subjectaccessreviews`, { user: 'ann', resourceAttributes });
  assert.equal(asked.allowed, false);
  const group = await review(`${authz}/subjectaccessreviews`, {
    user: 'ann',
    groups: ['system:masters'],
    resourceAttributes,
  });
  assert.equal(group.allowed, true);
  const path = `${authz}/namespaces/default/localsubjectaccessreviews`;
  assert.equal((await review(path, { user: 'ann', resourceAttributes })).allowed, false);
  const outside = { user: 'ann', nonResourceAttributes: { verb: 'get', path: '/version' } };
  assert.equal((await review(`${authz}/subjectaccessreviews`, outside)).allowed, false);
  assert.equal((await review(`${authz}/selfsubjectaccessreviews`, { resourceAttributes })).allowed, true);
  const rules = await review(`${authz}/selfsubjectrulesreviews`, { namespace: 'default' });
  assert.ok(rules.resourceRules.some(({ verbs }: Body) => verbs.includes('*')));
});

test('requests without credentials are anonymous', async () => {
  const { status, body } = await ask('GET', '/api/v1/pods', { anonymous: true });
  assert.deepEqual([status, body.reason], [403, 'Forbidden']);
  assert.match(body.message, /User "system:anonymous" cannot list resource "pods"/);
  assert.equal((await ask('GET', '/livez', { anonymous: true })).status, 200);
  const bad = await ask('GET', '/api/v1/pods', { anonymous: true, headers: { authorization: 'Bearer nobody' } });
  assert.deepEqual([bad.status, bad.body.reason, bad.body.message], [401, 'Unauthorized', 'Unauthorized']);
});

test('an eviction uses up the budget, and gets a Retry-After when there is none', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  for (const name of ['evict-a', 'evict-b']) {
    const spec = { nodeName: 'nowhere', containers: [{ name: 'c', image: 'i' }] };
    await made(pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { evict: 'me' } }, spec });
    const headers = { 'content-type': 'application/merge-patch+json' };
    assert.equal((await ask('PATCH', `${pods}/${name}/status`, { body: { status: ready }, headers })).status, 200);
  }
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  await made(budgets, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'one' },
    spec: { minAvailable: 1, selector: { matchLabels: { evict: 'me' } } },
  });
  await until('the budget is known', async () => {
    const { body } = await ask('GET', `${budgets}/one`);
    return body.status.disruptionsAllowed === 1;
  });
  const evict = (name: string): Promise<Answer> =>
    ask('POST', `${pods}/${name}/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
    });
  const trial = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'evict-a' },
    deleteOptions: { dryRun: ['All'] },
  };
  assert.equal((await ask('POST', `${pods}/evict-a/eviction`, { body: trial })).status, 201);
  const spent = await evict('evict-a');
  assert.equal(spent.status, 201, spent.text);
  const refused = await evict('evict-b');
  assert.equal(refused.status, 429, refused.text);
  assert.match(refused.body.message, /^Cannot evict pod as it would violate the pod's disruption budget\.$/);
  assert.deepEqual(
    refused.body.details.causes.map(({ reason }: Body) => reason),
    ['DisruptionBudget'],
  );
  assert.equal((await evict('nope')).status, 404);
  await plane.kubectl(['delete', 'pod', 'evict-a', 'evict-b', '--force', '--grace-period=0']);
});

test('client-side apply is taken over by server-side apply, and back', async () => {
  const object = (data: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved}\ndata: ${data}\n`;
  const managers = async (): Promise<string[]> => {
    const { body } = await ask('GET', `${MAPS}/moved`);
    return body.metadata.managedFields.map(({ manager, operation }: Body) => `${manager} ${operation}`).sort();
  };
  const apply = async (data: string, ...flags: string[]): Promise<void> => {
    const said = await plane.kubectl(['apply', ...flags, '-f', '-'], object(data));
    assert.equal(said.code, 0, said.stderr);
  };
  await apply('{a: "1", b: "1"}');
  assert.deepEqual(await managers(), ['kubectl-client-side-apply Update']);
  await apply('{a: "2"}', '--server-side');
  assert.deepEqual(await managers(), ['kubectl Apply', 'kubectl-last-applied Apply']);
  const { body } = await ask('GET', `${MAPS}/moved`);
  assert.deepEqual(body.data, { a: '2' }, 'what is no longer applied goes');
  const last = body.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'];
  assert.deepEqual(JSON.parse(last).data, { a: '2' }, 'client-side apply can go on from here');
  await apply('{c: "3"}');
  assert.deepEqual((await ask('GET', `${MAPS}/moved`)).body.data, { c: '3' });
});

test('certificates of system:masters are not signed on request', async () => {
  const requested = Buffer.from(await createCertificateRequest('CN=eve,O=system:masters')).toString('base64');
  const body = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'eve' },
    spec: { request: requested, signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
  };
  const refused = await ask('POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', { body });
  assert.equal(refused.status, 403, refused.text);
  assert.match(
    refused.body.message,
    /use of kubernetes\.io\/kube-apiserver-client signer with system:masters group is not allowed/,
  );
});

test('users cannot grant rights that they do not have', async () => {
  const kubectl = async (...args: string[]): Promise<string> => {
    const said = await plane.kubectl(args);
    return said.stdout + said.stderr;
  };
  await kubectl(
    'create',
    'clusterrole',
    'roles',
    '--verb=create,update,get',
    '--resource=clusterroles,clusterrolebindings',
  );
  await kubectl('create', 'clusterrolebinding', 'roles', '--clusterrole=roles', '--user=bob');
  const create = ['create', 'clusterrole', 'more', '--verb=get', '--resource=secrets', '--as=bob'];
  assert.match(
    await kubectl(...create),
    /user "bob" \(groups=\["system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get"\]\}/,
  );
  const bind = ['create', 'clusterrolebinding', 'more', '--clusterrole=cluster-admin', '--user=bob', '--as=bob'];
  assert.match(await kubectl(...bind), /is attempting to grant RBAC permissions not currently held/);
  await kubectl('create', 'clusterrole', 'escalate', '--verb=escalate,bind', '--resource=clusterroles');
  await kubectl('create', 'clusterrolebinding', 'escalate', '--clusterrole=escalate', '--user=bob');
  assert.match(await kubectl(...create), /clusterrole\.rbac\.authorization\.k8s\.io\/more created/);
});

test('a node may change what concerns it, and nothing else', async () => {
  const as = ['--as=system:node:n1', '--as-group=system:nodes'];
  const node = (name: string, labels: object = {}): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  const create = async (input: string): Promise<string> => {
    const said = await plane.kubectl(['create', '-f', '-', ...as], input);
    return said.stdout + said.stderr;
  };
  assert.match(await create(node('n2')), /node "n1" is not allowed to modify node "n2"/);
  assert.match(
    await create(node('n1', { 'node-restriction.kubernetes.io/x': 'y' })),
    /is not allowed to set the following labels: node-restriction\.kubernetes\.io\/x/,
  );
  assert.match(await create(node('n1', { 'kubernetes.io/os': 'linux' })), /node\/n1 created/);
  const label = await plane.kubectl(['label', 'node', 'n1', 'node-role.kubernetes.io/control-plane=', ...as]);
  assert.match(label.stderr, /is not allowed to modify labels: node-role\.kubernetes\.io\/control-plane/);
  const secret = await plane.kubectl(['get', 'secret', 'x', '-n', 'default', ...as]);
  assert.match(secret.stderr, /no relationship found between node 'n1' and this object/);
});

test('addresses and ports of services: chosen, allocated, in use', async () => {
  const services = '/api/v1/namespaces/default/services';
  const service = (name: string, spec: object): object => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ports: [{ port: 80 }], ...spec },
  });
  const chosen = await made(services, service('chosen', { clusterIP: '10.223.0.9' }));
  assert.deepEqual([chosen.spec.clusterIP, chosen.spec.clusterIPs], ['10.223.0.9', ['10.223.0.9']]);
  const rows: readonly [object, RegExp][] = [
    [{ clusterIP: '10.223.0.9' }, /failed to allocate IP 10\.223\.0\.9: provided IP is already allocated/],
    [{ clusterIP: '10.9.9.9' }, /provided IP .*is not in the valid range/],
    [{ type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] }, /provided port is not in the valid range/],
  ];
  for (const [spec, message] of rows) {
    const { status, body } = await ask('POST', services, { body: service('other', spec) });
    assert.equal(status, 422, body.message);
    assert.match(body.message, message);
  }
  const local = await made(services, service('local', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }));
  const { healthCheckNodePort, ports } = local.spec;
  assert.ok(healthCheckNodePort >= 30_000 && healthCheckNodePort !== ports[0].nodePort);
  const taken = service('taken', { type: 'NodePort', ports: [{ port: 80, nodePort: healthCheckNodePort }] });
  assert.match((await ask('POST', services, { body: taken })).body.message, /provided port is already allocated/);
  assert.equal((await ask('DELETE', `${services}/local`)).status, 200);
  await made(services, taken);
});

test('component statuses, which are deprecated', async () => {
  const { stdout, stderr } = await plane.kubectl(['get', 'componentstatuses']);
  assert.match(stderr, /^Warning: v1 ComponentStatus is deprecated in v1\.19\+$/);
  assert.match(
    stdout,
    /^NAME\s+STATUS\s+MESSAGE\s+ERROR\s*\ncontroller-manager\s+Healthy\s+ok\s*\nscheduler\s+Healthy\s+ok\s*\netcd-0\s+Healthy\s+ok\s*$/,
  );
  const one = await ask('GET', '/api/v1/componentstatuses/scheduler');
  assert.deepEqual(one.body.conditions, [{ type: 'Healthy', status: 'True', message: 'ok' }]);
  assert.equal((await ask('GET', '/api/v1/componentstatuses/nope')).status, 404);
});
