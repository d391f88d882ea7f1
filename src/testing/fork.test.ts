/** A second cluster that starts with the state of the first. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMaps, Pods } from '../api/gen/resources.ts';
import type { Deployment } from '../api/gen/apps-v1.ts';
import { Cluster } from './index.ts';

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'sites.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'sites', kind: 'Site' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { host: { type: 'string' } } } },
          },
        },
      },
    ],
  },
};
const site = (name: string) => ({
  apiVersion: 'example.com/v1',
  kind: 'Site',
  metadata: { name },
  spec: { host: 'a' },
});
const WEB = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
};
const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const mapsOf = async (cluster: Cluster): Promise<(string | undefined)[]> => {
  const { items } = await cluster.client.resource(ConfigMaps).list({ namespace: 'default' });
  return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt');
};

/**
 * A changed object in a line, without values that differ between any two runs: generated names, times, uids, the order of
 * conditions.
 */
function outline(value: Uint8Array | undefined): string {
  if (value === undefined) return 'deleted';
  const { kind, metadata, involvedObject, reason, spec, status } = JSON.parse(
    Buffer.from(value).toString(),
  ) as Outlined;
  const name = (involvedObject ?? metadata).name?.replace(/(-[a-z0-9]{9,10})?-[a-z0-9]{5}$/, '-…');
  const conditions = status?.conditions?.map((condition) => `${condition.type}=${condition.status}`).sort();
  const parts = [kind, name, reason, spec?.replicas, status?.phase, status?.replicas, ...(conditions ?? [])];
  return parts.filter((part) => part !== undefined).join(' ');
}

interface Outlined {
  readonly kind: string;
  readonly metadata: { readonly name?: string };
  readonly involvedObject?: { readonly name?: string };
  readonly reason?: string;
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly phase?: string;
    readonly replicas?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

describe('a fork of a cluster', () => {
  it('makes the same changes as its origin', async () => {
    await using origin = await Cluster.start({ nodes: 2, seed: 5 });
    await origin.apply([DEFINITION, site('one'), WEB]);
    await origin.waitFor('deployment/web', 'Available');
    const changes = async (cluster: Cluster): Promise<string[]> => {
      await cluster.advance('10m');
      const { revision } = cluster.eventLog();
      await cluster.apply([{ ...WEB, spec: { ...WEB.spec, replicas: 4 } }, site('two'), map('new')]);
      await cluster.waitFor<Deployment>('deployment/web', ({ status }) => status?.availableReplicas === 4);
      await cluster.apply({ ...WEB, spec: { ...WEB.spec, replicas: 1 } });
      await cluster.advance('5m');
      const all = await cluster.eventLog().changesAfter(revision);
      // Heartbeats have random delays.
      return all
        .filter(({ key }) => !/^.registry.(leases|minions)./.test(key))
        .map(({ after }) => outline(after))
        .sort();
    };
    await using fork = await origin.fork();
    const ofFork = await changes(fork);
    assert.ok(ofFork.length > 40, `${ofFork.length} changes`);
    assert.deepEqual(ofFork, await changes(origin));
    // Neither has changed the data that the fork shares with its origin.
    await using again = await origin.fork();
    assert.equal((await again.client.resource(Pods).list({ namespace: 'default' })).items.length, 1);
  });

  it('has the objects, custom kinds, machines and time of its origin, and runs independently', async () => {
    await using origin = await Cluster.start({ nodes: 2 });
    origin.image('web:1', { start: '1s' });
    await origin.apply([DEFINITION, site('one'), WEB, map('shared')]);
    await origin.waitFor('deployment/web', 'Available');
    await origin.advance('1h');
    await using fork = await origin.fork();
    assert.equal(fork.nowMs, origin.nowMs);
    assert.deepEqual(fork.nodes.names(), origin.nodes.names());
    await fork.apply([site('two'), map('of-the-fork')]);
    await origin.apply(map('of-the-origin'));
    assert.deepEqual(await mapsOf(fork), ['of-the-fork', 'shared']);
    assert.deepEqual(await mapsOf(origin), ['of-the-origin', 'shared']);
    await fork.waitFor<Deployment>('deployment/web', ({ status }) => status?.availableReplicas === 2);
    const { items } = await fork.client.resource(Pods).list({ namespace: 'default' });
    assert.equal(items.length, 2);
    assert.ok(origin.nowMs < fork.nowMs);
    await assert.rejects(origin.waitFor('site/two', 'exists', { within: '1s' }));
  });

  it("has the origin's webhooks, and the origin does not have the fork's", async () => {
    await using origin = await Cluster.start({ nodes: 0 });
    const asked: string[] = [];
    const answer = (by: string) => (review: { readonly request: { readonly uid: string } }) => {
      asked.push(by);
      return {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: review.request.uid, allowed: true },
      };
    };
    const url = origin.webhook('/check', answer('origin'));
    await origin.apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'check' },
      webhooks: [
        {
          name: 'check.example.com',
          clientConfig: { url },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    await using fork = await origin.fork();
    await fork.apply(map('first'));
    fork.webhook('/check', answer('fork'));
    await fork.apply(map('second'));
    await origin.apply(map('third'));
    assert.deepEqual(asked, ['origin', 'fork', 'origin']);
  });

  it('can be forked and stopped like any cluster', async () => {
    await using origin = await Cluster.start({ nodes: 0 });
    const first = await origin.fork();
    const second = await first.fork();
    await first.stop();
    await second.apply(map('alive'));
    assert.deepEqual(await mapsOf(second), ['alive']);
    await second.stop();
    await assert.rejects(second.apply(map('late')), /stopped/);
    await origin.apply(map('alive-too'));
  });

  it('with the same seed runs the same way', async () => {
    const run = async (): Promise<string> => {
      await using origin = await Cluster.start({ nodes: 1, seed: 3 });
      await origin.apply(WEB);
      await origin.waitFor('deployment/web', 'Available');
      await using fork = await origin.fork();
      await fork.advance('5m');
      return fork.eventLog().hash;
    };
    assert.equal(await run(), await run());
  });
});
