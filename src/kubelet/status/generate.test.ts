/** Complete statuses from the state of the runtime. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { parseTime } from '../../api/time.ts';
import type { ContainerStatus as RuntimeContainerStatus, PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { podReadyCondition } from './conditions.ts';
import { generateApiPodStatus, type GenerateInput } from './generate.ts';

const T0 = parseTime('2026-01-01T00:00:00Z');

function container(changes: Partial<RuntimeContainerStatus>): RuntimeContainerStatus {
  return {
    id: 'c1',
    name: 'app',
    state: 'running',
    createdAtMs: T0,
    startedAtMs: T0,
    finishedAtMs: 0,
    exitCode: 0,
    image: 'busybox:1',
    imageId: 'sha256:a',
    imageRef: 'busybox@sha256:b',
    hash: 'h',
    restartCount: 0,
    reason: '',
    message: '',
    podSandboxId: 's1',
    ...changes,
  };
}

function runtimeStatus(...containers: RuntimeContainerStatus[]): RuntimePodStatus {
  return {
    uid: 'u',
    name: 'web',
    namespace: 'default',
    ips: ['10.42.0.5'],
    containers,
    sandboxes: [{ id: 's1', ready: true, attempt: 0, createdAtMs: T0, ips: ['10.42.0.5'], networkNamespace: 'pod' }],
  };
}

const gone: RuntimePodStatus = {
  uid: 'u',
  name: 'web',
  namespace: 'default',
  ips: [],
  containers: [],
  sandboxes: [],
};

function generate(
  changes: Partial<GenerateInput> & { spec?: Partial<NonNullable<Pod['spec']>>; metadata?: Pod['metadata'] },
): PodStatus {
  const { spec, metadata, ...rest } = changes;
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'default', uid: 'u', generation: 3, ...metadata },
    spec: { containers: [{ name: 'app', image: 'busybox:1' }], ...spec },
  };
  return generateApiPodStatus({
    pod,
    runtimeStatus: gone,
    previous: {},
    podIsTerminal: false,
    runtimeName: 'containerd',
    nodeIps: ['192.168.0.1'],
    qosClass: 'BestEffort',
    startReason: () => undefined,
    applyProbes: (_pod, status) => status,
    ...rest,
  });
}

const INITIALIZED = 'Initialized ContainersInitialized: init containers are done';

describe('pod status', () => {
  it('waits with ContainerCreating before there is anything', () => {
    const status = generate({});
    assert.equal(status.phase, 'Pending');
    assert.deepEqual(status.containerStatuses, [
      {
        name: 'app',
        image: 'busybox:1',
        imageID: '',
        state: { waiting: { reason: 'ContainerCreating' } },
        lastState: {},
        ready: false,
        restartCount: 0,
        started: false,
      },
    ]);
    assert.deepEqual(
      status.conditions?.map(({ type, status: value, reason, message, observedGeneration }) => [
        type,
        value,
        reason,
        message,
        observedGeneration,
      ]),
      [
        ['PodReadyToStartContainers', 'False', 'PodSandboxNotReady', 'the pod has no sandbox yet', 3],
        ['Initialized', 'True', 'ContainersInitialized', 'no init containers', 3],
        ['Ready', 'False', 'ContainersNotReady', 'containers with unready status: [app]', 3],
        ['ContainersReady', 'False', 'ContainersNotReady', 'containers with unready status: [app]', 3],
        ['PodScheduled', 'True', 'Scheduled', 'bound to a node', 3],
      ],
    );
    assert.equal(status.hostIP, '192.168.0.1');
    assert.equal(status.podIP, undefined);
  });

  it('waits with PodInitializing where there are init containers, these too', () => {
    const init = { name: 'init', image: 'busybox:1' };
    const status = generate({
      spec: { containers: [{ name: 'app', image: 'busybox:1' }], initContainers: [init, { ...init, name: 'second' }] },
    });
    const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    assert.deepEqual(
      all.map(({ name, state }) => [name, state?.waiting?.reason]),
      [
        ['init', 'PodInitializing'],
        ['second', 'PodInitializing'],
        ['app', 'PodInitializing'],
      ],
    );
  });

  it('shows a running container with its times and ids', () => {
    const status = generate({ runtimeStatus: runtimeStatus(container({})) });
    assert.equal(status.phase, 'Running');
    assert.deepEqual(status.containerStatuses?.[0]?.state, { running: { startedAt: '2026-01-01T00:00:00Z' } });
    assert.equal(status.containerStatuses?.[0]?.containerID, 'containerd://c1');
    assert.equal(status.containerStatuses?.[0]?.imageID, 'busybox@sha256:b');
    assert.deepEqual(status.podIPs, [{ ip: '10.42.0.5' }]);
  });

  it('shows the last end of a restarted container', () => {
    const dead = container({
      id: 'c0',
      state: 'exited',
      exitCode: 2,
      reason: 'Error',
      message: 'oops',
      finishedAtMs: T0 + 1000,
    });
    const [app] = generate({ runtimeStatus: runtimeStatus(container({ restartCount: 1 }), dead) }).containerStatuses!;
    assert.equal(app?.restartCount, 1);
    assert.deepEqual(app?.lastState, {
      terminated: {
        containerID: 'containerd://c0',
        exitCode: 2,
        finishedAt: '2026-01-01T00:00:01Z',
        message: 'oops',
        reason: 'Error',
        startedAt: '2026-01-01T00:00:00Z',
      },
    });
  });

  it('reports why an exited container waits', () => {
    const dead = container({ state: 'exited', exitCode: 1, reason: 'Error', finishedAtMs: T0 + 1000 });
    const startReason = () => ({ reason: 'CrashLoopBackOff', message: 'back-off 10s' });
    const [app] = generate({ runtimeStatus: runtimeStatus(dead), startReason }).containerStatuses!;
    assert.deepEqual(app?.state, { waiting: { message: 'back-off 10s', reason: 'CrashLoopBackOff' } });
    assert.equal(app?.lastState?.terminated?.exitCode, 1);
    const never = generate({ runtimeStatus: runtimeStatus(dead), startReason, spec: { restartPolicy: 'Never' } });
    assert.equal(never.containerStatuses?.[0]?.state?.terminated?.exitCode, 1, 'it is not started again');
    assert.equal(never.phase, 'Failed');
  });

  it('does not take a vanished container for one that never started', () => {
    const previous: PodStatus = {
      containerStatuses: [
        { name: 'app', image: '', imageID: '', ready: true, restartCount: 2, state: { running: {} } },
      ],
    };
    const status = generate({ previous });
    assert.equal(status.phase, 'Running');
    assert.equal(status.containerStatuses?.[0]?.lastState?.terminated?.reason, 'ContainerStatusUnknown');
    assert.equal(status.containerStatuses?.[0]?.restartCount, 3);
  });

  it('keeps a terminal phase, reason and message, and the addresses of a pod that ended', () => {
    const previous: PodStatus = {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low',
      podIPs: [{ ip: '10.42.0.5' }],
    };
    const status = generate({ previous, podIsTerminal: true });
    assert.equal(status.phase, 'Failed');
    assert.equal(status.reason, 'Evicted');
    assert.equal(status.message, 'The node was low');
    assert.equal(status.podIP, '10.42.0.5');
    assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.reason, 'PodFailed');
  });

  it('gives conditions that are True a reason and a message, by the specification only', () => {
    const trueOnes = (spec: Partial<NonNullable<Pod['spec']>>, ...containers: RuntimeContainerStatus[]) => {
      const status = generate({
        spec: { containers: [{ name: 'app', image: 'busybox:1' }], ...spec },
        runtimeStatus: runtimeStatus(...containers),
        podIsTerminal: containers.every(({ state }) => state === 'exited'),
        applyProbes: (_pod, { containerStatuses = [], ...rest }) => ({
          ...rest,
          containerStatuses: containerStatuses.map((one) => ({ ...one, ready: one.state?.running !== undefined })),
        }),
        metadata: { name: 'web' },
      });
      return (status.conditions ?? [])
        .filter(({ status: value }) => value === 'True')
        .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
    };
    const [sandbox, scheduled] = [
      'PodReadyToStartContainers PodSandboxReady: sandbox and network are up',
      'PodScheduled Scheduled: bound to a node',
    ];
    assert.deepEqual(trueOnes({}, container({})), [
      sandbox,
      'Initialized ContainersInitialized: no init containers',
      'Ready ContainersReady: all containers are ready',
      'ContainersReady ContainersReady: all containers are ready',
      scheduled,
    ]);
    const ended = { state: 'exited', exitCode: 0, finishedAtMs: T0 + 1000 } as const;
    const init = container({ id: 'i', name: 'init', ...ended });
    assert.deepEqual(trueOnes({ initContainers: [{ name: 'init' }] }, init, container({}))[1], INITIALIZED);
    assert.deepEqual(trueOnes({ restartPolicy: 'Never' }, container(ended)), [
      sandbox,
      'Initialized PodCompleted: the pod has run to its end',
      scheduled,
    ]);
    const gated: Pod = { metadata: {}, spec: { containers: [], readinessGates: [{ conditionType: 'x.io/gate' }] } };
    const open = [{ type: 'x.io/gate', status: 'True' }];
    assert.deepEqual(podReadyCondition({ pod: gated, statuses: [], phase: 'Running' }, open), {
      type: 'Ready',
      status: 'True',
      reason: 'ReadinessGatesReady',
      message: 'all containers and readiness gates are ready',
    });
  });

  it('does not take an evicted pod for one that has succeeded when its containers end well', () => {
    const previous: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'The node was low' };
    const done = container({ state: 'exited', exitCode: 0, reason: 'Completed', finishedAtMs: T0 + 1000 });
    const status = generate({ previous, runtimeStatus: runtimeStatus(done), podIsTerminal: true });
    assert.deepEqual([status.phase, status.reason, status.message], ['Failed', 'Evicted', 'The node was low']);
  });

  it('lets an eviction decide the phase', () => {
    const status = generate({
      runtimeStatus: runtimeStatus(container({})),
      evict: { reason: 'Evicted', message: 'too big' },
    });
    assert.deepEqual([status.phase, status.reason, status.message], ['Failed', 'Evicted', 'too big']);
  });

  it('gives a host network pod the addresses of the node', () => {
    const status = generate({
      spec: { hostNetwork: true },
      runtimeStatus: runtimeStatus(container({})),
      nodeIps: ['192.168.0.1', 'fd00::1'],
    });
    assert.deepEqual(status.podIPs, [{ ip: '192.168.0.1' }, { ip: 'fd00::1' }]);
    assert.deepEqual(status.hostIPs, status.podIPs);
  });

  it('reports ephemeral containers', () => {
    const status = generate({
      spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] },
      runtimeStatus: runtimeStatus(container({}), container({ id: 'e1', name: 'debug' })),
    });
    const [debug] = status.ephemeralContainerStatuses ?? [];
    assert.equal(debug?.containerID, 'containerd://e1');
    assert.equal('started' in debug, false);
    assert.equal(status.phase, 'Running');
  });
});
