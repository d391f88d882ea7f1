/** The whole controller manager is killed amid all its work: the world must reach the same end. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Deployments, StatefulSets } from '../../../src/api/gen/resources.ts';
import { controllers } from '../../../src/controllers/list.ts';
import { makeOneOfEach } from '../../../src/controllers/one-of-each-fixture.ts';
import { ready } from './nodes-fixture.ts';
import { survives, type CrashWorld, type Program } from './run-world-fixture.ts';
import { addNodes, all, change } from './workloads-fixture.ts';

const POINTS = 8;

const program: Program = { factories: Object.values(controllers) };

const world: CrashWorld = {
  config: {
    clusterCidrs: ['10.42.0.0/16'],
    serviceCidrs: ['10.43.0.0/16'],
    rootCaPem: 'the authority',
    signServiceAccountToken: async () => 'token',
    // no kubelet reports for the node
    nodeMonitorGracePeriodMs: 3_600_000,
  },
  before: all(addNodes('node'), ready('node', 'True')),
  steps: [
    makeOneOfEach,
    all(
      change(Deployments, 'default/d', (draft) => {
        draft.spec!.template.spec!.containers[0]!.image = 'i2';
        draft.spec!.replicas = 3;
      }),
      change(StatefulSets, 'default/t', (draft) => {
        draft.spec!.template.spec!.containers[0]!.image = 'i2';
      }),
    ),
  ],
  restMs: 65_000,
  stepMs: 1000,
};

/** How often slices are changed depends on the order in which pods become ready; their final content must be the same. */
function isMatterOfTime(difference: string): boolean {
  return difference.includes(' made EndpointSlice ');
}

it('the controller manager killed amid its work', async () => {
  const { writes } = await survives(program, world, { most: POINTS, seed: 'manager', ignores: isMatterOfTime });
  assert.ok(writes.length > 50);
});
