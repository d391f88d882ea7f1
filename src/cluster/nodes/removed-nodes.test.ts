import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Nodes } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { deriveInstance } from '../instance/instance.ts';
import { NodeRecords } from './node-records.ts';
import { deleteNodeObjects, keepWantedNodes, removeNodes } from './removed-nodes.ts';

it('a removed node that cannot be ended stays recorded, with its object and data, for the next start', async () => {
  const platform = createSimPlatform();
  const { clock, crypto, files } = platform;
  const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16', clusterDomain: 'cluster.local' };
  const instance = deriveInstance({ dataDir: '/data', nodeName: 'here', httpsPort: 6443, ...ranges }, (text) =>
    crypto.sha256Hex(text),
  );
  const network = '10.58.0.0/24';
  const removed = [{ name: 'here-2', number: 2 }];
  await files.makeDir('/data/nodes/here-2');
  const records = new NodeRecords(files, '/data', { format: 1, network, nodes: [], removed });
  const api = createFakeApi(() => formatTime(clock.nowMs()));
  api.seed(Nodes, { metadata: { name: 'here-2' } });
  const principal = { name: 'test', groups: [] };
  const admin = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });

  // Its processes cannot be read: this platform has no /proc.
  const setting = { instance, network, hostAddress: '192.0.2.1', command: () => [] };
  const gone = await removeNodes(platform, setting, records);
  await clock.drive(deleteNodeObjects(platform, { records, gone }, admin));

  assert.deepEqual(records.file.removed, removed);
  assert.equal(await files.exists('/data/nodes/here-2'), true);
  assert.equal((await clock.drive(admin.resource(Nodes).get({ name: 'here-2' }))).metadata?.name, 'here-2');
});

it('a node that could not be ended and is needed again stays unchanged', () => {
  const [left, ended] = [
    { name: 'here-2', number: 2, joined: true },
    { name: 'here-3', number: 3 },
  ] as const;
  const file = { format: 1, network: '10.58.0.0/24', removed: [left, ended] } as const;
  const wanted = [
    { name: 'here-2', number: 2 },
    { name: 'here-3', number: 3 },
  ];
  assert.deepEqual(keepWantedNodes({ ...file, nodes: wanted }, ['here-3']), {
    nodes: [left, wanted[1]],
    removed: [ended],
  });
  assert.deepEqual(keepWantedNodes({ ...file, nodes: [] }, ['here-3']), { nodes: [], removed: [left, ended] });
  assert.deepEqual(keepWantedNodes({ ...file, nodes: wanted, removed: undefined }, []), {
    nodes: wanted,
    removed: undefined,
  });
});
