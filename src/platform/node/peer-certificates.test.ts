/** Client certificates over time: expiry, resumed sessions, authorities that change, and authorities between. */
import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { after, before, beforeEach, describe, mock, test } from 'node:test';
import type { HttpHandler, HttpServer, PeerCertificate } from '../http.ts';
import { createTestAuthority, type TestAuthority, type TestCertificate } from './certificates-fixture.ts';
import { readAll } from './http-handler-fixture.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createListenHttp } from './http-server.ts';
import { createNodeNet } from './net.ts';

const listenHttp = createListenHttp(createMemoryLog());
const net = createNodeNet();
after(() => net.close());

const tell: HttpHandler = ({ peerCertificate, refusedCertificate }) => ({
  kind: 'bytes',
  status: 200,
  headers: {},
  chunks: [
    Buffer.from(
      JSON.stringify([
        peerCertificate?.commonName ?? null,
        refusedCertificate ?? false,
        peerCertificate?.authorityFingerprint256 ?? null,
      ]),
    ),
  ],
});

type Told = [name: string | null, refused: boolean, authority: string | null];

describe('client certificates', () => {
  let authority: TestAuthority;
  let serverCert: TestCertificate;
  let server: HttpServer;
  before(async () => {
    authority = await createTestAuthority('test CA');
    serverCert = await authority.issue('CN=server', ['127.0.0.1', 'localhost']);
  });
  beforeEach(async () => {
    await server?.close(0);
    const tls = { ...serverCert, clientCaPem: authority.caPem };
    server = await listenHttp({ host: '127.0.0.1', port: 0, tls }, tell);
  });
  after(() => server.close(0));

  const url = (): string => `https://127.0.0.1:${server.port}`;
  const ask = async (tls: Partial<TestCertificate>): Promise<Told> =>
    JSON.parse(
      await readAll(await net.http({ method: 'GET', url: url(), tls: { caPem: authority.caPem, ...tls } })),
    ) as Told;

  async function afterwards<T>(date: Date, call: () => Promise<T>): Promise<T> {
    const now = mock.method(Date, 'now', () => date.getTime());
    try {
      return await call();
    } finally {
      now.mock.restore();
    }
  }

  test('one that expires is refused on connections that stand, over HTTP/1.1 and HTTP/2', async () => {
    const end = new Date(Date.now() + 3600_000);
    end.setUTCMilliseconds(0);
    const short = await authority.issue('CN=short', [], end);
    const late = new Date(end.getTime() + 1);
    assert.deepEqual((await ask(short)).slice(0, 2), ['short', false]);
    assert.deepEqual((await afterwards(end, () => ask(short))).slice(0, 2), ['short', false]);
    assert.deepEqual(await afterwards(late, () => ask(short)), [null, true, null]);

    const session = connectHttp2(url(), { ca: authority.caPem, cert: short.certPem, key: short.keyPem });
    const askHttp2 = (): Promise<Told> =>
      new Promise((resolve, reject) => {
        let text = '';
        const stream = session.request({ ':path': '/' }).setEncoding('utf8');
        stream.on('data', (chunk: string) => (text += chunk)).on('error', reject);
        stream.on('end', () => resolve(JSON.parse(text) as Told));
      });
    assert.deepEqual((await askHttp2()).slice(0, 2), ['short', false]);
    assert.deepEqual(await afterwards(late, askHttp2), [null, true, null]);
    session.close();
  });

  test('sessions are not resumed: a new connection is a new verification', async () => {
    const ann = await authority.issue('CN=ann');
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const options = {
        port: server.port,
        host: '127.0.0.1',
        ca: authority.caPem,
        cert: ann.certPem,
        key: ann.keyPem,
        minVersion: version,
        maxVersion: version,
      };
      const answered = (socket: TLSSocket): Promise<void> =>
        new Promise((resolve, reject) => {
          socket.on('error', reject).once('data', () => resolve());
          socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
        });
      const first = connectTls(options);
      let session: Buffer | undefined;
      first.on('session', (one: Buffer) => (session = one));
      await answered(first);
      session ??= first.getSession();
      first.destroy();
      const second = connectTls({ ...options, session });
      await answered(second);
      assert.equal(second.isSessionReused(), false, version);
      second.destroy();
    }
  });

  test('a connection by a removed authority is refused, one of a kept authority continues', async () => {
    const other = await createTestAuthority('other CA');
    const both = { ...serverCert, clientCaPem: authority.caPem + other.caPem };
    server.setCertificate(both);
    const [ann, bob] = [await authority.issue('CN=ann'), await other.issue('CN=bob')];
    assert.deepEqual([(await ask(ann))[0], (await ask(bob))[0]], ['ann', 'bob']);
    server.setCertificate({ ...serverCert, clientCaPem: authority.caPem });
    assert.equal((await ask(ann))[0], 'ann');
    assert.deepEqual(await ask(bob), [null, true, null]);
  });

  test('the holder of a certificate learns whether its authority is still trusted, also after the connection has ended', async () => {
    const other = await createTestAuthority('other CA');
    const between = await other.intermediate('between');
    const leaf = await between.issue('CN=eve');
    const clients = [
      await authority.issue('CN=ann'),
      await other.issue('CN=bob'),
      { ...leaf, certPem: `${leaf.certPem}\n${between.caPem}` },
    ];
    const peers: PeerCertificate[] = [];
    const tls = { ...serverCert, clientCaPem: authority.caPem + other.caPem };
    const own = await listenHttp({ host: '127.0.0.1', port: 0, tls }, (request) => {
      peers.push(request.peerCertificate!);
      return tell(request);
    });
    for (const client of clients) {
      const given = { caPem: authority.caPem, ...client };
      await readAll(await net.http({ method: 'GET', url: `https://127.0.0.1:${own.port}`, tls: given }));
    }
    const trusted = (): (boolean | undefined)[] => peers.map(({ isTrusted }) => isTrusted?.());
    own.setCertificate(tls);
    assert.deepEqual(trusted(), [true, true, true]);
    own.setCertificate({ ...serverCert, clientCaPem: authority.caPem });
    assert.deepEqual(trusted(), [true, false, false]);
    await own.close(0);
  });

  test('a certificate without a trusted authority is refused, a missing one is not', async () => {
    const stranger = await (await createTestAuthority('test CA')).issue('CN=ann');
    assert.deepEqual(await ask(stranger), [null, true, null]);
    assert.deepEqual(await ask({}), [null, false, null]);
  });

  test('one counts for the trusted authority that issued it, and for none when another between did', async () => {
    const proxies = await createTestAuthority('proxies');
    const between = await proxies.intermediate('between');
    server.setCertificate({ ...serverCert, clientCaPem: authority.caPem + proxies.caPem });
    const [, , ofProxies] = await ask(await proxies.issue('CN=direct'));
    const [, , ofUsers] = await ask(await authority.issue('CN=ann'));
    assert.notEqual(ofProxies, null);
    assert.notEqual(ofProxies, ofUsers);
    const leaf = await between.issue('CN=proxy');
    const fake = await createTestAuthority('test CA');
    for (const others of [[between], [between, authority], [between, fake]]) {
      const certPem = [leaf.certPem, ...others.map(({ caPem }) => caPem)].join('\n');
      assert.deepEqual(await ask({ ...leaf, certPem }), ['proxy', false, null]);
    }
    assert.deepEqual(await ask(leaf), [null, true, null]);
    const chained = { ...leaf, certPem: `${leaf.certPem}\n${between.caPem}` };
    server.setCertificate({ ...serverCert, clientCaPem: authority.caPem });
    assert.deepEqual(await ask(chained), [null, true, null]);
    server.setCertificate({ ...serverCert, clientCaPem: authority.caPem + proxies.caPem + between.caPem });
    const another = { ...(await between.issue('CN=other')) };
    const [name, , ofBetween] = await ask(another);
    assert.equal(name, 'other');
    assert.notEqual(ofBetween, null);
  });

  test('identities beyond those kept end no call that is under way', async () => {
    const own = createNodeNet();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const slow = await listenHttp({ host: '127.0.0.1', port: 0, tls: serverCert }, async ({ path }) => {
      if (path === '/slow') await released;
      return { kind: 'bytes', status: 200, headers: {}, chunks: [Buffer.from('done')] };
    });
    const call = (path: string, serverName: string): ReturnType<typeof own.http> =>
      own.http({
        method: 'GET',
        url: `https://127.0.0.1:${slow.port}${path}`,
        tls: { serverName, insecureSkipVerify: true },
      });
    const underWay = call('/slow', 'first');
    for (let at = 0; at < 70; at++) await readAll(await call('/', `other-${at}`));
    release();
    assert.equal(await readAll(await underWay), 'done');
    own.close();
    await slow.close(0);
  });

  test('one ends with the authority that issued it', async () => {
    const end = new Date(Date.now() + 3600_000);
    end.setUTCMilliseconds(0);
    const between = await authority.intermediate('between', end);
    server.setCertificate({ ...serverCert, clientCaPem: authority.caPem + between.caPem });
    const leaf = await between.issue('CN=ann');
    assert.equal((await ask(leaf))[0], 'ann');
    assert.equal((await afterwards(new Date(end.getTime() + 1), () => ask(leaf)))[0], null);
  });
});
