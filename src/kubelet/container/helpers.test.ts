import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { convertPodStatusToRunningPod, shouldContainerBeRestarted } from './helpers.ts';
import { containerShouldRestart, isContainerRestartable, restartsAllContainers } from './restart-policy.ts';
import type { ContainerState, ContainerStatus, PodStatus } from './runtime.ts';

const STATES: readonly ContainerState[] = ['created', 'running', 'exited', 'unknown'];

function containerStatus(name: string, state: ContainerState): ContainerStatus {
  return {
    id: `id-${name}`,
    name,
    state,
    createdAtMs: 1,
    startedAtMs: 1,
    finishedAtMs: 2,
    exitCode: 0,
    image: 'i',
    imageId: '',
    imageRef: '',
    hash: 'h',
    restartCount: 0,
    reason: '',
    message: '',
    podSandboxId: 's',
  };
}

const sandbox = { attempt: 0, createdAtMs: 7, ips: [], networkNamespace: 'pod' } as const;
const status = (containers: readonly ContainerStatus[]): PodStatus => ({
  uid: 'u',
  name: 'web',
  namespace: 'default',
  ips: [],
  containers,
  sandboxes: [
    { ...sandbox, id: 'new', ready: true },
    { ...sandbox, id: 'old', ready: false },
  ],
});

describe('The running part of a pod', () => {
  it('has its running containers and all its sandboxes', () => {
    const running = convertPodStatusToRunningPod(status(STATES.map((state) => containerStatus(state, state))));
    assert.deepEqual(running, {
      uid: 'u',
      name: 'web',
      namespace: 'default',
      createdAtMs: 7,
      containers: [{ id: 'id-running', name: 'running', state: 'running', hash: 'h' }],
      sandboxes: [
        { id: 'new', state: 'running' },
        { id: 'old', state: 'exited' },
      ],
    });
  });
});

describe('A container', () => {
  const container: Container = { name: 'app', restartPolicy: 'Never' };
  const pod: Pod = { metadata: {}, spec: { containers: [container] } };
  const rows: readonly [string, Pod, PodStatus, boolean][] = [
    ['without a status is started', pod, status([]), true],
    ...STATES.map((state): [string, Pod, PodStatus, boolean] => [
      `with policy Never in state ${state} is ${state === 'running' || state === 'exited' ? 'not ' : ''}started`,
      pod,
      status([containerStatus('app', state)]),
      state === 'created' || state === 'unknown',
    ]),
    ...STATES.map((state): [string, Pod, PodStatus, boolean] => [
      `of a deleted pod in state ${state} is not started`,
      { ...pod, metadata: { deletionTimestamp: 't' } },
      status([containerStatus('app', state)]),
      false,
    ]),
    [
      'with several statuses is started by the newest',
      pod,
      status([containerStatus('app', 'exited'), containerStatus('app', 'unknown')]),
      false,
    ],
  ];
  for (const [title, of, podStatus, expected] of rows)
    it(title, () => assert.equal(shouldContainerBeRestarted(container, of, podStatus), expected));
});

describe('Restart rules', () => {
  const rule = (action: string, operator: string, ...values: number[]) => ({ action, exitCodes: { operator, values } });
  interface Row {
    readonly rules: NonNullable<Container['restartPolicyRules']>;
    readonly policy: string;
    /** Exit codes after which the container runs again, of 0, 1 and 42. */
    readonly restarts: readonly number[];
    readonly all?: readonly number[];
    readonly restartable: boolean;
  }
  const rows: readonly Row[] = [
    { policy: 'Never', rules: [], restarts: [], restartable: false },
    { policy: 'OnFailure', rules: [], restarts: [1, 42], restartable: true },
    { policy: 'Always', rules: [], restarts: [0, 1, 42], restartable: true },
    { policy: 'Never', rules: [rule('Restart', 'In', 42)], restarts: [42], restartable: true },
    { policy: 'Never', rules: [rule('Restart', 'NotIn', 42)], restarts: [0, 1], restartable: true },
    {
      policy: 'Never',
      rules: [rule('RestartAllContainers', 'In', 42), rule('Restart', 'In', 42, 1)],
      restarts: [1, 42],
      all: [42],
      restartable: true,
    },
    // The first matching rule decides, also when its action is unknown: then the restart policy applies.
    { policy: 'Never', rules: [rule('Later', 'In', 42), rule('Restart', 'In', 42)], restarts: [], restartable: true },
    // An unknown operator matches no exit code, and a rule without exit codes matches none.
    { policy: 'Never', rules: [rule('Restart', 'Over', 1)], restarts: [], restartable: true },
    { policy: 'Never', rules: [{ action: 'Restart' }], restarts: [], restartable: true },
  ];
  const codes = [0, 1, 42];
  for (const { policy, rules, restarts, all = [], restartable } of rows)
    it(`${JSON.stringify(rules)} over policy ${policy} restart after [${restarts.join(', ')}]`, () => {
      const container: Container = { name: 'app', restartPolicy: policy, restartPolicyRules: rules };
      const pod: Pod = { metadata: {}, spec: { restartPolicy: 'Always', containers: [container] } };
      assert.deepEqual(
        codes.filter((code) => containerShouldRestart(container, pod, code)),
        restarts,
      );
      assert.deepEqual(
        codes.filter((code) => restartsAllContainers(container, code)),
        all,
      );
      assert.equal(isContainerRestartable(container, pod), restartable);
    });

  it('are absent from most containers, for which the policy of the pod holds', () => {
    const container: Container = { name: 'app' };
    for (const restartPolicy of ['Never', 'OnFailure', 'Always', undefined]) {
      const pod: Pod = { metadata: {}, spec: { containers: [container], ...(restartPolicy && { restartPolicy }) } };
      const after = codes.filter((code) => containerShouldRestart(container, pod, code));
      assert.deepEqual(after, { Never: [], OnFailure: [1, 42] }[restartPolicy ?? ''] ?? codes, restartPolicy);
    }
  });
});
