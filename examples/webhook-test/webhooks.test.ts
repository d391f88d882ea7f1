/**
 * Tests of a custom resource with admission webhooks, called by the real API server: what the webhooks are asked, in which
 * order with schema defaults and validation, and what users see when one refuses or is away. The functions run in this
 * process, without ports and certificates.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Cluster, StatusError } from 'keelson/testing';
import { fillVersion, refuseShrinking, type Database } from './webhooks.ts';

const rules = [{ apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['databases'] }];

describe('databases', () => {
  let cluster: Cluster;
  let away = false;

  beforeEach(async () => {
    away = false;
    cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false });
    await cluster.apply(readFileSync(new URL('database-crd.yaml', import.meta.url), 'utf8'));
    const hook = (name: string, url: string, operations: string[]): object => ({
      name,
      clientConfig: { url },
      rules: rules.map((rule) => ({ ...rule, operations })),
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    });
    const shrink = cluster.webhook('/shrink', (review) => {
      if (away) throw new Error('out of order');
      return refuseShrinking(review);
    });
    await cluster.apply([
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: { name: 'databases' },
        webhooks: [hook('version.example.com', cluster.webhook('/version', fillVersion), ['CREATE'])],
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'databases' },
        webhooks: [hook('shrink.example.com', shrink, ['UPDATE'])],
      },
    ]);
  });
  afterEach(() => cluster.stop());

  const database = (spec: object): object => ({
    apiVersion: 'example.com/v1',
    kind: 'Database',
    metadata: { name: 'orders', namespace: 'default' },
    spec,
  });
  const apply = async (spec: object): Promise<Database['spec']> => {
    const [stored] = await cluster.apply(database(spec));
    return (stored as unknown as Database).spec;
  };

  it('get the newest version, and the defaults of the schema', async () => {
    assert.deepEqual(await apply({ engine: 'postgres' }), { engine: 'postgres', version: '18', gigabytes: 10 });
  });

  it('keep the version they were given', async () => {
    assert.equal((await apply({ engine: 'mysql', version: '8' })).version, '8');
  });

  it('grow, but do not shrink', async () => {
    await apply({ engine: 'postgres', gigabytes: 20 });
    assert.equal((await apply({ engine: 'postgres', gigabytes: 30 })).gigabytes, 30);
    await assert.rejects(
      apply({ engine: 'postgres', gigabytes: 5 }),
      (error) => error instanceof StatusError && /holds 30 GB and cannot shrink to 5/.test(error.message),
    );
    await cluster.waitFor('database/orders', '.spec.gigabytes=30');
  });

  it('are not changed while the webhook is out of order', async () => {
    await apply({ engine: 'postgres', gigabytes: 20 });
    away = true;
    await assert.rejects(apply({ engine: 'postgres', gigabytes: 30 }), /failed calling webhook "shrink.example.com"/);
    await cluster.waitFor('database/orders', '.spec.gigabytes=20');
  });

  it('must be of an engine that is known, before any webhook is asked', async () => {
    await assert.rejects(apply({ engine: 'oracle' }), /Unsupported value: "oracle"/);
  });
});
