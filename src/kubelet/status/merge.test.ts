/** Merging and patching statuses. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { finalPodStatus } from './final-status.ts';
import { checkContainerStateTransition, isStatusEqualByKubelet, mergePodStatus, withTransitionTimes } from './merge.ts';
import { podStatusPatch } from './status-patch.ts';

const spec = { containers: [{ name: 'app' }] };
const pod = (status: PodStatus, changes: Partial<NonNullable<Pod['spec']>> = {}): Pod => ({
  metadata: { name: 'web', uid: 'u' },
  spec: { ...spec, ...changes },
  status,
});
const app = (state: object, more: object = {}) => ({
  name: 'app',
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  ...more,
});

describe('merging a status into the API', () => {
  it("keeps others' conditions and replaces its own", () => {
    const merged = mergePodStatus(
      pod({
        conditions: [
          { type: 'x.io/gate', status: 'True' },
          { type: 'Ready', status: 'False' },
        ],
      }),
      {
        phase: 'Running',
        conditions: [
          { type: 'x.io/gate', status: 'False' },
          { type: 'Ready', status: 'True' },
        ],
      },
      true,
    );
    assert.deepEqual(merged.conditions, [
      { type: 'x.io/gate', status: 'True' },
      { type: 'Ready', status: 'True' },
    ]);
  });

  it('holds back a terminal phase while containers may run', () => {
    const api = pod({ phase: 'Running' });
    const ended: PodStatus = {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'm',
      containerStatuses: [app({ terminated: { exitCode: 1 } })],
      conditions: [{ type: 'Ready', status: 'True' }],
    };
    assert.equal(mergePodStatus(api, ended, true).phase, 'Running');
    assert.equal(mergePodStatus(api, ended, true).reason, undefined);
    const now = mergePodStatus(api, ended, false);
    assert.deepEqual([now.phase, now.reason], ['Failed', 'Evicted']);
    assert.deepEqual(
      now.conditions?.map(({ status, reason }) => [status, reason]),
      [['False', 'PodFailed']],
    );
  });

  it('keeps transition times while a condition stays', () => {
    const old: PodStatus = {
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: 'then' },
        { type: 'Initialized', status: 'False', lastTransitionTime: 'then' },
      ],
    };
    const status = withTransitionTimes(
      {
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Initialized', status: 'True' },
          { type: 'other', status: 'True' },
        ],
      },
      old,
      'now',
    );
    assert.deepEqual(
      status.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
      ['then', 'now', undefined],
    );
  });

  it('refuses to bring a container back to life that may not restart', () => {
    const old: PodStatus = { containerStatuses: [app({ terminated: { exitCode: 1 } })] };
    const next: PodStatus = { containerStatuses: [app({ running: {} })] };
    assert.equal(checkContainerStateTransition(pod({}, { restartPolicy: 'Always' }), old, next), undefined);
    assert.equal(checkContainerStateTransition(pod({}, { restartPolicy: 'OnFailure' }), old, next), undefined);
    assert.equal(
      checkContainerStateTransition(pod({}, { restartPolicy: 'Never' }), old, next),
      'terminated container app attempted illegal transition to non-terminated state',
    );
  });

  it('treats empty and absent values alike, and ignores the order of conditions', () => {
    const a: PodStatus = {
      phase: 'Running',
      reason: '',
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Initialized', status: 'True' },
      ],
      containerStatuses: [app({ running: {} }, { lastState: {} })],
    };
    const b: PodStatus = {
      phase: 'Running',
      conditions: [
        { type: 'Initialized', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
      containerStatuses: [app({ running: {} })],
    };
    assert.equal(isStatusEqualByKubelet(a, b), true);
    assert.equal(isStatusEqualByKubelet(a, { ...b, phase: 'Pending' }), false);
  });

  it('marks lost containers as failed when the pod is terminated', () => {
    const final = finalPodStatus(pod({}), { phase: 'Running', containerStatuses: [app({ running: {} })] });
    assert.equal(final.phase, 'Failed');
    assert.equal(final.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
    assert.equal(final.containerStatuses?.[0]?.state?.terminated?.reason, 'ContainerStatusUnknown');
    const unstarted = finalPodStatus(pod({}, { initContainers: [{ name: 'init' }] }), {
      phase: 'Pending',
      initContainerStatuses: [{ ...app({ waiting: {} }), name: 'init' }],
      containerStatuses: [app({ waiting: { reason: 'PodInitializing' } })],
    });
    assert.equal(unstarted.phase, 'Failed');
    assert.deepEqual(unstarted.containerStatuses?.[0]?.state, { waiting: { reason: 'PodInitializing' } });
    assert.deepEqual(unstarted.initContainerStatuses?.[0]?.state, { waiting: {} });
  });
});

describe('the patch of a status', () => {
  it('is nothing when nothing changed', () => {
    assert.equal(podStatusPatch(pod({ phase: 'Running' }), { phase: 'Running' }), undefined);
  });

  it('contains only changes, with the uid as a precondition', () => {
    const before: PodStatus = {
      phase: 'Pending',
      reason: 'gone',
      startTime: 't',
      podIPs: [{ ip: '1' }],
      conditions: [
        { type: 'a', status: 'True' },
        { type: 'Ready', status: 'False', reason: 'why', lastTransitionTime: 't0' },
        { type: 'old', status: 'True' },
      ],
    };
    const after: PodStatus = {
      phase: 'Running',
      startTime: 't',
      podIPs: [{ ip: '2' }],
      conditions: [
        { type: 'a', status: 'True' },
        { type: 'Ready', status: 'True', lastTransitionTime: 't1' },
      ],
    };
    assert.deepEqual(podStatusPatch(pod(before), after), {
      metadata: { uid: 'u' },
      status: {
        phase: 'Running',
        reason: null,
        '$setElementOrder/podIPs': [{ ip: '2' }],
        podIPs: [{ ip: '2' }, { $patch: 'delete', ip: '1' }],
        '$setElementOrder/conditions': [{ type: 'a' }, { type: 'Ready' }],
        conditions: [
          { status: 'True', reason: null, lastTransitionTime: 't1', type: 'Ready' },
          { $patch: 'delete', type: 'old' },
        ],
      },
    });
  });
});
