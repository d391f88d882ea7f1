/** A client that opens a watch and then reads nothing: its pending events are dropped, and its connection is closed. */
import assert from 'node:assert/strict';
import { connect, type TLSSocket } from 'node:tls';
import { after, before, test } from 'node:test';
import { ConfigMaps } from '../../src/api/gen/resources.ts';
import { until } from '../integration/fixtures/until.ts';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';

const MIB = 1024 * 1024;
const WRITES = 96;

let plane: ControlPlaneFixture;
before(async () => {
  plane = await startControlPlane({ components: false });
});
after(() => plane.stop());

async function watches(): Promise<number> {
  const { stdout } = await plane.kubectl(['get', '--raw', '/metrics']);
  return Number(/^apiserver_longrunning_requests\{.*\} (\d+)$/m.exec(stdout)![1]);
}

/** Reads the remaining bytes to the end. */
function drain(socket: TLSSocket): Promise<{ bytes: number; ended: boolean }> {
  return new Promise((resolve) => {
    let bytes = 0;
    let tail = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      tail = Buffer.concat([tail, chunk]).subarray(-16);
    });
    socket.on('error', () => undefined);
    socket.once('close', () => resolve({ bytes, ended: tail.toString('latin1').endsWith('\r\n0\r\n\r\n') }));
    socket.resume();
  });
}

test('is disconnected, and others are served meanwhile', async () => {
  const maps = plane.admin.resource(ConfigMaps);
  const key = { namespace: 'default', name: 'large' };
  await maps.create({ metadata: key, data: { text: '' } });
  const quiet = await watches();
  const socket = connect({ host: '127.0.0.1', port: plane.port, ...plane.tls });
  await new Promise<void>((resolve) => socket.once('secureConnect', resolve));
  socket.pause();
  socket.write('GET /api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('the watch is served', async () => (await watches()) === quiet + 1);
  for (let write = 0; write < WRITES; write++)
    await maps.patch(key, { type: 'merge', patch: { data: { text: `${write}`.padEnd(MIB / 2, 'x') } } });
  await until('it is given up', async () => (await watches()) === quiet);
  const { bytes, ended } = await drain(socket);
  assert.ok(bytes < (WRITES / 2 - 8) * MIB, `${bytes} bytes were kept for it`);
  assert.equal(ended, false, 'a cut is no end');
});
