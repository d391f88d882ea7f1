/** Certificates for servers of a test, checked by TLS clients. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { servingCertificate } from './serving-certificate.ts';

test('a certificate has all names, and clients that trust its authority accept it under each', async () => {
  const names = ['hooks.system.svc', 'localhost', '127.0.0.1', '::1'];
  const { cert, key, ca, caBundle } = await servingCertificate(...names);
  assert.equal(Buffer.from(caBundle, 'base64').toString(), ca);
  const server = createServer({ cert, key }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (const servername of ['hooks.system.svc', 'localhost']) {
    const socket = connect({ port, host: '127.0.0.1', ca, servername });
    await once(socket, 'secureConnect');
    assert.ok(socket.authorized);
    socket.destroy();
  }
  const stranger = connect({ port, host: '127.0.0.1', ca, servername: 'other.system.svc' });
  const [error] = await once(stranger, 'error');
  assert.equal(error.code, 'ERR_TLS_CERT_ALTNAME_INVALID');
  server.close();
  const read = new X509Certificate(cert);
  assert.deepEqual([read.checkIP('127.0.0.1'), read.checkIP('::1')], ['127.0.0.1', '::1']);
  const foreign = await servingCertificate('hooks.system.svc');
  assert.equal(read.verify(new X509Certificate(foreign.ca).publicKey), false);
});

test('without a name the call fails with what it needs', async () => {
  await assert.rejects(servingCertificate(), /servingCertificate\('hooks\.system\.svc'\)/);
});
