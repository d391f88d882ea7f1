import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { ConfigMaps, ValidatingWebhookConfigurations } from '../api/gen/resources.ts';
import { createTestAuthority } from '../platform/node/certificates-fixture.ts';
import { Cluster } from './cluster.ts';

interface Review {
  readonly request: { readonly uid: string };
}

describe('a webhook server on a port of this machine', () => {
  let caPem: string;
  let port: number;
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Review;
      const refusal = { uid: review.request.uid, allowed: false, status: { message: 'the local server refuses' } };
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...review, response: refusal }));
    });
  });
  before(async () => {
    const authority = await createTestAuthority('webhooks');
    caPem = authority.caPem;
    const { certPem: cert, keyPem: key } = await authority.issue('CN=webhook', ['localhost', '127.0.0.1']);
    server.setSecureContext({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  after(() => server.close());

  async function refusalBy(clock: 'real' | 'virtual', host: string): Promise<string> {
    await using cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false, clock });
    const caBundle = Buffer.from(caPem).toString('base64');
    await cluster.client.resource(ValidatingWebhookConfigurations).create({
      metadata: { name: 'refuse' },
      webhooks: [
        {
          name: 'refuse.example.com',
          clientConfig: { url: `https://${host}:${port}/refuse`, caBundle },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    const making = cluster.client.resource(ConfigMaps).create({ metadata: { name: 'a', namespace: 'default' } });
    return making.then(
      () => 'created',
      (error: Error) => error.message,
    );
  }

  for (const host of ['127.0.0.1', 'localhost'])
    test(`as ${host} answers a cluster in real time`, async () =>
      assert.match(await refusalBy('real', host), /denied the request: the local server refuses/));

  test('is beyond a cluster on virtual time, and other addresses are beyond every cluster', async () => {
    assert.match(await refusalBy('virtual', '127.0.0.1'), /ECONNREFUSED|connection refused/);
    assert.match(await refusalBy('real', '10.1.2.3'), /ECONNREFUSED|connection refused/);
  });
});
