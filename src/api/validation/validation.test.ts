import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setDeploymentDefaults } from '../defaults/apps.ts';
import { setJobDefaults } from '../defaults/batch.ts';
import { setServiceDefaults } from '../defaults/core.ts';
import { setPodDefaults } from '../defaults/pod.ts';
import { Field } from '../field-error.ts';
import type { Deployment } from '../gen/apps-v1.ts';
import type { Job } from '../gen/batch-v1.ts';
import type {
  Pod,
  PodSpec,
  ResourceQuota,
  ResourceQuotaSpec,
  ScopedResourceSelectorRequirement,
  Service,
  ServiceSpec,
} from '../gen/core-v1.ts';
import { validateDeployment, validateDeploymentUpdate } from './apps.ts';
import { validateSecret } from './config.ts';
import { cronScheduleProblem } from '../cron-schedule.ts';
import { validateIngress } from './ingress.ts';
import { validateJob } from './job.ts';
import { validatePodTemplateSpec } from './pod-template.ts';
import { validatePod, validatePodUpdate } from './pod-update.ts';
import { validateClusterRoleBinding, validateRoleBinding } from './rbac.ts';
import { validateResourceQuota, validateResourceQuotaUpdate } from './resource-quota.ts';
import { validateService, validateServiceUpdate } from './service.ts';

function complaints(check: (field: Field) => void): string[] {
  const field = Field.root();
  check(field);
  return field.errors.map((error) => `${error.field}: ${error.text}`);
}

function pod(spec: Partial<PodSpec> = {}): Pod {
  const made: Pod = {
    metadata: { name: 'web', namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'nginx:1.25' }], ...spec },
  };
  setPodDefaults(made);
  return made;
}

const container = { name: 'c', image: 'nginx:1.25' };

test('pods that are fine', () => {
  const specs: readonly Partial<PodSpec>[] = [
    {},
    { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80 }] }] },
    { volumes: [{ name: 'v' }], containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/v' }] }] },
    {
      initContainers: [{ name: 'i', image: 'x', restartPolicy: 'Always', readinessProbe: { tcpSocket: { port: 80 } } }],
    },
    { dnsPolicy: 'None', dnsConfig: { nameservers: ['1.2.3.4'] } },
    {
      containers: [
        { ...container, env: [{ name: 'A.b-c', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a/b']" } } }] },
      ],
    },
    { containers: [{ ...container, resources: { limits: { 'example.com/gpu': '1' } } }] },
    // Upstream stores it; who ends the pod takes it as one second.
    { terminationGracePeriodSeconds: -1 },
  ];
  for (const spec of specs)
    assert.deepEqual(
      complaints((field) => validatePod(pod(spec), field)),
      [],
      JSON.stringify(spec),
    );
});

test('what is wrong with a pod', () => {
  const cases: readonly (readonly [Partial<PodSpec>, string[]])[] = [
    [{ containers: [] }, ['spec.containers: Required value']],
    [{ containers: [{ name: 'c' }] }, ['spec.containers[0].image: Required value']],
    [{ containers: [container, container] }, ['spec.containers[1].name: Duplicate value: "c"']],
    [
      { restartPolicy: 'Sometimes' },
      ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      { containers: [{ ...container, imagePullPolicy: 'x' }] },
      [
        'spec.containers[0].imagePullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", "Never"',
      ],
    ],
    [
      { containers: [{ ...container, ports: [{ containerPort: 70000 }] }] },
      ['spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive'],
    ],
    [
      { containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/v' }] }] },
      ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ],
    [
      { containers: [{ ...container, resources: { requests: { cpu: '200m' }, limits: { cpu: '100m' } } }] },
      ['spec.containers[0].resources.requests: Invalid value: "200m": must be less than or equal to cpu limit of 100m'],
    ],
    [
      { containers: [{ ...container, livenessProbe: {} }] },
      ['spec.containers[0].livenessProbe: Required value: must specify a handler type'],
    ],
    [
      { containers: [{ ...container, livenessProbe: { exec: { command: ['x'] }, successThreshold: 2 } }] },
      ['spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1'],
    ],
    [{ dnsPolicy: 'None' }, ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None']],
    [
      { volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/x' } }] },
      ['spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type'],
    ],
    [
      // In the order of upstream's rules, whatever the order of the fields.
      { volumes: [{ image: {}, configMap: {}, name: 'v', hostPath: { path: 'x/..' } }] },
      [
        'spec.volumes[0].hostPath.path: Invalid value: "x/..": must not contain \'..\'',
        'spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type',
        'spec.volumes[0].image: Forbidden: may not specify more than 1 volume type',
      ],
    ],
    [
      { initContainers: [{ name: 'i', image: 'x', readinessProbe: { tcpSocket: { port: 80 } } }] },
      [
        'spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
      ],
    ],
    [
      { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }] },
      ['spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero'],
    ],
    [
      { containers: [{ ...container, envFrom: [{}] }] },
      ['spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
    ],
  ];
  for (const [spec, want] of cases)
    assert.deepEqual(
      complaints((field) => validatePod(pod(spec), field)),
      want,
      JSON.stringify(spec),
    );
});

test('updates of pods', () => {
  const old = pod({ tolerations: [{ key: 'a', operator: 'Exists' }] });
  const change = (edit: (spec: PodSpec) => void): string[] => {
    const now = structuredClone(old);
    edit(now.spec!);
    return complaints((field) => validatePodUpdate(now, old, field));
  };
  assert.deepEqual(
    change((spec) => void (spec.containers[0]!.image = 'nginx:2')),
    [],
  );
  assert.deepEqual(
    change((spec) => void spec.tolerations!.push({ key: 'b', operator: 'Exists' })),
    [],
  );
  assert.deepEqual(
    change((spec) => void (spec.tolerations = [])),
    ['spec.tolerations[0]: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
  );
  assert.deepEqual(
    change((spec) => void spec.containers.push({ name: 'd', image: 'x' })),
    ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  );
  const [text] = change((spec) => void (spec.nodeName = 'n1'));
  assert.match(
    text!,
    /^spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`,`spec\.initContainers/,
  );
  assert.match(text!, /\+ \tnodeName: "n1"/);
});

function deployment(edit: (deployment: Deployment) => void = () => undefined): Deployment {
  const made: Deployment = {
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container }] } },
    },
  };
  edit(made);
  setDeploymentDefaults(made);
  return made;
}

test('deployments', () => {
  const check = (edit?: (deployment: Deployment) => void) =>
    complaints((field) => validateDeployment(deployment(edit), field));
  assert.deepEqual(check(), []);
  assert.deepEqual(
    check((d) => void (d.spec!.template.metadata!.labels = { a: 'c' })),
    ['spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`'],
  );
  assert.deepEqual(
    check((d) => void (d.spec!.replicas = -1)),
    ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  );
  assert.deepEqual(
    check((d) => void (d.spec!.strategy = { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } })),
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
  );
  const changed = deployment((d) => {
    d.spec!.selector = { matchLabels: { a: 'b', c: 'd' } };
    d.spec!.template.metadata!.labels = { a: 'b', c: 'd' };
  });
  assert.deepEqual(
    complaints((field) => validateDeploymentUpdate(changed, deployment(), field)),
    ['spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable'],
  );
});

test('jobs do not restart always', () => {
  const job: Job = {
    metadata: { name: 'j' },
    spec: {
      manualSelector: true,
      selector: { matchLabels: { x: 'y' } },
      template: { metadata: { labels: { x: 'y' } }, spec: { containers: [{ ...container }] } },
    },
  };
  setJobDefaults(job);
  assert.deepEqual(
    complaints((field) => validateJob(job, field)),
    ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  );
});

function service(spec: ServiceSpec): Service {
  const made: Service = { metadata: { name: 's', namespace: 'default' }, spec };
  setServiceDefaults(made);
  return made;
}

test('services', () => {
  const cases: readonly (readonly [ServiceSpec, string[]])[] = [
    [{ ports: [{ port: 80 }] }, []],
    [{}, ['spec.ports: Required value']],
    [{ clusterIP: 'None', clusterIPs: ['None'] }, []],
    [{ type: 'ExternalName', externalName: 'a.example' }, []],
    [{ type: 'ExternalName' }, ['spec.externalName: Required value']],
    [{ ports: [{ port: 80 }, { port: 81, name: 'b' }] }, ['spec.ports[0].name: Required value']],
    [
      { ports: [{ port: 80, nodePort: 30000 }] },
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      { ports: [{ port: 80 }], externalTrafficPolicy: 'Local' },
      ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
    ],
    [
      {
        ports: [{ port: 80 }],
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } },
      },
      [
        'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400',
      ],
    ],
  ];
  for (const [spec, want] of cases)
    assert.deepEqual(
      complaints((field) => validateService(service(spec), field)),
      want,
      JSON.stringify(spec),
    );
  const old = service({ ports: [{ port: 80 }], clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] });
  const now = service({ ports: [{ port: 80 }], clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'], ipFamilies: ['IPv4'] });
  assert.deepEqual(
    complaints((field) => validateServiceUpdate(now, old, field)),
    ['spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'],
  );
});

test('secrets by type', () => {
  assert.deepEqual(
    complaints((field) => validateSecret({ metadata: {}, type: 'kubernetes.io/tls', data: {} }, field)),
    ['data[tls.crt]: Required value', 'data[tls.key]: Required value'],
  );
});

test('role bindings', () => {
  const binding = {
    metadata: {},
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [{ kind: 'ServiceAccount', name: 'a' }],
  };
  assert.deepEqual(
    complaints((field) => validateRoleBinding(binding, field)),
    [],
  );
  const missing = complaints((field) =>
    validateClusterRoleBinding({ ...binding, roleRef: { ...binding.roleRef, kind: 'ClusterRole' } }, field),
  );
  assert.deepEqual(missing, ['subjects[0].namespace: Required value']);
  const apiGroup = 'rbac.authorization.k8s.io';
  const nameless = { ...binding, subjects: ['User', 'Group'].map((kind) => ({ kind, apiGroup, name: '' })) };
  assert.deepEqual(
    complaints((field) => validateRoleBinding(nameless, field)),
    ['subjects[0].name: Required value', 'subjects[1].name: Required value'],
  );
});

test('a host port may be left out in templates of pods on the host network, not in pods', () => {
  const specOf = (hostPort: number | undefined): PodSpec =>
    ({
      hostNetwork: true,
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: 'a',
          image: 'a',
          imagePullPolicy: 'Always',
          terminationMessagePolicy: 'File',
          ports: [{ containerPort: 9120, protocol: 'TCP', ...(hostPort === undefined ? {} : { hostPort }) }],
        },
      ],
    }) as PodSpec;
  const mismatch = (at: string, hostPort: number): string[] => [
    `${at}.containers[0].ports[0].hostPort: Invalid value: ${hostPort}: must match \`containerPort\` when \`hostNetwork\` is true`,
  ];
  const inTemplate = (hostPort?: number): string[] =>
    complaints((field) => validatePodTemplateSpec({ spec: specOf(hostPort) }, field.at('template')));
  const inPod = (hostPort?: number): string[] =>
    complaints((field) => validatePod({ metadata: { name: 'p' }, spec: specOf(hostPort) }, field));
  assert.deepEqual([inTemplate(), inTemplate(9120), inTemplate(1)], [[], [], mismatch('template.spec', 1)]);
  assert.deepEqual([inPod(), inPod(9120), inPod(1)], [mismatch('spec', 0), [], mismatch('spec', 1)]);
});

test('ingresses', () => {
  const rule = {
    http: { paths: [{ path: 'x', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }] },
  };
  assert.deepEqual(
    complaints((field) => validateIngress({ metadata: {}, spec: { rules: [rule] } }, field)),
    ['spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path'],
  );
});

test('cron schedules', () => {
  for (const text of [
    '* * * * *',
    '*/5 0-3,7 1 jan mon-fri',
    '@daily',
    '@every 1h30m',
    '0 0 ? * 0',
    '0, 12 * * MON-FRI',
    ',0 1,,2 * * *',
    '*-x * * * *',
  ])
    assert.equal(cronScheduleProblem(text), undefined, text);
  assert.equal(cronScheduleProblem('* * * *'), 'expected exactly 5 fields, found 4: [* * * *]');
  assert.equal(cronScheduleProblem('60 * * * *'), 'end of range (60) above maximum (59): 60');
  const notNumber = (text: string): string =>
    `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  for (const [text, bad] of [
    ['0 9-x * * *', 'x'],
    ['0 x-9 * * *', 'x'],
    ['0 0 * jan-mara *', 'mara'],
    ['1- * * * *', ''],
    ['*/x * * * *', 'x'],
    ['*/-1 * * * *', '-1'],
  ] as const)
    assert.equal(cronScheduleProblem(text), notNumber(bad), text);
  assert.equal(cronScheduleProblem('5-1 * * * *'), 'beginning of range (5) beyond end of range (1): 5-1');
  assert.equal(cronScheduleProblem('*/0 * * * *'), 'step of range should be a positive number: */0');
  assert.equal(cronScheduleProblem('1-2-3 * * * *'), 'too many hyphens: 1-2-3');
  assert.equal(cronScheduleProblem('1/2/3 * * * *'), 'too many slashes: 1/2/3');
  assert.equal(cronScheduleProblem('@never'), 'unrecognized descriptor: @never');
});

test('quotas name resources there are, and scopes that go with them', () => {
  const cases: readonly (readonly [ResourceQuotaSpec, string[]])[] = [
    [{ hard: { cpu: '1', 'count/jobs.batch': '2', 'requests.hugepages-2Mi': '1Gi', 'requests.a.b/gpu': '1' } }, []],
    [{ hard: { 'gold.storageclass.storage.k8s.io/requests.storage': '1Gi' }, scopes: ['BestEffort'] }, []],
    [
      { hard: { nails: '1' } },
      [
        'spec.hard[nails]: Invalid value: "nails": must be a standard resource type or fully qualified',
        'spec.hard[nails]: Invalid value: "nails": must be a standard resource for quota',
      ],
    ],
    [{ hard: { pods: '1500m' } }, ['spec.hard[pods]: Invalid value: "1500m": must be an integer']],
    [{ hard: { pods: '1' }, scopes: ['Odd'] }, ['spec.scopes: Invalid value: ["Odd"]: unsupported scope']],
    [
      { hard: { pods: '1', cpu: '1' }, scopes: ['BestEffort'] },
      ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
    ],
    [
      { hard: { services: '1' }, scopes: ['NotTerminating'] },
      ['spec.scopes: Invalid value: ["NotTerminating"]: unsupported scope applied to resource'],
    ],
    [
      { scopes: ['BestEffort', 'NotBestEffort'] },
      ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
    ],
  ];
  for (const [spec, expected] of cases)
    assert.deepEqual(
      complaints((field) => validateResourceQuota({ metadata: {}, spec }, field)),
      expected,
      JSON.stringify(spec),
    );
});

test("a quota's scope selector", () => {
  const selecting = (...matchExpressions: ScopedResourceSelectorRequirement[]) =>
    complaints((field) =>
      validateResourceQuota(
        { metadata: {}, spec: { hard: { pods: '1', configmaps: '1' }, scopeSelector: { matchExpressions } } },
        field,
      ),
    ).map((text) => text.replace(/Invalid value: [{[].*[}\]]: /, ''));
  const unfit = 'spec.scopeSelector.matchExpressions: unsupported scope applied to resource';
  const cases: readonly (readonly [ScopedResourceSelectorRequirement, string[]])[] = [
    [{ scopeName: 'PriorityClass', operator: 'Exists' }, []],
    [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }, []],
    [{ scopeName: 'Terminating', operator: 'Exists' }, []],
    [
      { scopeName: 'PriorityClass', operator: 'NotIn' },
      [
        "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      ],
    ],
    [
      { scopeName: 'PriorityClass', operator: 'DoesNotExist', values: ['high'] },
      [
        "spec.scopeSelector.matchExpressions.values: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
      ],
    ],
    [
      { scopeName: 'PriorityClass', operator: 'Is' },
      ['spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator'],
    ],
    [
      { scopeName: 'BestEffort', operator: 'DoesNotExist' },
      [
        'spec.scopeSelector.matchExpressions.operator: Invalid value: "DoesNotExist": must be \'Exists\' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity',
      ],
    ],
  ];
  for (const [requirement, expected] of cases)
    assert.deepEqual(selecting(requirement), [unfit, ...expected], JSON.stringify(requirement));
  assert.deepEqual(
    selecting({ scopeName: 'Terminating', operator: 'Exists' }, { scopeName: 'NotTerminating', operator: 'Exists' }),
    [unfit, unfit, 'spec.scopeSelector.matchExpressions: conflicting scopes'],
  );
});

test('scopes of a quota stay, in whatever order', () => {
  const quota = (...scopes: string[]): ResourceQuota => ({ metadata: {}, spec: { scopes } });
  const changing = (from: ResourceQuota, to: ResourceQuota) =>
    complaints((field) => validateResourceQuotaUpdate(to, from, field));
  assert.deepEqual(changing(quota('Terminating', 'NotBestEffort'), quota('NotBestEffort', 'Terminating')), []);
  assert.deepEqual(changing(quota('Terminating'), quota()), ['spec.scopes: Invalid value: []: field is immutable']);
});
