import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMaps, Pods, Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import type { Secret } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createLegacyTokenCleaner } from './legacy-token-cleaner.ts';
import { createTokensController } from './tokens-controller.ts';
import { startHarness } from '../controllers-fixture.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

const DAY_MS = 86_400_000;
/** Where virtual clocks begin. */
const NOW_MS = new VirtualClock().nowMs();
const start = (automaticTokenSecrets = false): Promise<ServerHarness> =>
  startServerHarness([createTokensController, createLegacyTokenCleaner], {
    rootCaPem: 'the CA',
    automaticTokenSecrets,
    signServiceAccountToken: (account, secret) =>
      Promise.resolve(`token of ${account.metadata.uid} in ${secret.metadata.name}`),
  });
const tokenSecret = (account: string, metadata: object = {}): object => ({
  metadata: { name: 't', annotations: { 'kubernetes.io/service-account.name': account }, ...metadata },
  type: 'kubernetes.io/service-account-token',
});
const text = (encoded: string | undefined): string => Buffer.from(encoded ?? '', 'base64').toString('utf8');

describe('token secrets', () => {
  it('are filled, healed, and go with their account', async () => {
    const h = await start();
    const account = await h.create(ServiceAccounts, { metadata: { name: 'a' } });
    await h.create(Secrets, tokenSecret('a'));
    await h.clock.advance(1000);
    const { data = {}, metadata } = await h.get(Secrets, 'default/t');
    assert.equal(text(data['token']), `token of ${account.metadata.uid} in t`);
    assert.equal(text(data['ca.crt']), 'the CA');
    assert.equal(text(data['namespace']), 'default');
    assert.equal(metadata.annotations?.['kubernetes.io/service-account.uid'], account.metadata.uid);
    await h.update(Secrets, 'default/t', (draft) => void delete draft.data!['token']);
    await h.clock.advance(1000);
    assert.notEqual((await h.get(Secrets, 'default/t')).data?.['token'], undefined);
    const writes = h.writes();
    await h.clock.advance(10_000);
    assert.equal(h.writes(), writes, 'comes to rest');
    await h.remove(ServiceAccounts, 'default/a');
    await h.clock.advance(1000);
    assert.equal((await h.list(Secrets)).length, 0);
    await h.stop();
  });

  it('of no account, or of an earlier one of that name, are removed; others are left alone', async () => {
    const h = await start();
    await h.create(ServiceAccounts, { metadata: { name: 'a' } });
    await h.create(Secrets, tokenSecret('nobody', { name: 'stray' }));
    const annotations = { 'kubernetes.io/service-account.name': 'a', 'kubernetes.io/service-account.uid': 'old' };
    await h.create(Secrets, tokenSecret('a', { name: 'old', annotations }));
    await h.create(Secrets, { metadata: { name: 'other' }, stringData: { token: 'x' } });
    await h.clock.advance(1000);
    assert.deepEqual(
      (await h.list(Secrets)).map((secret) => secret.metadata.name),
      ['other'],
    );
    await h.stop();
  });

  it('leave no reference behind', async () => {
    const h = await start();
    await h.create(ServiceAccounts, { metadata: { name: 'a' }, secrets: [{ name: 't' }, { name: 'kept' }] });
    await h.create(Secrets, tokenSecret('a'));
    await h.clock.advance(1000);
    await h.remove(Secrets, 'default/t');
    await h.clock.advance(1000);
    assert.deepEqual((await h.get(ServiceAccounts, 'default/a')).secrets, [{ name: 'kept' }]);
    await h.stop();
  });

  it('are created once for every account where the legacy behaviour is enabled', async () => {
    const h = await start(true);
    await h.clock.advance(1000);
    const [reference] = (await h.get(ServiceAccounts, 'default/default')).secrets ?? [];
    assert.match(reference?.name ?? '', /^default-token-\w{5}$/);
    assert.notEqual((await h.get(Secrets, `default/${reference?.name}`)).data?.['token'], undefined);
    await h.clock.advance(10_000);
    assert.equal((await h.list(Secrets)).length, 1);
    await h.remove(Secrets, `default/${reference?.name}`);
    await h.clock.advance(10_000);
    const anew = (await h.get(ServiceAccounts, 'default/default')).secrets?.map(({ name }) => name);
    assert.deepEqual(
      (await h.list(Secrets)).map(({ metadata }) => metadata.name),
      anew,
      'a lost one is made anew, and referred to',
    );
    assert.notEqual(anew?.[0], reference?.name);
    await h.stop();
  });
});

describe('unused automatic tokens', () => {
  const tracking = (daysAgo: number) => ({
    metadata: { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' },
    data: { since: formatTime(NOW_MS - daysAgo * DAY_MS).slice(0, 10) },
  });

  for (const [what, since] of [
    ['before uses have been noted for a year', 365],
    ['where nobody notes them', undefined],
  ] as const)
    it(`stay ${what}`, async () => {
      const h = startHarness([createLegacyTokenCleaner], {
        before(api) {
          if (since !== undefined) api.seed(ConfigMaps, tracking(since));
          const metadata = { namespace: 'default', name: 'a' };
          api.seed(ServiceAccounts, { metadata, secrets: [{ name: 'a' }] });
          api.seed(Secrets, {
            metadata: {
              ...metadata,
              annotations: { 'kubernetes.io/service-account.name': 'a' },
              creationTimestamp: formatTime(NOW_MS - 1000 * DAY_MS),
            },
            type: 'kubernetes.io/service-account-token',
          });
        },
      });
      await h.clock.advance(1000);
      assert.equal(h.api.objects(Secrets)[0]?.metadata.labels, undefined);
      await h.clock.advance(2 * DAY_MS);
      const labels = Object.keys(h.api.objects(Secrets)[0]?.metadata.labels ?? {});
      assert.deepEqual(labels, since === undefined ? [] : ['kubernetes.io/legacy-token-invalid-since']);
      await h.stop();
    });

  it('are marked after a year and deleted after another; those in use and those made by hand stay', async () => {
    const day = (daysAgo: number): string => formatTime(NOW_MS - daysAgo * DAY_MS).slice(0, 10);
    const secret = (name: string, labels: Record<string, string>): Secret => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        namespace: 'default',
        name,
        labels,
        annotations: { 'kubernetes.io/service-account.name': 'a' },
        creationTimestamp: formatTime(NOW_MS - 1000 * DAY_MS),
      },
      type: 'kubernetes.io/service-account-token',
    });
    const used = 'kubernetes.io/legacy-token-last-used';
    const invalid = 'kubernetes.io/legacy-token-invalid-since';
    const listed = [
      secret('never-used', {}),
      secret('long-unused', { [used]: day(366) }),
      secret('used', { [used]: day(364) }),
      secret('marked', { [invalid]: day(364) }),
      secret('over', { [invalid]: day(366) }),
      secret('mounted', {}),
    ];
    const h = startHarness([createLegacyTokenCleaner], {
      before(api) {
        api.seed(ServiceAccounts, {
          metadata: { namespace: 'default', name: 'a' },
          secrets: listed.map(({ metadata }) => ({ name: metadata.name ?? '' })),
        });
        api.seed(ConfigMaps, tracking(1000));
        for (const each of [...listed, secret('manual', {})]) api.seed(Secrets, each);
        api.seed(Pods, {
          metadata: { namespace: 'default', name: 'p' },
          spec: { containers: [], volumes: [{ name: 'v', secret: { secretName: 'mounted' } }] },
        });
      },
    });
    await h.clock.advance(1000);
    const left = h.api.objects(Secrets).map(({ metadata }) => [metadata.name, metadata.labels?.[invalid]]);
    assert.deepEqual(Object.fromEntries(left), {
      'never-used': day(0),
      'long-unused': day(0),
      used: undefined,
      marked: day(364),
      mounted: undefined,
      manual: undefined,
    });
    await h.stop();
  });
});
