/** TLS to backends: the backend's identity is verified before anything is sent, over HTTP/1.1, HTTP/2 and upgrades. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import { Agent, createServer } from 'node:https';
import { after, afterEach, before, describe, test } from 'node:test';
import { createTestAuthority, type TestAuthority } from '../../../platform/node/certificates-fixture.ts';
import type { Backend } from '../../snapshot/snapshot.ts';
import { atEnd, endAll, get, portOf, raw, route, startPlane } from '../data-plane-fixture.ts';
import { checkAltNames, tlsOptions } from './verify-backend.ts';

let authority: TestAuthority;
let stranger: TestAuthority;
before(async () => {
  [authority, stranger] = [await createTestAuthority('test'), await createTestAuthority('stranger')];
});
afterEach(endAll);
after(endAll);

type Verification = NonNullable<Backend['verification']>;

/** A server with a certificate for `inner.example`, which counts requests and records the requested server name. */
async function startTls(protocol: 'https' | 'h2') {
  const { certPem: cert, keyPem: key } = await authority.issue('CN=inner.example', ['inner.example']);
  const seen: string[] = [];
  const answer = (request: { method: string; socket: object }, response: { end(text: string): unknown }): void => {
    const { servername } = request.socket as { servername?: string };
    seen.push(request.method);
    response.end(`${protocol} ${servername}`);
  };
  const server =
    protocol === 'https'
      ? createServer({ cert, key }, answer as never)
      : createSecureServer({ cert, key }, answer as never);
  server.on('upgrade', (_request, socket) => {
    seen.push('upgrade');
    socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nhello');
  });
  server.on('sessionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => server.close());
  const backend = { protocol, endpoints: [{ address: '127.0.0.1', port: portOf(server) }] };
  return { backend, seen };
}

for (const protocol of ['https', 'h2'] as const)
  describe(protocol, () => {
    const ask = async (change: (right: Verification) => Verification | undefined) => {
      const { port, serve } = await startPlane();
      const { backend, seen } = await startTls(protocol);
      const verification = change({ serverName: 'inner.example', caPem: authority.caPem });
      await serve([route()], { b: { ...backend, verification } });
      const { status, body } = await get(port, '/', { headers: { host: 'outer.example' } });
      return { status, body: body.trim(), seen };
    };

    test('a backend with the right name and authority is accepted', async () => {
      const { status, body } = await ask((right) => right);
      assert.deepEqual([status, body], [200, `${protocol} inner.example`]);
    });
    const wrong: readonly (readonly [string, (right: Verification) => Verification])[] = [
      ['another name', (right) => ({ ...right, serverName: 'other.example' })],
      ['another authority', (right) => ({ ...right, caPem: stranger.caPem })],
      ['authorities of the system', ({ serverName }) => ({ serverName })],
      ['none of the names', (right) => ({ ...right, altNames: [{ type: 'DNS', value: 'other.example' }] })],
    ];
    for (const [what, change] of wrong)
      test(`${what}: 502, and nothing reaches the backend`, async () => {
        const { status, seen } = await ask(change);
        assert.deepEqual([status, seen], [502, []]);
      });
    test('one of several alternative names is enough, whatever name was requested', async () => {
      const altNames = [
        { type: 'DNS', value: 'other.example' },
        { type: 'DNS', value: 'inner.example' },
      ] as const;
      const { status, body } = await ask((right) => ({ ...right, serverName: 'asked.example', altNames }));
      assert.deepEqual([status, body], [200, `${protocol} asked.example`]);
    });
  });

test('connections that were verified by other names are not shared', async () => {
  const { port, serve } = await startPlane();
  for (const protocol of ['https', 'h2'] as const) {
    const { backend } = await startTls(protocol);
    const verification = { serverName: 'inner.example', caPem: authority.caPem };
    const altNames = [{ type: 'DNS', value: 'other.example' }] as const;
    await serve([route({ path: { type: 'exact', value: '/no' }, backends: [{ backend: 'no', weight: 1 }] }), route()], {
      b: { ...backend, verification },
      no: { ...backend, verification: { ...verification, altNames } },
    });
    for (let at = 0; at < 3; at++) {
      assert.equal((await get(port, '/yes')).status, 200);
      assert.equal((await get(port, '/no')).status, 502);
    }
  }
});

test('an upgrade is sent only to a backend whose identity is verified', async () => {
  for (const [serverName, expected] of [
    ['inner.example', /^HTTP\/1\.1 101 [^]*hello$/],
    ['other.example', /^HTTP\/1\.1 502 /],
  ] as const) {
    const { port, serve } = await startPlane();
    const { backend, seen } = await startTls('https');
    await serve([route()], { b: { ...backend, verification: { serverName, caPem: authority.caPem } } });
    const answer = await raw(port, 'GET / HTTP/1.1\r\nhost: a.example\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    assert.match(answer, expected);
    assert.deepEqual(seen, serverName === 'inner.example' ? ['upgrade'] : []);
  }
});

test('names of certificates are parsed', () => {
  const has = (subjectaltname: string, type: 'DNS' | 'URI', value: string): boolean =>
    checkAltNames([{ type, value }], { subjectaltname }) === undefined;
  const all = 'DNS:a.example, URI:spiffe://x/y, DNS:*.w.example, URI:"https://a,b", IP Address:10.0.0.1';
  assert.ok(has(all, 'DNS', 'a.example'));
  assert.ok(has(all, 'DNS', 'one.w.example'));
  assert.ok(has(all, 'DNS', '*.w.example'));
  assert.ok(has(all, 'URI', 'spiffe://x/y'));
  assert.ok(has(all, 'URI', 'https://a,b'));
  for (const name of ['b.example', 'x.one.w.example', 'spiffe://x/y', '10.0.0.1'])
    assert.ok(!has(all, 'DNS', name), name);
  for (const uri of ['a.example', 'spiffe://x', 'b"']) assert.ok(!has(all, 'URI', uri), uri);
  assert.ok(!has('', 'DNS', 'a.example'));
});

test('names within entries of other types are no names of the certificate', () => {
  const wanted = [
    { type: 'DNS', value: 'victim.example' },
    { type: 'URI', value: 'spiffe://victim' },
  ] as const;
  for (const type of ['email', 'DirName', 'othername', 'Registered ID', 'DNS', 'URI'])
    for (const hidden of ['DNS:victim.example', 'URI:spiffe://victim', 'DNS:*.example'])
      for (const value of [`a\\u002c ${hidden}`, `a, ${hidden}`, `a\\", ${hidden}`, `a, ${hidden}, b`]) {
        const subjectaltname = `${type}:"${value}", IP Address:10.0.0.1`;
        assert.ok(checkAltNames(wanted, { subjectaltname }) instanceof Error, subjectaltname);
        const beside = { subjectaltname: `${subjectaltname}, DNS:victim.example` };
        assert.equal(checkAltNames(wanted, beside), undefined, beside.subjectaltname);
      }
});

test('a certificate whose names cannot be parsed has none', () => {
  for (const subjectaltname of ['email:"a, DNS:a.example', 'DNS:"\\x", DNS:a.example', 'a, DNS:a.example', '"', ':'])
    assert.ok(
      checkAltNames([{ type: 'DNS', value: 'a.example' }], { subjectaltname }) instanceof Error,
      subjectaltname,
    );
});

test('authorities are parsed once for all connections with the same verification, and are not part of connection keys', () => {
  const verification = { serverName: 'a.example', caPem: authority.caPem };
  const optionsOf = (more: Partial<Verification>) =>
    tlsOptions({ verification: { ...verification, ...more } }, 'b.example') as Record<string, unknown>;
  const one = optionsOf({});
  assert.ok(one['secureContext'] !== undefined);
  assert.equal(optionsOf({})['secureContext'], one['secureContext']);
  assert.equal(optionsOf({})['sessionIdContext'], one['sessionIdContext']);
  const others = [{ caPem: stranger.caPem }, { altNames: [{ type: 'DNS', value: 'x.example' }] }] as const;
  for (const other of others) assert.notEqual(optionsOf(other)['sessionIdContext'], one['sessionIdContext']);
  assert.doesNotMatch(new Agent().getName({ host: 'h', ...one }), /CERTIFICATE/);
  // Contexts that were not used for long are evicted.
  for (let count = 0; count < 300; count++) optionsOf({ serverName: `${count}.example` });
  assert.notEqual(optionsOf({})['secureContext'], one['secureContext']);
});
