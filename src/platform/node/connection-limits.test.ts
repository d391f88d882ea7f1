/** Servers with more clients than they take. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { createMemoryLog } from '../sim/log.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { connectionLimits } from './connection-limits.ts';
import { handler } from './http-handler-fixture.ts';
import { createListenHttp } from './http-server.ts';

test('descriptors are left for files, and connections for other addresses', () => {
  const limits =
    'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n';
  assert.deepEqual(connectionLimits(limits), { total: 768, ofOneAddress: 384 });
  assert.deepEqual(connectionLimits('Max open files  unlimited  unlimited'), { total: 3072, ofOneAddress: 1536 });
});

/** Whether the server keeps a new connection from this address. */
async function enters(port: number, localAddress: string, held: Socket[]): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined);
  await once(socket, 'connect');
  const closed = once(socket, 'close').then(() => false);
  // An accepted connection is silent, so a later one proves that it was accepted.
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  socket.resume();
  const isOpen = await Promise.race([once(socket, 'data').then(() => true), closed]);
  if (isOpen) held.push(socket);
  return isOpen;
}

test('one address has its share, all have the total; a closed connection makes room', async () => {
  const log = createMemoryLog();
  const server = await createListenHttp(log, { total: 5, ofOneAddress: 3 })({ host: '127.0.0.1', port: 0 }, handler);
  const held: Socket[] = [];
  const from = (address: string): Promise<boolean> => enters(server.port, address, held);
  try {
    const found = [];
    for (const address of ['1', '1', '1', '1', '2', '2', '2']) found.push(await from(`127.0.0.${address}`));
    assert.deepEqual(found, [true, true, true, false, true, true, false]);
    held[0]!.destroy();
    while (!(await from('127.0.0.3')));
    assert.ok(log.entries.every(({ message }) => message === 'a connection was refused, there are too many'));
    assert.deepEqual(log.entries[0]?.fields, { remoteAddress: '127.0.0.1' });
  } finally {
    for (const socket of held) socket.destroy();
    await server.close(0);
  }
});

test('connections that never begin TLS count as well', async () => {
  const authority = await createTestAuthority('ca');
  const { certPem, keyPem } = await authority.issue('CN=server', ['127.0.0.1']);
  const listen = createListenHttp(createMemoryLog(), { total: 2, ofOneAddress: 2 });
  const server = await listen({ host: '127.0.0.1', port: 0, tls: { certPem, keyPem } }, handler);
  const silent = [0, 1].map(() => connect({ host: '127.0.0.1', port: server.port }));
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  const third = connect({ host: '127.0.0.1', port: server.port }).on('error', () => undefined);
  await once(third, 'close');
  for (const socket of silent) socket.destroy();
  await server.close(0);
});
