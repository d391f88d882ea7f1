/** Fields that the server fills, drops or sets back whatever a client sends. Upstream: the strategies and defaults of each kind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';
import { type Body, container, created, DRY, JSON_BODY, pathOf, selector, template } from './server-fields-fixture.ts';

/** Path, object, and the expected values in the response. */
const ROWS: readonly (readonly [
  what: string,
  path: string,
  object: object,
  found: (body: Body) => unknown,
  is: unknown,
])[] = [
  [
    'a slice has no topology of old',
    pathOf('apis/discovery.k8s.io/v1', 'endpointslices'),
    {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'], deprecatedTopology: { 'kubernetes.io/hostname': 'n' } }],
    },
    ({ endpoints }) => endpoints,
    [{ addresses: ['10.0.0.1'], conditions: {} }],
  ],
  [
    'a driver has no field of a gate that is off, and the generation its client gave',
    '/apis/storage.k8s.io/v1/csidrivers',
    { metadata: { name: 'd.example.com', generation: 7 }, spec: { preventPodSchedulingIfMissing: true } },
    ({ spec, metadata }) => [spec.preventPodSchedulingIfMissing, metadata.generation],
    [undefined, 7],
  ],
  [
    'a node has its source of configuration, which kubelets here follow',
    '/api/v1/nodes',
    { spec: { configSource: { configMap: { name: 'a', namespace: 'b', kubeletConfigKey: 'c' } } } },
    ({ spec }) => spec.configSource.configMap.name,
    'a',
  ],
  [
    'an account refers to secrets by name',
    pathOf('api/v1', 'serviceaccounts'),
    { secrets: [{ name: 's', kind: 'Secret', namespace: 'other', uid: 'u' }] },
    ({ secrets }) => secrets,
    [{ name: 's' }],
  ],
  [
    'a device has no lists as attributes and maps no resources of its node',
    '/apis/resource.k8s.io/v1/resourceslices',
    {
      spec: {
        driver: 'd.example.com',
        nodeName: 'n',
        pool: { name: 'p', resourceSliceCount: 1, generation: 1 },
        devices: [
          {
            name: 'x',
            attributes: { a: { bool: true, bools: [true] } },
            nodeAllocatableResourceMappings: { cpu: { allocationMultiplier: '1' } },
          },
        ],
      },
    },
    ({ spec }) => spec.devices,
    [{ name: 'x', attributes: { a: { bool: true } } }],
  ],
  [
    'a range of limits without a name has one',
    pathOf('api/v1', 'limitranges'),
    { metadata: {}, spec: { limits: [] } },
    ({ metadata }) => /^[0-9a-f]{8}-/.test(metadata.name),
    true,
  ],
  [
    "a job without labels has its template's, with those that make pods its own",
    pathOf('apis/batch/v1', 'jobs'),
    { spec: { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } } },
    ({ metadata, spec }) => [
      metadata.labels['batch.kubernetes.io/job-name'],
      Object.keys(metadata.labels).length - Object.keys(spec.template.metadata.labels).length,
    ],
    ['a', 0],
  ],
  [
    'limits are thousandths at least',
    pathOf('api/v1', 'limitranges'),
    { spec: { limits: [{ type: 'Pod', min: { cpu: '1n' }, max: { cpu: '1500u' } }] } },
    ({ spec }) => spec.limits[0],
    { type: 'Pod', min: { cpu: '1m' }, max: { cpu: '2m' } },
  ],
  [
    'so are quotas',
    pathOf('api/v1', 'resourcequotas'),
    { spec: { hard: { cpu: '1n' } } },
    ({ spec }) => spec.hard,
    { cpu: '1m' },
  ],
  [
    'claims of a set are claims',
    pathOf('apis/apps/v1', 'statefulsets'),
    {
      spec: {
        selector,
        template,
        volumeClaimTemplates: [
          {
            apiVersion: 'x/v1',
            kind: 'Other',
            metadata: { name: 'd' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    },
    ({
      spec: {
        volumeClaimTemplates: [claim],
      },
    }) => [claim.apiVersion, claim.kind],
    ['v1', 'PersistentVolumeClaim'],
  ],
  [
    "whoever creates a daemon set owns its template's generation",
    pathOf('apis/apps/v1', 'daemonsets'),
    { spec: { selector, template } },
    ({ metadata }) => [metadata.annotations, metadata.managedFields[0].fieldsV1['f:metadata']],
    [
      { 'deprecated.daemonset.template.generation': '1' },
      { 'f:annotations': { '.': {}, 'f:deprecated.daemonset.template.generation': {} } },
    ],
  ],
  [
    'nobody owns times of deletion',
    pathOf('api/v1', 'configmaps'),
    { metadata: { name: 'a', deletionTimestamp: '2020-01-01T00:00:00Z', labels: { a: 'b' } } },
    ({ metadata }) => metadata.managedFields[0].fieldsV1,
    { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } } },
  ],
  [
    'a gated pod has been so since it was created',
    pathOf('api/v1', 'pods'),
    { spec: { containers: [container], schedulingGates: [{ name: 'a.b/c' }] } },
    ({ status, metadata }) => status.conditions[0].lastTransitionTime === metadata.creationTimestamp,
    true,
  ],
  [
    "a pod's own requests follow from its containers', and else from its limits",
    pathOf('api/v1', 'pods'),
    {
      spec: {
        resources: { limits: { cpu: '3' } },
        initContainers: [
          { name: 'side', image: 'i', restartPolicy: 'Always', resources: { requests: { memory: '1Gi' } } },
          { name: 'first', image: 'i', resources: { requests: { memory: '5Gi' } } },
        ],
        containers: [
          {
            ...container,
            resources: { requests: { memory: '1Gi' }, limits: { 'hugepages-2Mi': '4Mi', memory: '2Gi' } },
          },
          { ...container, name: 'd', resources: { requests: { memory: '1Gi' } } },
        ],
      },
    },
    ({ spec }) => spec.resources,
    { limits: { cpu: '3', 'hugepages-2Mi': '4Mi' }, requests: { cpu: '3', memory: '6Gi', 'hugepages-2Mi': '4Mi' } },
  ],
  [
    'an autoscaler of v1 reads as v2 stores it',
    `${pathOf('apis/autoscaling/v1', 'horizontalpodautoscalers')}`,
    {
      metadata: { name: 'a', annotations: { 'autoscaling.alpha.kubernetes.io/metrics': 'bad', own: 'kept' } },
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 5 },
    },
    ({ metadata, spec }) => [
      metadata.annotations,
      spec.targetCPUUtilizationPercentage,
      metadata.managedFields[0].fieldsV1['f:spec']['f:targetCPUUtilizationPercentage'],
    ],
    [{ own: 'kept' }, 80, {}],
  ],
];

for (const [what, path, object, found, is] of ROWS)
  test(what, async () => {
    const server = await startWithAll();
    const named = { metadata: { name: 'a' }, ...object };
    const { body, status, text } = await server.send('POST', path + DRY, named, JSON_BODY);
    assert.equal(status, 201, text);
    assert.deepEqual(found(body), is);
  });

test('v2 reads an autoscaler that v1 created without the zero that v1 writes', async () => {
  const server = await startWithAll();
  const [v1, v2] = ['v1', 'v2'].map((version) => pathOf(`apis/autoscaling/${version}`, 'horizontalpodautoscalers'));
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const made = await created(server, v1!, { metadata: { name: 'a' }, spec: { scaleTargetRef, maxReplicas: 5 } });
  const { body } = await server.send('GET', `${v2}/a`);
  assert.deepEqual(
    [made.status, body.status],
    [
      { currentReplicas: 0, desiredReplicas: 0 },
      { desiredReplicas: 0, currentMetrics: null },
    ],
  );
});

test('a dry run of a service allocates no address', async () => {
  const server = await startWithAll();
  const path = pathOf('api/v1', 'services');
  const service = (name: string): object => ({
    metadata: { name },
    spec: { clusterIP: '10.43.7.7', type: 'NodePort', ports: [{ port: 80, nodePort: 30_999 }] },
  });
  const answers = await Promise.all([
    ...['a', 'b', 'c'].map((name) => server.send('POST', path + DRY, service(name), JSON_BODY)),
    server.send('POST', path, service('d'), JSON_BODY),
  ]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201, 201],
  );
});

test('a pod keeps the generations that its status observed', async () => {
  const server = await startWithAll();
  const path = pathOf('api/v1', 'pods');
  const pod = await created(server, path, { metadata: { name: 'a' }, spec: { containers: [container] } });
  const put = async (status: object): Promise<Body> => {
    const { metadata } = (await server.send('GET', `${path}/a`)).body;
    const answer = await server.send('PUT', `${path}/a/status`, { ...pod, metadata, status }, JSON_BODY);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.status;
  };
  const condition = { type: 'Ready', status: 'True' };
  await put({ phase: 'Running', observedGeneration: 3, conditions: [{ ...condition, observedGeneration: 2 }] });
  const kept = await put({ phase: 'Running', conditions: [condition, { type: 'Other', status: 'True' }] });
  assert.deepEqual(
    [kept.observedGeneration, kept.conditions.map((one: Body) => one.observedGeneration)],
    [3, [2, undefined]],
  );
});

test('deletions of namespaces and definitions have no grace period', async () => {
  const server = await startWithAll();
  const schema = { openAPIV3Schema: { type: 'object' } };
  const definition = {
    metadata: { name: 'ws.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'ws', kind: 'W' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
  const rows = [
    ['/api/v1/namespaces', { metadata: { name: 'a' } }],
    ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition],
  ] as const;
  for (const [path, object] of rows) {
    await created(server, path, object);
    await server.send('DELETE', `${path}/${object.metadata.name}`);
    const { body, text } = await server.send('GET', `${path}/${object.metadata.name}`);
    assert.notEqual(body.metadata.deletionTimestamp, undefined, text);
    assert.equal(body.metadata.deletionGracePeriodSeconds, undefined);
  }
});

test('an update that must name a revision is refused by the name of the resource', async () => {
  const server = await startWithAll();
  const path = pathOf('apis/policy/v1', 'poddisruptionbudgets');
  const budget = { metadata: { name: 'a' }, spec: { minAvailable: 1 } };
  await created(server, path, budget);
  const { status, body } = await server.send('PUT', `${path}/a`, budget, JSON_BODY);
  assert.deepEqual([status, body.details.kind], [422, 'poddisruptionbudgets']);
  assert.match(
    body.message,
    /^poddisruptionbudgets\.policy "a" is invalid: metadata\.resourceVersion: Invalid value: 0/,
  );
});

test('a table of flow schemas is in the order in which they are matched', async () => {
  const { send } = await startWithAll();
  const path = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
  for (const [name, matchingPrecedence] of [
    ['a', 20],
    ['b', 10],
    ['c', 20],
  ] as const)
    await send(
      'POST',
      path,
      { metadata: { name }, spec: { matchingPrecedence, priorityLevelConfiguration: { name: 'exempt' } } },
      JSON_BODY,
    );
  const { body } = await send('GET', path, undefined, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' });
  assert.deepEqual(
    body.rows.map(({ cells }: Body) => cells[0]),
    ['b', 'a', 'c'],
  );
});

test('a review of oneself is as of now', async () => {
  const { send } = await startWithAll();
  const { body, text } = await send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, JSON_BODY);
  assert.match(body.metadata.creationTimestamp, /^\d{4}-/, text);
});

test('groups are in the order of their priorities, and of their names', async () => {
  const { send } = await startWithAll([], 'api/all=true');
  const names: string[] = (await send('GET', '/apis')).body.groups.map(({ name }: Body) => name);
  const last = names.indexOf('discovery.k8s.io');
  assert.deepEqual(names.slice(last), [
    'discovery.k8s.io',
    'resource.k8s.io',
    'flowcontrol.apiserver.k8s.io',
    'internal.apiserver.k8s.io',
  ]);
});
