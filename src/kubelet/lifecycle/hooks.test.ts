/** HTTP hooks: sent as declared; a server that only speaks plain HTTP gets the request by HTTP, without credentials. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { HttpCall, Net } from '../../platform/net.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createHookRunner } from './hooks.ts';

it('falls back from HTTPS to HTTP where the server speaks no TLS', async () => {
  const { clock } = createSimPlatform();
  const calls: HttpCall[] = [];
  let error: Error = Object.assign(new Error('wrong version number'), { code: 'ERR_SSL_WRONG_VERSION_NUMBER' });
  const net = {
    async http(call: HttpCall) {
      calls.push(call);
      if (call.url.startsWith('https:')) throw error;
      return { status: 200, headers: {}, body: (async function* () {})(), cancel: () => undefined };
    },
  } as unknown as Net;
  const hooks = createHookRunner({
    clock,
    net,
    execSync: async () => Promise.reject(new Error('no')),
    podIp: async () => '10.0.0.9',
  });
  const httpHeaders = [
    { name: 'Authorization', value: 'Bearer secret' },
    { name: 'X-Kept', value: '1' },
  ];
  const hook = {
    pod: { metadata: { name: 'p', namespace: 'd', uid: 'u' } },
    container: { name: 'c' },
    containerId: 'id',
    handler: { httpGet: { path: '/stop', port: 8443, scheme: 'HTTPS', httpHeaders } },
    signal: new AbortController().signal,
  };
  await hooks.run(hook);
  assert.deepEqual(
    calls.map(({ url }) => url),
    ['https://10.0.0.9:8443/stop', 'http://10.0.0.9:8443/stop'],
  );
  assert.deepEqual(
    [calls[1]?.headers?.['authorization'], calls[1]?.headers?.['x-kept'], calls[1]?.tls],
    [undefined, '1', undefined],
  );
  error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  await assert.rejects(hooks.run(hook), /ECONNREFUSED/);
  assert.equal(calls.length, 3, 'only the lack of TLS is answered by plain HTTP');
});

it('does not report the response of a server to a failed hook', async () => {
  const { clock } = createSimPlatform();
  const net = {
    async http() {
      const body = (async function* () {
        yield Buffer.from('token of the metadata service');
      })();
      return { status: 500, headers: {}, body, cancel: () => undefined };
    },
  } as unknown as Net;
  const execSync = async (): Promise<never> => Promise.reject(new Error('no'));
  const hooks = createHookRunner({ clock, net, execSync, podIp: async () => '10.0.0.9' });
  const run = hooks.run({
    pod: { metadata: { name: 'p', namespace: 'd', uid: 'u' } },
    container: { name: 'c' },
    containerId: 'id',
    handler: { httpGet: { host: '169.254.169.254', path: '/token', port: 80 } },
  });
  await assert.rejects(run, /failed - error: HTTP status 500$/);
});
