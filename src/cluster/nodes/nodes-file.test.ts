import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { addressIn, entriesFor, nodeLocation, readNodesFile, writeNodesFile } from './nodes-file.ts';

describe('further nodes of a machine', () => {
  it('are numbered after it, and keep their numbers', () => {
    assert.deepEqual(entriesFor(1, 'vm'), []);
    assert.deepEqual(entriesFor(3, 'vm'), [
      { name: 'vm-2', number: 2 },
      { name: 'vm-3', number: 3 },
    ]);
    const kept = [{ name: 'old-2', number: 2, stopped: true } as const];
    assert.deepEqual(entriesFor(3, 'vm', kept), [kept[0], { name: 'vm-3', number: 3 }]);
  });

  it('have device names of a valid length, and an address by their number', () => {
    const place = nodeLocation({ dataDir: '/d', runDir: '/run/keelson/abcdef', hash: 'abcdef' }, '10.58.4.0/24', {
      name: 'vm-20',
      number: 20,
    });
    assert.ok(place.device.length <= 15);
    assert.deepEqual([place.address, place.dataDir], ['10.58.4.20', '/d/nodes/vm-20']);
    assert.equal(addressIn('10.58.4.0/24', 1), '10.58.4.1');
  });

  it('are read as they were written; a broken file is an error that names it', async () => {
    const { files } = createSimPlatform();
    await files.makeDir('/d');
    assert.equal(await readNodesFile(files, '/d'), undefined);
    const file = { format: 1, network: '10.58.0.0/24', nodes: [{ name: 'vm-2', number: 2 }] } as const;
    await writeNodesFile(files, '/d', file);
    assert.deepEqual(await readNodesFile(files, '/d'), file);
    const broken = ['{', '{"format":2}', '{"format":1,"network":"x"}', '{"format":1,"network":"10.58.0.0/24"}'];
    for (const text of broken) {
      await files.writeFile('/d/nodes.json', text);
      await assert.rejects(readNodesFile(files, '/d'), /the data directory is broken: \/d\/nodes\.json/);
    }
  });
});
