import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ContainerStatus, PodStatus, SandboxStatus } from '../container/runtime.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { containerHash } from './container-hash.ts';
import { podOf } from './runtime-fixture.ts';

const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'i', ...more });
const side = (name: string, more: Partial<Container> = {}): Container =>
  container(name, { restartPolicy: 'Always', ...more });
const asks = (cpu: string): Partial<Container> => ({ resources: { requests: { cpu } } });
const rule = (action: string, value: number) => [{ action, exitCodes: { operator: 'In', values: [value] } }];

type State = `running` | `exited:${number}` | 'unknown' | 'created' | 'running:changed';

function statusOf(name: string, state: State): ContainerStatus {
  const [kind, detail] = state.split(':') as [ContainerStatus['state'], string | undefined];
  return {
    id: `id-${name}`,
    name,
    state: kind,
    createdAtMs: 1,
    startedAtMs: 1,
    finishedAtMs: 2,
    exitCode: kind === 'exited' ? Number(detail) : 0,
    image: 'i',
    imageId: '',
    imageRef: '',
    hash: detail === 'changed' ? 'other' : containerHash(container(name)),
    restartCount: 0,
    reason: '',
    message: '',
    podSandboxId: 's',
  };
}

const readySandbox: SandboxStatus = {
  id: 's',
  ready: true,
  attempt: 0,
  createdAtMs: 1,
  ips: ['10.0.0.1'],
  networkNamespace: 'pod',
};

interface Case {
  readonly about: string;
  readonly spec?: Partial<NonNullable<Pod['spec']>>;
  readonly states?: Readonly<Record<string, State>>;
  readonly sandboxes?: readonly SandboxStatus[];
  readonly probes?: Readonly<Record<string, 'success' | 'failure'>>;
  readonly deleting?: boolean;
  /** The resources with which containers were created. */
  readonly actuated?: Readonly<Record<string, Record<string, string>>>;
  /** The expected actions: `sandbox 1`, `kill pod`, `kill a`, `init a`, `start a`, `ephemeral a`, `resize a`, `reset`. */
  readonly expected: readonly string[];
}

function actionsOf({
  spec = {},
  states = {},
  sandboxes = [readySandbox],
  probes = {},
  deleting,
  actuated = {},
}: Case): string[] {
  const pod = podOf(
    { containers: [container('a'), container('b')], ...spec },
    deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {},
  );
  const podStatus: PodStatus = {
    uid: 'uid-1',
    name: 'web',
    namespace: 'default',
    ips: [],
    sandboxes,
    containers: Object.entries(states).map(([name, state]) => statusOf(name, state)),
  };
  const actions = computePodActions({
    pod,
    podStatus,
    probes: { get: (type, id) => probes[`${type} ${id.slice(3)}`] },
    actuated: ({ name }) => (actuated[name] === undefined ? undefined : { requests: actuated[name] }),
  });
  return [
    ...(actions.resetContainers ? ['reset'] : []),
    ...(actions.killPod ? ['kill pod'] : []),
    ...(actions.createSandbox ? [`sandbox ${actions.attempt}`] : []),
    ...actions.containersToKill.map(({ name }) => `kill ${name}`),
    ...actions.ephemeralContainersToStart.map(({ name }) => `ephemeral ${name}`),
    ...actions.containersToResize.map((resize) => `resize ${resize.container.name}`),
    ...actions.initContainersToStart.map(({ name }) => `init ${name}`),
    ...actions.containersToStart.map(({ name }) => `start ${name}`),
  ];
}

const running = { a: 'running', b: 'running' } as const;
const startupProbe = {};

const cases: readonly Case[] = [
  { about: 'a new pod', sandboxes: [], expected: ['kill pod', 'sandbox 0', 'start a', 'start b'] },
  { about: 'all well', states: running, expected: [] },
  { about: 'a crashed container', states: { ...running, a: 'exited:1' }, expected: ['start a'] },
  {
    about: 'a crashed container that may not restart',
    spec: { restartPolicy: 'Never' },
    states: { ...running, a: 'exited:1' },
    expected: [],
  },
  {
    about: 'a finished container under OnFailure',
    spec: { restartPolicy: 'OnFailure' },
    states: { ...running, a: 'exited:0' },
    expected: [],
  },
  {
    about: 'all finished',
    spec: { restartPolicy: 'Never' },
    states: { a: 'exited:0', b: 'exited:1' },
    expected: ['kill pod'],
  },
  { about: 'a pod that is being deleted', states: { ...running, a: 'exited:1' }, deleting: true, expected: [] },
  { about: 'an unknown container', states: { ...running, a: 'unknown' }, expected: ['kill a', 'start a'] },
  { about: 'a container created but not started', states: { ...running, a: 'created' }, expected: ['start a'] },
  { about: 'a changed image', states: { ...running, a: 'running:changed' }, expected: ['kill a', 'start a'] },
  {
    about: 'a failed liveness probe',
    states: running,
    probes: { 'liveness a': 'failure' },
    expected: ['kill a', 'start a'],
  },
  {
    about: 'a failed liveness probe under Never',
    spec: { restartPolicy: 'Never' },
    states: running,
    probes: { 'liveness a': 'failure' },
    expected: ['kill a'],
  },
  {
    about: 'a failed liveness probe under Never with a rule that may restart',
    spec: {
      containers: [
        container('a', { restartPolicy: 'Never', restartPolicyRules: rule('Restart', 137) }),
        container('b'),
      ],
    },
    states: running,
    probes: { 'liveness a': 'failure' },
    expected: ['kill a', 'start a'],
  },
  {
    about: 'a failed startup probe',
    states: running,
    probes: { 'startup b': 'failure' },
    expected: ['kill b', 'start b'],
  },
  {
    about: 'a failed readiness probe changes nothing',
    states: running,
    probes: { 'readiness a': 'failure' },
    expected: [],
  },
  {
    about: 'a lost sandbox',
    sandboxes: [{ ...readySandbox, ready: false, attempt: 4 }],
    states: running,
    expected: ['kill pod', 'sandbox 5', 'start a', 'start b'],
  },
  {
    about: 'a lost sandbox under Never',
    spec: { restartPolicy: 'Never' },
    sandboxes: [{ ...readySandbox, ready: false }],
    states: running,
    expected: ['kill pod'],
  },
  {
    about: 'a lost sandbox after success',
    spec: { restartPolicy: 'OnFailure' },
    sandboxes: [{ ...readySandbox, ready: false }],
    states: { a: 'exited:0', b: 'exited:0' },
    expected: ['kill pod'],
  },
  {
    about: 'a lost sandbox with one success',
    spec: { restartPolicy: 'OnFailure' },
    sandboxes: [{ ...readySandbox, ready: false }],
    states: { a: 'exited:0', b: 'exited:1' },
    expected: ['kill pod', 'sandbox 1', 'start b'],
  },
  {
    about: 'two ready sandboxes',
    sandboxes: [{ ...readySandbox, attempt: 1 }, readySandbox],
    states: running,
    expected: ['kill pod', 'sandbox 2', 'start a', 'start b'],
  },
  {
    about: 'a sandbox without an address',
    sandboxes: [{ ...readySandbox, ips: [] }],
    states: running,
    expected: ['kill pod', 'sandbox 1', 'start a', 'start b'],
  },
  {
    about: 'a sandbox of the wrong network',
    spec: { hostNetwork: true },
    states: running,
    expected: ['kill pod', 'sandbox 1', 'start a', 'start b'],
  },
  {
    about: 'an ephemeral container',
    spec: { ephemeralContainers: [{ name: 'e' }] },
    states: running,
    expected: ['ephemeral e'],
  },
  {
    about: 'an ephemeral container that ended',
    spec: { ephemeralContainers: [{ name: 'e' }] },
    states: { ...running, e: 'exited:1' },
    expected: [],
  },

  {
    about: 'init: a new pod',
    spec: { initContainers: [container('i'), container('j')] },
    sandboxes: [],
    expected: ['kill pod', 'sandbox 0', 'init i'],
  },
  { about: 'init: none has run', spec: { initContainers: [container('i')] }, expected: ['init i'] },
  {
    about: 'init: the first runs',
    spec: { initContainers: [container('i'), container('j')] },
    states: { i: 'running' },
    expected: [],
  },
  {
    about: 'init: the first is done',
    spec: { initContainers: [container('i'), container('j')] },
    states: { i: 'exited:0' },
    expected: ['init j'],
  },
  {
    about: 'init: all done',
    spec: { initContainers: [container('i'), container('j')] },
    states: { i: 'exited:0', j: 'exited:0' },
    expected: ['start a', 'start b'],
  },
  {
    about: 'init: all done, the first removed',
    spec: { initContainers: [container('i'), container('j')] },
    states: { j: 'exited:0' },
    expected: ['start a', 'start b'],
  },
  {
    about: 'init: one failed',
    spec: { initContainers: [container('i')] },
    states: { i: 'exited:1' },
    expected: ['init i'],
  },
  {
    about: 'init: one failed under Never',
    spec: { restartPolicy: 'Never', initContainers: [container('i')] },
    states: { i: 'exited:1' },
    expected: ['kill pod'],
  },
  {
    about: 'init: an unknown one',
    spec: { initContainers: [container('i')] },
    states: { i: 'unknown' },
    expected: ['kill i', 'init i'],
  },
  {
    about: 'init: all gone after initialization',
    spec: { initContainers: [container('i')] },
    states: running,
    expected: [],
  },

  {
    about: 'sidecar: starts what comes after',
    spec: { initContainers: [side('s'), container('i')] },
    states: { s: 'running' },
    expected: ['init i'],
  },
  {
    about: 'sidecar: the last one, running',
    spec: { initContainers: [side('s')] },
    states: { s: 'running' },
    expected: ['start a', 'start b'],
  },
  {
    about: 'sidecar: holds the next back until it has started',
    spec: { initContainers: [side('s', { startupProbe })] },
    states: { s: 'running' },
    expected: [],
  },
  {
    about: 'sidecar: started',
    spec: { initContainers: [side('s', { startupProbe })] },
    states: { s: 'running' },
    probes: { 'startup s': 'success' },
    expected: ['start a', 'start b'],
  },
  {
    about: 'sidecar: failed to start',
    spec: { initContainers: [side('s', { startupProbe })] },
    states: { s: 'running' },
    probes: { 'startup s': 'failure' },
    expected: ['kill s', 'init s'],
  },
  {
    about: 'sidecar: ended while a later init container runs',
    spec: { initContainers: [side('s'), container('i')] },
    states: { s: 'exited:0', i: 'running' },
    expected: ['init s'],
  },
  {
    about: 'sidecar: ended while the pod runs',
    spec: { initContainers: [side('s')] },
    states: { ...running, s: 'exited:1' },
    expected: ['init s'],
  },
  {
    about: 'sidecar: ended under Never',
    spec: { restartPolicy: 'Never', initContainers: [side('s')] },
    states: { ...running, s: 'exited:1' },
    expected: ['init s'],
  },
  {
    about: 'sidecar: removed while the pod runs',
    spec: { initContainers: [side('s')] },
    states: running,
    expected: ['init s'],
  },
  {
    about: 'sidecar: alone at the end',
    spec: { restartPolicy: 'Never', initContainers: [side('s')] },
    states: { s: 'running', a: 'exited:0', b: 'exited:0' },
    expected: ['kill pod'],
  },
  {
    about: 'sidecar: dead at the end is left so',
    spec: { restartPolicy: 'Never', initContainers: [side('s')] },
    states: { s: 'exited:0', a: 'exited:0', b: 'exited:0' },
    expected: ['kill pod'],
  },

  {
    about: 'rules: a container of its own policy',
    spec: { restartPolicy: 'Never', containers: [container('a', { restartPolicy: 'OnFailure' }), container('b')] },
    states: { a: 'exited:1', b: 'running' },
    expected: ['start a'],
  },
  {
    about: 'rules: an exit code that restarts',
    spec: {
      containers: [container('a', { restartPolicy: 'Never', restartPolicyRules: rule('Restart', 42) }), container('b')],
    },
    states: { a: 'exited:42', b: 'running' },
    expected: ['start a'],
  },
  {
    about: 'rules: another exit code',
    spec: {
      containers: [container('a', { restartPolicy: 'Never', restartPolicyRules: rule('Restart', 42) }), container('b')],
    },
    states: { a: 'exited:1', b: 'running' },
    expected: [],
  },
  {
    about: 'rules: an exit code that restarts all',
    spec: {
      containers: [
        container('a', { restartPolicy: 'Never', restartPolicyRules: rule('RestartAllContainers', 42) }),
        container('b'),
      ],
    },
    states: { a: 'exited:42', b: 'running' },
    expected: ['reset'],
  },
  {
    about: 'resize: an init container at work, and its sidecar',
    spec: { initContainers: [side('s', asks('2')), container('i', asks('2'))] },
    states: { s: 'running', i: 'running' },
    actuated: { s: { cpu: '1' }, i: { cpu: '1' } },
    expected: ['resize i', 'resize s'],
  },
  {
    about: 'resize: not of an init container that is done',
    spec: { initContainers: [container('i', asks('2'))] },
    states: { i: 'exited:0', ...running },
    actuated: { i: { cpu: '1' } },
    expected: [],
  },
];

describe('pod actions', () => {
  for (const testCase of cases) it(testCase.about, () => assert.deepEqual(actionsOf(testCase), testCase.expected));
});
