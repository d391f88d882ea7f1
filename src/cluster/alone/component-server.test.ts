/** The paths that a component serves by the rights of the client, under virtual time. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ConfigMaps } from '../../api/gen/resources.ts';
import { statusFailure } from '../../api/status-error.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createTestAuthority } from '../../platform/node/certificates-fixture.ts';
import type { HttpHandler, HttpRequest, ListenOptions, ServedCertificates } from '../../platform/http.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { openComponentServer } from './component-server.ts';

let authorityPem = '';
before(async () => void (authorityPem = (await createTestAuthority('clients')).caPem));

function machine() {
  const sim = createSimPlatform();
  const { clock, log } = sim;
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  const principal = { name: 'component', groups: [] };
  const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });
  const authorities: (string | undefined)[] = [];
  let ask: HttpHandler | undefined;
  const listenHttp = async ({ tls }: ListenOptions, handler: HttpHandler) => {
    authorities.push(tls?.clientCaPem);
    ask = handler;
    return {
      port: 1,
      setCertificate: ({ clientCaPem }: ServedCertificates) => void authorities.push(clientCaPem),
      close: async () => undefined,
    };
  };
  const open = (toleratesLookupFailure: boolean) =>
    openComponentServer(
      {
        platform: { ...sim, listenHttp },
        name: 'kube-scheduler',
        handler: () => ({ kind: 'bytes', status: 200, headers: {}, chunks: [] }),
      },
      {
        bindAddress: '0.0.0.0',
        securePort: 1,
        certDir: '',
        tlsMinVersion: 'TLSv1.2',
        sniCertificates: [],
        http2: true,
        sharesPort: false,
      },
      {
        alwaysAllowPaths: ['/healthz'],
        skipsLookup: false,
        toleratesLookupFailure,
        tokenTtlMs: 0,
        allowedTtlMs: 0,
        deniedTtlMs: 0,
        authentication: client,
        authorization: client,
      },
    );
  const request = async (headers: Record<string, string> = {}) => {
    const answer = await ask!({ method: 'GET', path: '/metrics', headers } as unknown as HttpRequest);
    assert.equal(answer.kind, 'bytes');
    return { status: answer.status, body: answer.kind === 'bytes' ? Buffer.concat(answer.chunks).toString() : '' };
  };
  const away = (): void => {
    throw statusFailure(503, 'ServiceUnavailable', 'the API server is away');
  };
  const publish = (pem: string): void =>
    void api.seed(ConfigMaps, {
      metadata: { namespace: 'kube-system', name: 'extension-apiserver-authentication' },
      data: { 'client-ca-file': pem },
    });
  return { api, clock, log, open, authorities, request, away, publish };
}

test('the authority of clients is loaded when the API server becomes available, and when it changes', async () => {
  const { api, clock, open, authorities, away, publish } = machine();
  api.intercept = away;
  const server = await clock.drive(open(true));
  assert.match(authorities[0] ?? '', /BEGIN CERTIFICATE/, 'certificates are asked for from the start');
  await clock.advance(30_000);
  assert.equal(authorities.length, 1);
  publish('');
  api.intercept = undefined;
  await clock.advance(10_000);
  assert.equal(authorities.length, 1, 'an API server without such an authority tells none');
  publish(authorityPem);
  await clock.advance(10_000);
  assert.deepEqual(authorities.slice(1), [authorityPem]);
  publish(`${authorityPem}\n`);
  await clock.advance(10_000);
  assert.deepEqual(authorities.slice(2), [`${authorityPem}\n`]);
  await server.close(0);
  assert.equal(clock.pendingTimers, 0);
});

test('where a lookup that fails is not tolerated, nothing is served', async () => {
  const { api, clock, open, authorities, away } = machine();
  api.intercept = away;
  await assert.rejects(
    clock.drive(open(false)),
    /unable to load configmap based client-ca-file: the API server is away/,
  );
  assert.deepEqual(authorities, []);
});

test('failed checks are reported: authentication by 401, authorization by 500', async () => {
  const { api, clock, log, open, request, away, publish } = machine();
  publish('');
  const server = await clock.drive(open(false));
  api.intercept = away;
  assert.deepEqual(await clock.drive(request()), {
    status: 500,
    body: 'Internal Server Error: "/metrics": the API server is away\n',
  });
  assert.equal((await clock.drive(request({ authorization: 'Bearer t' }))).status, 401);
  assert.deepEqual(
    log.entries.filter(({ level }) => level === 'error').map(({ message }) => message),
    ['Unable to authorize the request', 'Unable to authenticate the request'],
  );
  await server.close(0);
});
