/** Templates of a megabyte in dozens of old ReplicaSets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { compareTemplates, equalIgnoringHash, HASH_LABEL, splitSets } from './replica-sets.ts';

const template = (last: string, labels: Record<string, string> = {}): PodTemplateSpec => ({
  metadata: { labels: { app: 'a', ...labels }, annotations: { a: 'b' } },
  spec: {
    containers: [
      {
        name: 'c',
        env: Array.from({ length: 3000 }, (_, at) => ({ name: `E${at}`, value: at === 2999 ? last : 'v' })),
      },
    ],
  },
});

/** Counts how often lists of containers are read. */
function counted(own: PodTemplateSpec, count: { reads: number }): PodTemplateSpec {
  const { containers } = own.spec!;
  const spec = Object.defineProperty({ ...own.spec! }, 'containers', {
    enumerable: true,
    get: () => (count.reads++, containers),
  });
  return { ...own, spec };
}

test('large templates are compared in turns, and once', async () => {
  const count = { reads: 0 };
  const set = (at: number): Stored<ReplicaSet> =>
    ({
      metadata: { name: `r${at}`, creationTimestamp: `2026-01-01T00:00:${at}Z` },
      spec: { template: counted(template(`x${at}`, { [HASH_LABEL]: `${at}` }), count) },
    }) as Stored<ReplicaSet>;
  const sets = Array.from({ length: 40 }, (_, at) => set(10 + at));
  const deployment = { metadata: { name: 'd' }, spec: { template: template('x49') } } as Deployment;
  let pauses = 0;
  await compareTemplates(deployment, sets, async () => void pauses++);
  assert.equal(pauses, 40);
  count.reads = 0;
  for (let at = 0; at < 5; at++) assert.equal(splitSets(deployment, sets).newSet?.metadata.name, 'r49');
  assert.ok(count.reads <= 10, `${count.reads} templates compared again`);
});

test('small templates, or a single set, take no turn', async () => {
  const small: PodTemplateSpec = { spec: { containers: [{ name: 'c' }] } };
  const pause = (): never => assert.fail('paused');
  const deployment = { spec: { template: small } } as Deployment;
  await compareTemplates(deployment, [{ spec: { template: small } }, { spec: { template: small } }] as never, pause);
  await compareTemplates({ spec: { template: template('x') } } as Deployment, [{}] as never, pause);
});

test('templates are equal apart from the hash', () => {
  const equal: [PodTemplateSpec | undefined, PodTemplateSpec | undefined, boolean][] = [
    [template('x'), template('x', { [HASH_LABEL]: '1' }), true],
    [template('x', { [HASH_LABEL]: '2' }), template('x', { [HASH_LABEL]: '1' }), true],
    [template('x', { b: '' }), template('x'), false],
    [template('x'), template('x', { b: '' }), false],
    [template('x'), template('y'), false],
    [{ metadata: { labels: {} } }, undefined, true],
    [{ metadata: { annotations: { a: 'b' } } }, {}, false],
  ];
  for (const [a, b, is] of equal) for (const _ of [1, 2]) assert.equal(equalIgnoringHash(a, b), is);
});
