import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setPodDefaults } from '../defaults/pod.ts';
import type { NodeSelectorTerm, Pod, PodSpec } from '../gen/core-v1.ts';
import { validatePod, validatePodUpdate } from './pod-update.ts';
import { complaints } from './complaints-fixture.ts';

function pod(spec: Partial<PodSpec> = {}): Pod {
  const made: Pod = {
    metadata: { name: 'web', namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'nginx:1.25' }], ...spec },
  };
  setPodDefaults(made);
  return made;
}

const container = { name: 'c', image: 'nginx:1.25' };
const nameField = { key: 'metadata.name', operator: 'In', values: ['n'] };

test('valid pods have no errors', () => {
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
  ];
  for (const spec of specs)
    assert.deepEqual(
      complaints((field) => validatePod(pod(spec), field)),
      [],
      JSON.stringify(spec),
    );
});

test('each error of a pod is reported at its field', () => {
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
      // Errors have the order of upstream's rules, whatever the order of the fields.
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

test('an update of a pod may change few fields', () => {
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
    ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
  );
  assert.deepEqual(
    change((spec) => void spec.containers.push({ ...old.spec!.containers[0]!, name: 'd' })),
    ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  );
  const [text] = change((spec) => void (spec.nodeName = 'n1'));
  assert.match(
    text!,
    /^spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`,`spec\.initContainers/,
  );
  assert.match(text!, /\+ \tnodeName: "n1"/);
});

test('errors of an update have the order of v1.36, also for fields that disabled gates drop', () => {
  const terms = (...nodeSelectorTerms: NodeSelectorTerm[]): PodSpec['affinity'] => ({
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  });
  const zone: NodeSelectorTerm = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] };
  const gated = { schedulingGates: [{ name: 'g' }], nodeSelector: { a: 'b' }, affinity: terms(zone) };
  const change = 'spec: Forbidden: pod updates may not change fields other than';
  const selected = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const only = 'only additions are allowed (no mutations or deletions)';
  const rows: readonly (readonly [before: Partial<PodSpec>, after: Partial<PodSpec>, refusals: readonly string[]])[] = [
    [
      {},
      { containers: [] },
      ['spec.containers: Required value', 'spec.containers: Forbidden: pod updates may not add'],
    ],
    [{}, { restartPolicy: 'x' }, ['spec.restartPolicy: Unsupported value: "x"', change]],
    [
      { activeDeadlineSeconds: 5 },
      { activeDeadlineSeconds: -1, hostname: 'a' },
      [
        'spec.activeDeadlineSeconds: Invalid value: -1: must be between 1 and',
        'spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and',
      ],
    ],
    [
      { activeDeadlineSeconds: 5 },
      { activeDeadlineSeconds: 6, hostname: 'a' },
      ['spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value'],
    ],
    [{ tolerations: [{ key: 'a' }] }, { tolerations: [] }, ['spec.tolerations: Forbidden: existing toleration']],
    [
      { schedulingGates: [{ name: 'g' }] },
      { schedulingGates: [{ name: 'h' }] },
      ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'"],
    ],
    [gated, { ...gated, nodeSelector: { a: 'b', c: 'd' } }, []],
    [gated, { ...gated, nodeSelector: { a: 'c' } }, ['spec.nodeSelector: Invalid value: {"a":"c"}: only additions']],
    [gated, { ...gated, affinity: terms({ ...zone, matchFields: [nameField] }) }, []],
    [gated, { ...gated, affinity: terms(zone, zone) }, [`${selected}: Invalid value: `]],
    [gated, { ...gated, affinity: undefined }, [`${selected}: Invalid value: null: no additions/deletions`]],
    [gated, { ...gated, affinity: terms({ matchFields: [nameField] }) }, [`${selected}[0]: Invalid value: `]],
    [{ ...gated, affinity: undefined }, gated, []],
    [gated, { ...gated, affinity: { ...terms(zone), podAffinity: {} } }, [change]],
    [{ nodeSelector: { a: 'b' } }, { nodeSelector: { a: 'b', c: 'd' } }, [change]],
  ];
  for (const [before, after, refusals] of rows) {
    const found = complaints((field) => validatePodUpdate(pod(after), pod(before), field));
    const label = `${JSON.stringify(after)}: ${found.join('; ')}`;
    assert.equal(found.length, refusals.length, label);
    for (const [index, refusal] of refusals.entries()) assert.ok(found[index]!.startsWith(refusal), label);
  }
  const [text] = complaints((field) => validatePodUpdate(pod({ ...gated, affinity: terms({}) }), pod(gated), field));
  assert.ok(text!.endsWith(only), text);
});

test('a negative grace period of a pod becomes one second', () => {
  assert.equal(pod({ terminationGracePeriodSeconds: -1 }).spec!.terminationGracePeriodSeconds, 1);
});

test('as v1.36, any key is accepted as a spread topology and any value in preferred node affinity', () => {
  const spread = { maxSkew: 1, topologyKey: 'Not a label!', whenUnsatisfiable: 'DoNotSchedule' };
  const preference = { matchExpressions: [{ key: 'a', operator: 'In', values: ['not a label value!'] }] };
  const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] };
  const taken = pod({ topologySpreadConstraints: [spread], affinity: { nodeAffinity: preferred } });
  assert.deepEqual(
    complaints((field) => validatePod(taken, field)),
    [],
  );
  assert.deepEqual(
    complaints((field) => validatePod(pod({ topologySpreadConstraints: [spread, spread] }), field)),
    [
      'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{Not a label!, DoNotSchedule}"',
    ],
  );
  assert.deepEqual(
    complaints((field) => validatePod(pod({ preemptionPolicy: '' }), field)),
    ['spec.preemptionPolicy: Required value'],
  );
});
