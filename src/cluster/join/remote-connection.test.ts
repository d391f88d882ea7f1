/** How a machine gets its client certificate: the responses that end a start, and the message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../../api/gen/resources.ts';
import { createAuthority } from '../../component-helpers/pki/certificates.ts';
import type { HttpHandler, HttpResponse } from '../../platform/http.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { deriveInstance } from '../instance/instance.ts';
import { createRemoteConnection, type RemoteConnection } from './remote-connection.ts';

const PORT = 6443;
const [MINUTE_MS, FILE] = [60_000, '/d/pki/kubelet-client-current.pem'];
const REFUSES = failing(401, 'Unauthorized');
const FAILS = failing(500, 'InternalError');

function failing(code: number, reason: string): HttpHandler {
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code });
  const headers = { 'content-type': 'application/json' };
  return () => ({ kind: 'bytes', status: code, headers, chunks: [Buffer.from(body)] });
}

function connect(
  platform: SimPlatform,
  bootstrapToken?: string,
  signal = new AbortController().signal,
): RemoteConnection {
  const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16', clusterDomain: 'c.l' };
  const instance = deriveInstance({ dataDir: '/d', nodeName: 'n', httpsPort: 0, ...ranges }, (text) =>
    platform.crypto.sha256Hex(text),
  );
  const nodeIps = ['192.0.2.1'];
  const config = { instance, server: `http://127.0.0.1:${PORT}`, caPem: '', bootstrapToken, nodeIps };
  return createRemoteConnection(platform, config, signal);
}

async function writeCertificate(platform: SimPlatform, lifeMs: number): Promise<void> {
  const { crypto, random, clock, files } = platform;
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const { certPem, keyPem } = await clock.drive(createAuthority(deps, 'system:node:n', lifeMs));
  await files.makeDir('/d/pki');
  await files.writeFile(FILE, certPem + keyPem);
}

const open = (platform: SimPlatform, token?: string): Promise<void> =>
  platform.clock.drive(connect(platform, token).open(new AbortController().signal));

test('without a certificate and without a token', async () => {
  await assert.rejects(open(createSimPlatform()), /has not joined yet; --token is needed \(keelson token create, on a/);
});

test('a certificate that holds needs no token, and one that is refused does no harm', async () => {
  const platform = createSimPlatform();
  await platform.listenHttp({ port: PORT, host: '127.0.0.1' }, REFUSES);
  await writeCertificate(platform, MINUTE_MS);
  await open(platform);
  await open(platform, 'abcdef.0123456789abcdef');
});

test('a token that is refused ends the start, whether the certificate is over or there was none', async () => {
  const platform = createSimPlatform();
  await platform.listenHttp({ port: PORT, host: '127.0.0.1' }, REFUSES);
  await assert.rejects(open(platform, 'abcdef.0123456789abcdef'), {
    name: 'PreflightError',
    message: /^this machine has not joined yet, and the servers refuse the token.*a new --token is needed/,
  });
  await writeCertificate(platform, MINUTE_MS);
  await platform.clock.advance(2 * MINUTE_MS);
  await assert.rejects(open(platform, 'abcdef.0123456789abcdef'), {
    name: 'PreflightError',
    message: /^this machine’s certificate is over, and the servers refuse the token/,
  });
});

test('servers that fail or are down are retried', async () => {
  const platform = createSimPlatform();
  const connection = connect(platform, 'abcdef.0123456789abcdef');
  const stop = new AbortController();
  let isOver = false;
  const opening = connection.open(stop.signal).finally(() => (isOver = true));
  const ended = assert.rejects(opening, /enough/);
  await platform.clock.advance(MINUTE_MS);
  await platform.listenHttp({ port: PORT, host: '127.0.0.1' }, FAILS);
  await platform.clock.advance(MINUTE_MS);
  assert.equal(isOver, false);
  stop.abort(new Error('enough'));
  await platform.clock.drive(ended);
});

const never = new Promise<never>(() => undefined);
const cutShort: HttpResponse = {
  kind: 'stream',
  status: 200,
  headers: { 'content-type': 'application/json' },
  async run(sink) {
    await sink.write(Buffer.from('{"kind":'));
    await never;
  },
};

for (const [what, answer] of [
  ['head', never],
  ['rest', Promise.resolve(cutShort)],
] as const)
  test(`a node that stops waits for no ${what} of a response, for any request`, async () => {
    const platform = createSimPlatform();
    await platform.listenHttp({ port: PORT, host: '127.0.0.1' }, () => answer);
    const stopping = new AbortController();
    const reading = connect(platform, undefined, stopping.signal)
      .kubelet.resource(Pods)
      .get({ namespace: 'a', name: 'b' });
    const ended = assert.rejects(reading, /keelson is stopping/);
    platform.clock.setTimer(1000, () => stopping.abort(new Error('keelson is stopping')));
    await platform.clock.drive(ended);
    assert.equal(platform.clock.monotonicMs(), 1000);
  });
