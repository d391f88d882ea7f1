/** Examples of features that nodes declare, and that pods and their changes require. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container, Node, Pod, PodSpec, ResourceRequirements } from '../api/gen/core-v1.ts';
import {
  declaredFeatures,
  featuresToSchedule,
  featuresToUpdate,
  undeclaredFeatures,
} from './node-declared-features.ts';

const POD_LEVEL = 'InPlacePodLevelResourcesVerticalScaling';
const INIT = 'InPlacePodVerticalScalingInitContainers';
const RESTART = 'RestartAllContainersOnContainerExits';
const HOST_USERS = 'UserNamespacesHostNetworkSupport';

const podOf = (spec: Partial<PodSpec>): Pod => ({ metadata: {}, spec: { containers: [{ name: 'c' }], ...spec } });
const cpu = (amount: string): ResourceRequirements => ({ requests: { cpu: amount } });
const ruled = (action: string): Container => ({ name: 'r', restartPolicyRules: [{ action }] });

test('enabled features are declared in the order of the API: sorted', () => {
  const all = declaredFeatures(() => true);
  assert.deepEqual([...all], [...all].toSorted());
  assert.deepEqual(
    declaredFeatures((name) => name === RESTART || name === INIT),
    [INIT, RESTART],
  );
});

describe('to be scheduled a pod needs', () => {
  const cases: [what: string, spec: Partial<PodSpec>, needs: string[]][] = [
    ['nothing', {}, []],
    ['nothing for a restart of one container', { containers: [ruled('Restart')] }, []],
    ['the restart of all by a container', { containers: [{ name: 'c' }, ruled('RestartAllContainers')] }, [RESTART]],
    ['the restart of all by an init container', { initContainers: [ruled('RestartAllContainers')] }, [RESTART]],
    ['nothing for the host network alone', { hostNetwork: true }, []],
    ['users of its own on the host network', { hostNetwork: true, hostUsers: false }, [HOST_USERS]],
  ];
  for (const [what, spec, needs] of cases)
    test(what, () => assert.deepEqual([...featuresToSchedule(podOf(spec))], needs));
});

describe('to change a pod needs', () => {
  const init = (resources: ResourceRequirements, restartPolicy?: string): Partial<PodSpec> => ({
    initContainers: [{ name: 'i', resources, ...(restartPolicy === undefined ? {} : { restartPolicy }) }],
  });
  const cases: [what: string, before: Partial<PodSpec>, now: Partial<PodSpec>, needs: string[]][] = [
    ['nothing', init(cpu('1')), init(cpu('1')), []],
    ['a larger init container', init(cpu('1')), init(cpu('2')), [INIT]],
    ['nothing for a larger sidecar', init(cpu('1'), 'Always'), init(cpu('2'), 'Always'), []],
    ['more as a whole', { resources: cpu('1') }, { resources: cpu('2') }, [POD_LEVEL]],
    ['nothing for the same amount', { resources: cpu('1') }, { resources: cpu('1000m') }, []],
    ['resources as a whole at all', {}, { resources: cpu('1') }, [POD_LEVEL]],
    [
      'a limit more',
      { resources: { ...cpu('1'), limits: {} } },
      { resources: { ...cpu('1'), limits: { cpu: '1' } } },
      [POD_LEVEL],
    ],
    ['both', { resources: cpu('1'), ...init(cpu('1')) }, { resources: cpu('2'), ...init(cpu('2')) }, [POD_LEVEL, INIT]],
    ['nothing for other fields', { activeDeadlineSeconds: 1 }, { activeDeadlineSeconds: 2 }, []],
  ];
  for (const [what, before, now, needs] of cases)
    test(what, () => assert.deepEqual(featuresToUpdate(podOf(before), podOf(now)), needs));
});

test('a node lacks undeclared features', () => {
  const node: Node = { metadata: {}, status: { declaredFeatures: [INIT] } };
  assert.deepEqual(undeclaredFeatures([INIT, RESTART], node), [RESTART]);
  assert.deepEqual(undeclaredFeatures([INIT], { metadata: {} }), [INIT]);
  assert.deepEqual(undeclaredFeatures([], { metadata: {} }), []);
});
