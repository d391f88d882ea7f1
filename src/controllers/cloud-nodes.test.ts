import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Nodes, Pods } from '../api/gen/resources.ts';
import type { Node } from '../api/gen/core-v1.ts';
import { createCloudNodeLifecycleController } from './cloud-node-lifecycle/cloud-node-lifecycle-controller.ts';
import type { CloudNodes } from './cloud-node-lifecycle/cloud-nodes.ts';
import { startHarness } from './controllers-fixture.ts';
import { createPodGarbageCollector } from './pod-garbage-collector/pod-gc.ts';

const node = (name: string, ready: string): Node => ({
  metadata: { name, uid: `uid-${name}` },
  spec: { taints: [{ key: 'mine', effect: 'NoSchedule' }] },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});

function start(states: Record<string, 'exists' | 'off' | 'gone'>) {
  const asked: string[] = [];
  const cloudNodes: CloudNodes = {
    async stateOf({ metadata: { name = '' } }) {
      asked.push(name);
      const state = states[name];
      if (state === undefined) throw new Error('the cloud does not answer');
      return state;
    },
  };
  const h = startHarness([createCloudNodeLifecycleController, createPodGarbageCollector], { config: { cloudNodes } });
  const taints = (name: string): unknown =>
    h.api
      .objects(Nodes)
      .find((one) => one.metadata.name === name)
      ?.spec?.taints?.map(({ key }) => key);
  return { h, asked, taints };
}

it('a node that is not ready and missing in the cloud is deleted, with its pods; ready ones are not checked', async () => {
  const { h, asked, taints } = start({ silent: 'gone', well: 'gone', there: 'exists' });
  for (const [name, ready] of Object.entries({ silent: 'Unknown', well: 'True', there: 'False', lost: 'False' })) {
    h.api.seed(Nodes, node(name, ready));
    h.api.seed(Pods, { metadata: { namespace: 'default', name }, spec: { nodeName: name, containers: [] } });
  }
  await h.clock.advance(120_000);
  assert.deepEqual(
    h.api.objects(Nodes).map(({ metadata }) => metadata.name),
    ['well', 'there', 'lost'],
  );
  assert.deepEqual(
    h
      .pods()
      .map(({ metadata }) => metadata.name)
      .sort(),
    ['lost', 'there', 'well'],
  );
  assert.ok(!asked.includes('well'), 'nobody asks about a ready node');
  assert.deepEqual(taints('there'), ['mine']);
  assert.ok(h.events().some((text) => text.includes('Deleting node silent because it does not exist in the cloud')));
  await h.stop();
});

it('a node whose machine is shut down is tainted until it is ready again', async () => {
  const { h, taints } = start({ n: 'off' });
  h.api.seed(Nodes, node('n', 'Unknown'));
  await h.clock.advance(6000);
  assert.deepEqual(taints('n'), ['mine', 'node.cloudprovider.kubernetes.io/shutdown']);
  h.api.modify<Node>(Nodes, 'n', (old) => ({ ...old, status: { conditions: [{ type: 'Ready', status: 'True' }] } }));
  await h.clock.advance(6000);
  assert.deepEqual(taints('n'), ['mine']);
  await h.stop();
});
