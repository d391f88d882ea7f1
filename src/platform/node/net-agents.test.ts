/** Kept connections of a client with one certificate to servers of many names, as those behind tunnels are. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createTestAuthority } from './certificates-fixture.ts';
import { readAll } from './http-handler-fixture.ts';
import { createNodeNet } from './net.ts';

/** More than the number of identities whose connections are kept. */
const NAMES = Array.from({ length: 80 }, (_, at) => `node-${at}`);

test('connections to servers of many names are kept, each for its own name', async (t) => {
  const authority = await createTestAuthority('test CA');
  const { certPem, keyPem } = await authority.issue('CN=server', NAMES);
  const names: unknown[] = [];
  const server = createServer({ cert: certPem, key: keyPem }, (_request, response) => response.end('ok'));
  server.on('secureConnection', (socket: { readonly servername?: unknown }) => names.push(socket.servername));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const net = createNodeNet();
  t.after(() => {
    net.close();
    server.close();
    server.closeAllConnections();
  });
  const get = async (serverName: string): Promise<string> =>
    readAll(await net.http({ method: 'GET', url, tls: { caPem: authority.caPem, serverName } }));
  for (const _round of [1, 2]) for (const name of NAMES) assert.equal(await get(name), 'ok');
  assert.deepEqual(names, NAMES);
  await assert.rejects(get('another'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
});
