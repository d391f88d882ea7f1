/** The proxy before registries that want tokens, passwords or redirect: servers on loopback, with and without TLS. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { createAuthority, issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { HttpRequest, HttpServer } from '../../platform/http.ts';
import type { HttpAnswer } from '../../platform/net.ts';
import { answerText } from '../../platform/answer-text.ts';
import { createNodePlatform, type NodePlatform } from '../../platform/node/node-platform.ts';
import { emptyResponse, jsonResponse } from '../registry/registry-error.ts';
import type { Mirror } from './mirror.ts';
import { startMirrorProxy, type RunningMirrorProxy } from './mirror-proxy.ts';
import { compileRewrites } from './rewrite-name.ts';

const rewrite = compileRewrites([['^library/(.*)', 'team/$1']]);
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const LIFETIME_MS = 86_400_000;
const blob = `sha256:${'a'.repeat(64)}`;

describe('the proxy of mirrors', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-mirrors-'));
  const servers: HttpServer[] = [];
  /** What each server got: `METHOD path?query authorization`. */
  const seen: string[] = [];
  let platform: NodePlatform;
  const file = (name: string): string => join(folder, `${name}.pem`);
  let authority: KeyPairPem;
  let serving: KeyPairPem;

  before(async () => {
    platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    const deps = { ...platform, nowMs: () => platform.clock.nowMs() };
    authority = await createAuthority(deps, 'mirrors', LIFETIME_MS);
    const issue = (commonName: string, usages: readonly ('client' | 'server')[]): Promise<KeyPairPem> =>
      issueCertificate(deps, authority, {
        commonName,
        dnsNames: ['localhost'],
        ipAddresses: ['127.0.0.1'],
        usages,
        validityMs: LIFETIME_MS,
      });
    serving = await issue('mirror', ['server']);
    const client = await issue('node', ['client']);
    for (const [name, text] of Object.entries({ ca: authority.certPem, cert: client.certPem, key: client.keyPem }))
      writeFileSync(file(name), text);
  });
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close(0)));
    seen.length = 0;
  });
  after(async () => {
    await platform.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Resolves with its URL. */
  const serve = async (answer: (request: HttpRequest) => ReturnType<typeof jsonResponse>, tls = false) => {
    const server = await platform.listenHttp(
      {
        host: '127.0.0.1',
        port: 0,
        ...(tls && { tls: { certPem: serving.certPem, keyPem: serving.keyPem, clientCaPem: authority.certPem } }),
      },
      (request) => {
        const { method, path, query, headers, peerCertificate } = request;
        const parts = [method, `${path}${query && `?${query}`}`, headers['authorization'], peerCertificate?.commonName];
        seen.push(parts.filter((part) => part !== undefined).join(' '));
        return answer(request);
      },
    );
    servers.push(server);
    return `http${tls ? 's' : ''}://127.0.0.1:${server.port}`;
  };
  const content = () => jsonResponse(200, { ok: true }, { 'docker-content-digest': blob, 'x-other': '1' });
  const start = async (mirror: Omit<Mirror, 'rewrite'>, deps = platform): Promise<RunningMirrorProxy> => {
    const proxy = await startMirrorProxy(deps, [{ ...mirror, rewrite }]);
    servers.push({ port: 0, setCertificate: () => undefined, close: () => proxy.close() });
    return proxy;
  };
  const pull = async (
    proxy: RunningMirrorProxy,
    path: string,
    { method = 'GET', headers = {}, key = true } = {},
  ): Promise<HttpAnswer & { readonly text: string }> => {
    const tls = { caPem: proxy.caPem };
    const all = { ...(key ? proxy.headers : {}), ...headers };
    const answer = await platform.net.http({ method, url: `${proxy.url(0)}${path}`, headers: all, tls });
    return { ...answer, text: await answerText(answer, 10_000) };
  };
  /** A registry that wants tokens, and the server that gives them. */
  const withTokens = async (isRight: (authorization: string | undefined) => boolean, tls = false): Promise<string> => {
    const url: string = await serve(({ path, headers, query }) => {
      if (path === '/token')
        return isRight(headers['authorization'])
          ? jsonResponse(200, { token: `for-${new URLSearchParams(query).get('scope')}`, expires_in: 300 })
          : emptyResponse(401);
      if (headers['authorization'] === 'Bearer for-repository:team/app:pull') return content();
      const challenge = `Bearer realm="${url}/token",service="s",scope="repository:team/app:pull"`;
      return emptyResponse(401, { 'www-authenticate': challenge });
    }, tls);
    return url;
  };

  test('renames the repository, keeps the rest of the request, and passes the answer on', async () => {
    const url = await serve(content);
    const proxy = await start({ url: `${url}/v2/hub` });
    const answer = await pull(proxy, '/library/app/manifests/1?ns=docker.io&x=y');
    assert.equal(answer.text, '{"ok":true}\n');
    assert.equal(answer.headers['docker-content-digest'], blob);
    assert.equal(answer.headers['x-other'], undefined);
    const head = await pull(proxy, `/other/app/blobs/${blob}`, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', '12']);
    assert.deepEqual(seen, ['GET /v2/hub/team/app/manifests/1?ns=docker.io', `HEAD /v2/hub/other/app/blobs/${blob}`]);
  });

  test('gets a token for the renamed repository once, with the mirror’s credentials', async () => {
    const url = await withTokens((authorization) => authorization === basic('me:secret'));
    const proxy = await start({ url: `${url}/v2`, auth: { username: 'me', password: 'secret' } });
    for (const path of ['manifests/1', `blobs/${blob}`])
      assert.equal((await pull(proxy, `/library/app/${path}`)).status, 200);
    const token = 'Bearer for-repository:team/app:pull';
    assert.deepEqual(seen, [
      'GET /v2/team/app/manifests/1',
      `GET /token?service=s&scope=repository%3Ateam%2Fapp%3Apull ${basic('me:secret')}`,
      `GET /v2/team/app/manifests/1 ${token}`,
      `GET /v2/team/app/blobs/${blob} ${token}`,
    ]);
  });

  test('an identity token is exchanged by POST', async () => {
    const url: string = await serve(({ path, headers }) => {
      if (path === '/token') return jsonResponse(200, { access_token: 't' });
      if (headers['authorization'] === 'Bearer t') return content();
      return emptyResponse(401, { 'www-authenticate': `Bearer realm="${url}/token"` });
    });
    const proxy = await start({ url: `${url}/v2`, auth: { identityToken: 'refresh' } });
    assert.equal((await pull(proxy, '/library/app/manifests/1')).status, 200);
    assert.equal(seen[1], 'POST /token');
  });

  test('the pod’s pull secret is asked for, and its token serves no other pull', async () => {
    const url = await withTokens((authorization) => authorization === basic('pod:secret'));
    const proxy = await start({ url: `${url}/v2` });
    const path = '/library/app/manifests/1';
    const refused = await pull(proxy, path);
    assert.deepEqual([refused.status, refused.headers['www-authenticate']], [401, 'Basic realm="mirror"']);
    assert.equal((await pull(proxy, path, { headers: { authorization: basic('pod:secret') } })).status, 200);
    assert.equal((await pull(proxy, path)).status, 401);
    const wrong = await pull(proxy, path, { headers: { authorization: basic('pod:wrong') } });
    assert.deepEqual([wrong.status, wrong.headers['www-authenticate']], [401, undefined]);
  });

  test('no answer of refused pulls stays open', async () => {
    const challenges = [undefined, 'Basic realm="x"', 'Bearer realm="x"', 'Other realm="x"'];
    let open = 0;
    const http: NodePlatform['net']['http'] = async (call) => {
      const answer = await platform.net.http(call);
      open += 1;
      const close = (): void => {
        open -= 1;
        answer.cancel();
      };
      return { ...answer, cancel: close };
    };
    const net = Object.assign(Object.create(platform.net) as NodePlatform['net'], { http });
    for (const challenge of challenges) {
      const url = await serve(() =>
        emptyResponse(401, challenge === undefined ? {} : { 'www-authenticate': challenge }),
      );
      const auth = { username: 'me', password: 'old' };
      const proxy = await start({ url: `${url}/v2`, auth }, { ...platform, net });
      for (let pulls = 0; pulls < 3; pulls += 1)
        assert.notEqual((await pull(proxy, '/library/app/manifests/1')).status, 200);
    }
    assert.equal(open, 0);
  });

  test('Bearer is answered where the mirror offers Basic before it', async () => {
    const url: string = await serve(({ path, headers }) => {
      if (path === '/token') return jsonResponse(200, { token: 't' });
      if (headers['authorization'] === 'Bearer t') return content();
      return emptyResponse(401, { 'www-authenticate': `Basic realm="x", Bearer realm="${url}/token"` });
    });
    const proxy = await start({ url: `${url}/v2`, auth: { username: 'me', password: 'secret' } });
    assert.equal((await pull(proxy, '/library/app/manifests/1')).status, 200);
  });

  test('a redirect to another host gets neither credentials nor the client certificate', async () => {
    const port = new URL(await serve(content, true)).port;
    const url = await serve(({ headers }) => {
      if (headers['authorization'] !== basic('me:secret'))
        return emptyResponse(401, { 'www-authenticate': 'Basic realm="x"' });
      return emptyResponse(307, { location: `https://evil:word@localhost:${port}/x?signed=1` });
    }, true);
    const proxy = await start({
      url: `${url}/v2`,
      auth: { auth: Buffer.from('me:secret').toString('base64') },
      tls: { ca_file: file('ca'), cert_file: file('cert'), key_file: file('key') },
    });
    assert.equal((await pull(proxy, `/library/app/blobs/${blob}`)).status, 200);
    const path = `GET /v2/team/app/blobs/${blob}`;
    assert.deepEqual(seen, [`${path} node`, `${path} ${basic('me:secret')} node`, 'GET /x?signed=1']);
  });

  test('credentials that were sent over TLS are sent in no other way', async () => {
    const plain = await serve(content);
    for (const [answer, says] of [
      [emptyResponse(307, { location: `${plain}/x` }), 'redirects to http:'],
      [emptyResponse(401, { 'www-authenticate': `Bearer realm="${plain}/token"` }), 'authorization server without TLS'],
    ] as const) {
      const url = await serve(() => answer, true);
      const proxy = await start({ url: `${url}/v2`, tls: { insecure_skip_verify: true } });
      const { status, text } = await pull(proxy, '/library/app/manifests/1');
      assert.deepEqual([status, text.includes(says)], [502, true], text);
    }
    assert.equal(seen.filter((line) => line.startsWith('GET /x') || line.startsWith('GET /token')).length, 0);
  });

  test('a mirror that is not verified is not asked, and one that does not end its redirects is left', async () => {
    const url = await serve(content, true);
    const path = '/library/app/manifests/1';
    assert.equal((await pull(await start({ url: `${url}/v2` }), path)).status, 502);
    assert.equal(seen.length, 0);
    const round: string = await serve(() => emptyResponse(302, { location: `${round}/again` }));
    assert.equal((await pull(await start({ url: `${round}/v2` }), path)).status, 502);
    assert.equal(seen.length, 11);
  });

  test('loopback carries neither key nor pull secrets in clear text', async () => {
    const proxy = await start({ url: `${await serve(content)}/v2` });
    assert.equal(new URL(proxy.url(0)).port, String(proxy.port));
    const call = { method: 'GET', url: `${proxy.url(0)}/library/app/manifests/1`, headers: proxy.headers };
    await assert.rejects(platform.net.http({ ...call, url: call.url.replace('https:', 'http:') }));
    await assert.rejects(platform.net.http({ ...call, tls: { caPem: authority.certPem } }), /certificate/);
    assert.deepEqual(seen, []);
  });

  test('who lacks the key gets nothing; who has it may pull alone', async () => {
    const url = await serve(content);
    const proxy = await start({ url: `${url}/v2` });
    const path = '/library/app/manifests/1';
    assert.equal((await pull(proxy, path, { key: false })).status, 403);
    assert.equal((await pull(proxy, path, { key: false, headers: { 'keelson-mirror-key': 'x' } })).status, 403);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'])
      assert.equal((await pull(proxy, path, { method })).status, 405, method);
    for (const other of [
      '/library/app/tags/list',
      '/library/app/referrers/x',
      '/_catalog',
      '/',
      '/x/../../y/manifests/1',
    ])
      assert.equal(Math.floor((await pull(proxy, other)).status / 100), 4, other);
    for (const reference of ['a%2Fb', '..', `sha256:${'g'.repeat(64)}`])
      assert.equal(Math.floor((await pull(proxy, `/library/app/blobs/${reference}`)).status / 100), 4, reference);
    const outside = await startMirrorProxy(platform, [
      { url: `${url}/v2`, rewrite: compileRewrites([['^library/', '../admin/']]) },
    ]);
    assert.equal((await pull(outside, path)).status, 400);
    await outside.close();
    assert.deepEqual(seen, []);
  });
});
