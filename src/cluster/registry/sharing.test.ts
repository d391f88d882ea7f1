/** Registries of several nodes: real TLS on loopback, with certificates of one authority and of another. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { stored } from '../../api/stored-fixture.ts';
import { aborted } from '../../base/abort.ts';
import { createAuthority, issueCertificate, type KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { HttpHandler, HttpServer } from '../../platform/http.ts';
import { createNodePlatform, type NodePlatform } from '../../platform/node/node-platform.ts';
import { BlobStore } from './blob-store.ts';
import { PEER_PATH, withPeerReads } from './peer-access.ts';
import { PeerRegistries, type Peer } from './peer-registries.ts';
import { digestOf, MANIFEST } from './registry-fixture.ts';
import { createRegistryHandlers } from './registry-handler.ts';
import { Repositories } from './repositories.ts';
import { peerOf } from './share-registry.ts';
import { Uploads } from './uploads.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface TestNode {
  readonly name: string;
  /** For programs of its machine. */
  readonly local: HttpServer;
  /** Its kubelet's. */
  readonly kubelet: HttpServer;
}

test('a node whose address is a URL is never requested', () => {
  const node = (address: string) =>
    stored<Node>({
      metadata: { name: 'two' },
      status: {
        addresses: [{ type: 'InternalIP', address }],
        daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
  assert.deepEqual(peerOf(node('fd00::2'), 'one'), [{ nodeName: 'two', server: 'https://[fd00::2]:10250' }]);
  for (const address of ['u@10.0.0.1:6443/api/v1/pods?', '10.0.0.1/x', '10.1', ''])
    assert.deepEqual(peerOf(node(address), 'one'), [], address);
});

describe('registries of several nodes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-sharing-'));
  const nodes: TestNode[] = [];
  /** Nodes that the cluster has, by the test. */
  const members = new Set(['one', 'two']);
  const others: Peer[] = [];
  let platform: NodePlatform;
  let authority: KeyPairPem;
  const silent = createServer();

  const certificate = async (commonName: string, organizations: readonly string[], of = authority) =>
    issueCertificate({ ...platform, nowMs: () => platform.clock.nowMs() }, of, {
      commonName,
      organizations,
      ipAddresses: ['127.0.0.1'],
      usages: ['client', 'server'],
      validityMs: 3_600_000,
    });
  const startNode = async (name: string): Promise<TestNode> => {
    const { files, random, net, log } = platform;
    // Requests to peers that do not answer time out at once.
    const clock = {
      ...platform.clock,
      setTimer: (delayMs: number, callback: () => void) => platform.clock.setTimer(delayMs / 20, callback),
    };
    const place = `${folder}/${name}`;
    const blobs = new BlobStore(files, place, 0);
    const repositories = new Repositories(files, place, blobs);
    const uploads = new Uploads({ files, clock, random, blobs }, place);
    for (const part of [blobs, repositories, uploads]) await part.open();
    const pair = await certificate(`system:node:${name}`, ['system:nodes']);
    const peers = new PeerRegistries({
      net,
      clock,
      log,
      caPem: authority.certPem,
      peers: () => [
        ...nodes
          .filter((node) => node.name !== name)
          .map((node) => ({ nodeName: node.name, server: `https://127.0.0.1:${node.kubelet.port}` })),
        ...others,
      ],
      certificate: () => Promise.resolve(pair),
    });
    const { local, read } = createRegistryHandlers({ blobs, repositories, uploads }, log, () => peers);
    const kubelet: HttpHandler = () => ({ kind: 'bytes', status: 418, headers: {}, chunks: [] });
    const tls = { ...pair, clientCaPem: authority.certPem };
    return {
      name,
      local: await platform.listenHttp({ host: '127.0.0.1', port: 0 }, local),
      kubelet: await platform.listenHttp(
        { host: '127.0.0.1', port: 0, tls },
        withPeerReads(kubelet, read, (each) => members.has(each)),
      ),
    };
  };
  const call = async (
    method: string,
    url: string,
    { body, headers = {}, pair }: { body?: string; headers?: Record<string, string>; pair?: KeyPairPem } = {},
  ): Promise<Answer> => {
    const tls = { caPem: authority.certPem, ...pair };
    const answer = await platform.net.http({ method, url, headers, tls, ...(body !== undefined && { body }) });
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    return { status: answer.status, headers: answer.headers, body: Buffer.concat(chunks).toString() };
  };
  const at = (name: string, method: string, path: string, options: Parameters<typeof call>[2] = {}): Promise<Answer> =>
    call(method, `http://127.0.0.1:${nodes.find((node) => node.name === name)!.local.port}${path}`, options);
  const push = async (name: string, repository: string, tag: string, text: string): Promise<string> => {
    for (const content of ['{}', text])
      assert.equal(
        (await at(name, 'POST', `/v2/${repository}/blobs/uploads/?digest=${digestOf(content)}`, { body: content }))
          .status,
        201,
      );
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digestOf('{}'), size: 2 },
      layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', digest: digestOf(text), size: text.length }],
    });
    const put = await at(name, 'PUT', `/v2/${repository}/manifests/${tag}`, {
      body: manifest,
      headers: { 'content-type': MANIFEST },
    });
    assert.equal(put.status, 201, put.body);
    return digestOf(manifest);
  };
  /** As containerd pulls: the layer's text. */
  const pull = async (name: string, repository: string, tag: string): Promise<string> => {
    const head = await at(name, 'HEAD', `/shared/v2/${repository}/manifests/${tag}?ns=localhost:5001`);
    assert.equal(head.status, 200);
    const digest = head.headers['docker-content-digest']!;
    const got = await at(name, 'GET', `/shared/v2/${repository}/manifests/${digest}`);
    assert.deepEqual([got.status, got.headers['content-type'], digestOf(got.body)], [200, MANIFEST, digest]);
    const [layer] = (JSON.parse(got.body) as { layers: { digest: string }[] }).layers;
    return (await at(name, 'GET', `/shared/v2/${repository}/blobs/${layer!.digest}`)).body;
  };

  before(async () => {
    platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    authority = await createAuthority({ ...platform, nowMs: () => platform.clock.nowMs() }, 'test', 3_600_000);
    for (const name of ['one', 'two']) nodes.push(await startNode(name));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    for (const { local, kubelet } of nodes) await Promise.all([local.close(0), kubelet.close(0)]);
    silent.close();
    platform.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('an image pushed to one node is pulled on the other, whole and in part', async () => {
    await push('one', 'team/app', '1', 'from one');
    assert.equal(await pull('two', 'team/app', '1'), 'from one');
    assert.equal(await pull('one', 'team/app', '1'), 'from one');
    const part = await at('two', 'GET', `/shared/v2/team/app/blobs/${digestOf('from one')}`, {
      headers: { range: 'bytes=5-' },
    });
    assert.deepEqual([part.status, part.headers['content-range'], part.body], [206, 'bytes 5-7/8', 'one']);
    assert.equal((await at('two', 'GET', '/shared/v2/team/app/manifests/none')).status, 404);
    assert.equal((await at('two', 'GET', `/shared/v2/team/app/blobs/${digestOf('nowhere')}`)).status, 404);
  });

  test('the paths of the specification show only the own blobs of the node, so that a push uploads missing ones', async () => {
    await push('one', 'team/own', '1', 'only on one');
    for (const path of ['manifests/1', `blobs/${digestOf('only on one')}`])
      assert.equal((await at('two', 'HEAD', `/v2/team/own/${path}`)).status, 404);
    for (const [method, path] of [
      ['PUT', 'manifests/1'],
      ['DELETE', 'manifests/1'],
      ['POST', 'blobs/uploads/'],
      ['GET', 'tags/list'],
    ] as const)
      assert.equal((await at('two', method, `/shared/v2/team/own/${path}`)).status, 405, method);
  });

  test('of a tag that several nodes have the latest push counts, wherever it was', async () => {
    for (const [name, text] of [
      ['one', 'first'],
      ['two', 'second'],
      ['one', 'third'],
    ] as const) {
      await push(name, 'team/moving', '1', text);
      assert.deepEqual([await pull('one', 'team/moving', '1'), await pull('two', 'team/moving', '1')], [text, text]);
    }
  });

  test('only nodes of the cluster read at the server of the kubelet, and nobody writes', async () => {
    await push('one', 'team/secret', '1', 'secret');
    const strange = await createAuthority({ ...platform, nowMs: () => platform.clock.nowMs() }, 'test', 3_600_000);
    const url = `https://127.0.0.1:${nodes[0]!.kubelet.port}${PEER_PATH}/v2/team/secret/`;
    const node = await certificate('system:node:two', ['system:nodes']);
    const refused: (KeyPairPem | undefined)[] = [
      undefined,
      await certificate('admin', ['system:masters']),
      await certificate('system:node:two', []),
      await certificate('two', ['system:nodes']),
      await certificate('system:node:gone', ['system:nodes']),
      await certificate('system:node:two', ['system:nodes'], strange),
    ];
    for (const [index, pair] of refused.entries())
      assert.equal(
        (await call('GET', `${url}manifests/1`, pair === undefined ? {} : { pair })).status,
        403,
        String(index),
      );
    assert.equal((await call('GET', `${url}manifests/1`, { pair: node })).status, 200);
    for (const method of ['PUT', 'POST', 'PATCH', 'DELETE'])
      assert.equal((await call(method, `${url}manifests/1`, { pair: node })).status, 405, method);
    for (const path of ['tags/list', 'blobs/uploads/', `referrers/${digestOf('x')}`, '../../../etc/passwd'])
      assert.ok([403, 404, 418].includes((await call('GET', `${url}${path}`, { pair: node })).status), path);
    const elsewhere = await call('GET', `https://127.0.0.1:${nodes[0]!.kubelet.port}/pods`, { pair: node });
    assert.equal(elsewhere.status, 418, 'other paths are the kubelet’s');
  });

  test('a blob of another node is no longer fetched after its client has disconnected', async () => {
    const digest = digestOf('endless');
    const ended = Promise.withResolvers<void>();
    const pair = await certificate('system:node:three', ['system:nodes']);
    const stalling = await platform.listenHttp({ host: '127.0.0.1', port: 0, tls: pair }, ({ method, signal }) => {
      const headers = { 'content-length': '100' };
      if (method === 'HEAD') return { kind: 'bytes', status: 200, headers, chunks: [] };
      return {
        kind: 'stream',
        status: 200,
        headers,
        async run(sink) {
          await sink.write('the first bytes');
          await aborted(signal);
          ended.resolve();
        },
      };
    });
    others.push({ nodeName: 'three', server: `https://127.0.0.1:${stalling.port}` });
    try {
      const url = `http://127.0.0.1:${nodes[1]!.local.port}/shared/v2/team/app/blobs/${digest}`;
      const answer = await platform.net.http({ method: 'GET', url });
      for await (const piece of answer.body) {
        assert.equal(Buffer.from(piece).toString(), 'the first bytes');
        break;
      }
      answer.cancel();
      await ended.promise;
    } finally {
      others.length = 0;
      await stalling.close(0);
    }
  });

  test('nodes that refuse, do not answer or are another program delay nothing', async () => {
    const { port } = silent.address() as { port: number };
    const strange = await createAuthority({ ...platform, nowMs: () => platform.clock.nowMs() }, 'test', 3_600_000);
    const tls = await certificate('system:node:three', ['system:nodes'], strange);
    const impostor = await platform.listenHttp({ host: '127.0.0.1', port: 0, tls }, () => {
      throw new Error('nobody calls a server of another authority');
    });
    const closed = { nodeName: 'closed', server: 'https://127.0.0.1:1' };
    others.push({ nodeName: 'silent', server: `https://127.0.0.1:${port}` }, closed);
    others.push({ nodeName: 'three', server: `https://127.0.0.1:${impostor.port}` });
    try {
      await push('one', 'team/app', '2', 'still there');
      assert.equal(await pull('two', 'team/app', '2'), 'still there');
      assert.equal((await at('two', 'GET', '/shared/v2/team/app/manifests/none')).status, 404);
    } finally {
      others.length = 0;
      await impostor.close(0);
    }
  });
});
