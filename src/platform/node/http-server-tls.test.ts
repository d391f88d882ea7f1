/** HTTPS and HTTP/2: verified client certificates, and certificates that change while connections exist. */
import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { after, before, describe, test } from 'node:test';
import type { HttpServer } from '../http.ts';
import { createTestAuthority, type TestAuthority, type TestCertificate } from './certificates-fixture.ts';
import { handler, readAll } from './http-handler-fixture.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createListenHttp } from './http-server.ts';
import { createNodeNet } from './net.ts';

const listenHttp = createListenHttp(createMemoryLog());
const net = createNodeNet();
after(() => net.close());

describe('TLS', () => {
  let authority: TestAuthority;
  let serverCert: TestCertificate;
  let server: HttpServer;
  let base: string;
  before(async () => {
    authority = await createTestAuthority('test CA');
    serverCert = await authority.issue('CN=server', ['127.0.0.1', 'localhost']);
    const tls = { ...serverCert, clientCaPem: authority.caPem };
    server = await listenHttp({ host: '127.0.0.1', port: 0, tls }, handler);
    base = `https://127.0.0.1:${server.port}`;
  });
  after(() => server.close(0));

  test('accepts verified client certificates and no others', async () => {
    const caPem = authority.caPem;
    const peer = async (tls: object): Promise<unknown> => {
      const {
        peer: name,
        orgs,
        uids,
      } = JSON.parse(await readAll(await net.http({ method: 'GET', url: base, tls: { caPem, ...tls } })));
      return { name, orgs, ...(uids !== undefined && { uids }) };
    };
    const admin = await authority.issue('CN=admin, O=system:masters, O=ops');
    assert.deepEqual(await peer(admin), { name: 'admin', orgs: ['system:masters', 'ops'] });
    const known = await authority.issue('CN=ann, 1.3.6.1.4.1.57683.2=u-1');
    assert.deepEqual(await peer(known), { name: 'ann', orgs: [], uids: ['u-1'] });
    const twice = await authority.issue('CN=ann, 1.3.6.1.4.1.57683.2=u-1, 1.3.6.1.4.1.57683.2=u-2');
    assert.deepEqual(await peer(twice), { name: 'ann', orgs: [], uids: ['u-1', 'u-2'] });
    assert.deepEqual(await peer({}), { name: undefined, orgs: undefined });
    const stranger = await (await createTestAuthority('other CA')).issue('CN=admin, O=system:masters');
    assert.deepEqual(await peer(stranger), { name: undefined, orgs: undefined });
  });

  test("a pool that holds the server's own certificate alone trusts it, and no other server", async () => {
    const get = (caPem: string): Promise<unknown> => net.http({ method: 'GET', url: base, tls: { caPem } });
    assert.equal(typeof (await readAll((await get(serverCert.certPem)) as never)), 'string');
    const other = await authority.issue('CN=server', ['127.0.0.1', 'localhost']);
    await assert.rejects(get(other.certPem));
  });

  test('a client certificate with control characters in its names is refused', async () => {
    const subjects: readonly Parameters<TestAuthority['issue']>[0][] = [
      [{ CN: ['x\r\nX-Remote-User: admin'] }],
      [{ CN: ['x\0y'] }],
      [{ CN: ['ann'] }, { O: ['a\nsystem:masters'] }],
    ];
    for (const subject of subjects) {
      const tls = { caPem: authority.caPem, ...(await authority.issue(subject)) };
      const { peer } = JSON.parse(await readAll(await net.http({ method: 'GET', url: base, tls })));
      assert.equal(peer, undefined, JSON.stringify(subject));
    }
  });

  test('clients verify the server', async () => {
    const other = await createTestAuthority('other CA');
    const call = net.http({ method: 'GET', url: base, tls: { caPem: other.caPem } });
    await assert.rejects(call, { code: 'SELF_SIGNED_CERT_IN_CHAIN' });
    const skipped = await net.http({ method: 'GET', url: base, tls: { insecureSkipVerify: true } });
    assert.equal(skipped.status, 200);
    await readAll(skipped);
  });

  test('serves HTTP/2 on the same port', async () => {
    const admin = await authority.issue('CN=h2-admin, O=o');
    const session = connectHttp2(base, { ca: authority.caPem, cert: admin.certPem, key: admin.keyPem });
    const ask = (
      headers: Record<string, string | string[]>,
      body?: string,
    ): Promise<{ status: unknown; text: string }> =>
      new Promise((resolve, reject) => {
        const stream = session.request(headers);
        let status: unknown;
        let text = '';
        stream.on('response', (head) => (status = head[':status']));
        stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        stream.on('close', () => (stream.rstCode === 0 ? resolve({ status, text }) : undefined)).on('error', reject);
        stream.end(body);
      });
    const answer = await ask({ ':method': 'PUT', ':path': '/p?q=1' }, 'body');
    assert.equal(answer.status, 200);
    assert.deepEqual(JSON.parse(answer.text), {
      method: 'PUT',
      path: '/p',
      query: 'q=1',
      body: 'body',
      peer: 'h2-admin',
      orgs: ['o'],
      wantsUpgrade: false,
    });
    const lines = await ask({ ':path': '/', 'x-lines': ['a, b', 'c'] });
    assert.deepEqual((JSON.parse(lines.text) as { lines: string[] }).lines, ['a, b', 'c']);
    const streams = await Promise.all(Array.from({ length: 20 }, () => ask({ ':path': '/stream' })));
    for (const { text } of streams) assert.equal(text.split('\n').length, 1001);
    assert.equal((await ask({ ':path': '/limit', ':method': 'POST' }, 'x'.repeat(11))).status, 413);
    const beyondTheWindow = await ask({ ':path': '/limit', ':method': 'POST' }, 'x'.repeat(1_000_000));
    assert.equal(beyondTheWindow.status, 413, 'a body that nobody reads does not keep its stream open');
    assert.equal((await ask({ ':path': '/upgrade' })).status, 501);
    assert.equal((await ask({ ':path': '/throw' })).status, 500);
    await assert.rejects(ask({ ':path': '/stream?fail' }));
    await new Promise<void>((resolve) => session.close(resolve));
  });

  test('offers no older protocol and no other cipher than configured', async () => {
    const one = 'ECDHE-ECDSA-AES256-GCM-SHA384';
    const strict = await listenHttp(
      { host: '127.0.0.1', port: 0, tls: { ...serverCert, minVersion: 'TLSv1.3' } },
      handler,
    );
    const picky = await listenHttp({ host: '127.0.0.1', port: 0, tls: { ...serverCert, ciphers: [one] } }, handler);
    const protocolOf = (port: number, options: object): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connectTls({ host: '127.0.0.1', port, ca: authority.caPem, ...options }, () => {
          resolve(`${socket.getProtocol()} ${socket.getCipher().name}`);
          socket.destroy();
        });
        socket.on('error', reject);
      });
    await assert.rejects(protocolOf(strict.port, { maxVersion: 'TLSv1.2' }));
    assert.match(await protocolOf(strict.port, {}), /^TLSv1\.3 /);
    assert.equal(await protocolOf(picky.port, { maxVersion: 'TLSv1.2' }), `TLSv1.2 ${one}`);
    await Promise.all([strict.close(0), picky.close(0)]);
  });

  test('a connection gets the certificate of the name it requests: exact names first, configured ones before those in certificates', async () => {
    const wild = await authority.issue('CN=wild', ['*.example.com']);
    const whole = await authority.issue('CN=whole', ['a.example.com', 'other.example.org']);
    const given = await authority.issue('CN=given', ['unused.example.net']);
    const sni = [
      { ...wild, names: [] },
      { ...whole, names: [] },
      { ...given, names: ['other.example.org', '*.example.net'] },
    ];
    const tls = { ...serverCert, clientCaPem: authority.caPem, sni };
    const own = await listenHttp({ host: '127.0.0.1', port: 0, tls }, handler);
    const shown = (servername: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port: own.port, ca: authority.caPem, rejectUnauthorized: false };
        const socket = connectTls({ ...options, servername }, () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        });
        socket.on('error', reject);
      });
    assert.equal(await shown('a.example.com'), 'whole');
    assert.equal(await shown('b.example.com'), 'wild');
    assert.equal(await shown('other.example.org'), 'given');
    assert.equal(await shown('x.example.net'), 'given');
    assert.equal(await shown('nobody.example'), 'server');
    // Client certificates count on these connections too, also of an authority that was added later.
    const next = await createTestAuthority('next CA');
    const peer = async (from: TestAuthority): Promise<unknown> => {
      const admin = await from.issue('CN=admin');
      const fresh = createNodeNet();
      const given = { caPem: authority.caPem, serverName: 'a.example.com', ...admin };
      const answer = await fresh.http({ method: 'GET', url: `https://127.0.0.1:${own.port}/`, tls: given });
      const said = JSON.parse(await readAll(answer)) as { peer?: string };
      fresh.close();
      return said.peer;
    };
    assert.deepEqual([await peer(authority), await peer(next)], ['admin', undefined]);
    own.setCertificate({ ...serverCert, clientCaPem: next.caPem });
    assert.deepEqual([await peer(authority), await peer(next)], [undefined, 'admin']);
    // Named certificates are renewed with their names; an invalid one changes nothing.
    const renewed = await authority.issue('CN=renewed', ['a.example.com', 'c.example.org']);
    assert.throws(() => own.setCertificate({ ...serverCert, sni: [{ ...renewed, keyPem: wild.keyPem, names: [] }] }));
    assert.equal(await shown('a.example.com'), 'whole');
    own.setCertificate({ ...serverCert, sni: [{ ...renewed, names: [] }] });
    assert.equal(await shown('A.example.com'), 'renewed');
    assert.equal(await shown('c.example.org'), 'renewed');
    assert.equal(await shown('b.example.com'), 'server');
    assert.deepEqual([await peer(authority), await peer(next)], [undefined, 'admin']);
    await own.close(0);
  });

  test('HTTP/2: a response may end its connection after the other streams; concurrent streams are limited', async () => {
    const late = Promise.withResolvers<void>();
    const own = await listenHttp(
      { host: '127.0.0.1', port: 0, tls: { ...serverCert, http2MaxStreams: 7 } },
      async ({ path, isHttp2 }) => {
        if (path === '/late') await late.promise;
        const headers: Record<string, string> = { 'x-http2': String(isHttp2) };
        if (path === '/last') headers['connection'] = 'close';
        return { kind: 'bytes', status: 200, headers, chunks: [] };
      },
    );
    const session = connectHttp2(`https://127.0.0.1:${own.port}`, { ca: authority.caPem });
    const ask = (path: string): Promise<Record<string, unknown>> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':path': path });
        stream.once('response', resolve).once('error', reject);
        stream.resume();
      });
    assert.equal((await ask('/'))['x-http2'], 'true');
    assert.equal(session.remoteSettings.maxConcurrentStreams, 7);
    const goaway = new Promise((resolve) => session.once('goaway', resolve));
    const waiting = ask('/late');
    const last = await ask('/last');
    assert.deepEqual([last[':status'], last['connection']], [200, undefined]);
    assert.equal(await goaway, 0, 'without an error');
    late.resolve();
    assert.equal((await waiting)[':status'], 200);
    await new Promise<void>((resolve) => (session.closed ? resolve() : session.once('close', () => resolve())));
    await own.close(0);
  });

  test('a second close with a shorter time ends the wait of the first', async () => {
    const asked = Promise.withResolvers<void>();
    const own = await listenHttp({ host: '127.0.0.1', port: 0, tls: serverCert }, () => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    const fresh = createNodeNet();
    const call = { method: 'GET', url: `https://127.0.0.1:${own.port}/hang`, tls: { caPem: authority.caPem } };
    const hanging = fresh.http(call).catch((error: Error) => error);
    await asked.promise;
    const patient = own.close(600_000);
    await own.close(0);
    await patient;
    assert.ok((await hanging) instanceof Error);
    fresh.close();
  });

  test('a new certificate serves new connections', async () => {
    const fresh = await createTestAuthority('fresh CA');
    const own = await listenHttp({ host: '127.0.0.1', port: 0, tls: serverCert }, handler);
    const next = await fresh.issue('CN=server', ['127.0.0.1']);
    own.setCertificate(next);
    const answer = await net.http({
      method: 'GET',
      url: `https://127.0.0.1:${own.port}/`,
      tls: { caPem: fresh.caPem },
    });
    assert.equal(answer.status, 200);
    await readAll(answer);
    await own.close(0);
  });

  test('a new authority of clients applies to new connections, and an invalid one changes nothing', async () => {
    const next = await createTestAuthority('next CA');
    const admin = await next.issue('CN=next-admin');
    const tls = { ...serverCert, clientCaPem: authority.caPem };
    const own = await listenHttp({ host: '127.0.0.1', port: 0, tls }, handler);
    const ask = async (): Promise<unknown> => {
      const fresh = createNodeNet(); // Has its own connections.
      const given = { caPem: authority.caPem, certPem: admin.certPem, keyPem: admin.keyPem };
      const answer = await fresh.http({ method: 'GET', url: `https://127.0.0.1:${own.port}/`, tls: given });
      const { peer } = JSON.parse(await readAll(answer)) as { peer?: string };
      fresh.close();
      return peer;
    };
    assert.equal(await ask(), undefined);
    own.setCertificate({ ...serverCert, clientCaPem: next.caPem });
    assert.equal(await ask(), 'next-admin');
    assert.throws(() => own.setCertificate({ ...serverCert, keyPem: admin.keyPem, clientCaPem: authority.caPem }));
    for (const bad of ['', 'no PEM', authority.caPem.slice(0, -40), `${authority.caPem}${next.caPem.slice(0, 100)}`])
      assert.throws(() => own.setCertificate({ ...serverCert, clientCaPem: bad }), /^Error: unable to load client CA/);
    assert.throws(() => own.setCertificate({ certPem: '', keyPem: '' }), /empty certificate/);
    assert.equal(await ask(), 'next-admin');
    own.setCertificate(serverCert);
    assert.equal(await ask(), 'next-admin');
    await own.close(0);
    // Node would trust the public authorities instead.
    const listening = listenHttp({ host: '127.0.0.1', port: 0, tls: { ...serverCert, clientCaPem: '' } }, handler);
    await assert.rejects(listening, /^Error: unable to load client CA: data does not contain any valid/);
  });
});
