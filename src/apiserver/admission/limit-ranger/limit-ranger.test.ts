/** Any number of limit ranges, each of thousands of names, beside pods of thousands of containers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LimitRange, LimitRangeItem, Pod } from '../../../api/gen/core-v1.ts';
import { Pods } from '../../../api/gen/resources.ts';
import type { StatusError } from '../../../api/status-error.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import { admissionAttributesOf } from '../admission-fixture.ts';
import { createLimitRanger } from './limit-ranger.ts';

const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const names = (count: number): Record<string, string> =>
  Object.fromEntries(many(count, (at) => [`example.com/r${at}`, '1']));
const pod = (containers: number, requests: Record<string, string> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n' },
  spec: { containers: many(containers, (at) => ({ name: `c${at}`, image: 'i', resources: { requests } })) },
});

/** Admits the pod; gives the number of pauses between steps. */
async function admitted(object: Pod, limits: readonly LimitRangeItem[]): Promise<number> {
  const ranges = limits.map((item): LimitRange => ({ metadata: { name: 'l' }, spec: { limits: [item] } }));
  const plugin = createLimitRanger(() => ({ list: () => ranges }) as unknown as ObjectStore);
  const made = admissionAttributesOf(Pods, { object });
  let pauses = 0;
  const nextStep = async (): Promise<void> => void pauses++;
  const attributes = { ...made, context: { ...made.context, nextStep } };
  await plugin.mutate?.(attributes);
  await plugin.validate?.(attributes);
  return pauses;
}

test('defaults that make a pod larger than an object may be are refused before they are set', async () => {
  const object = pod(4000);
  await assert.rejects(admitted(object, [{ type: 'Container', default: names(7000) }]), { code: 413 });
  const set = object.spec?.containers.filter(({ resources }) => resources?.limits !== undefined).length;
  assert.equal(set, 14);
});

test('many ranges are compared with many containers in steps, and totals are computed once', async () => {
  const items = many(300, (at): LimitRangeItem => ({ type: at % 2 === 0 ? 'Pod' : 'Container', min: { cpu: '1m' } }));
  const object = pod(2000, { cpu: '1' });
  let reads = 0;
  const counted = object.spec!.containers.map((container) =>
    Object.defineProperty({ ...container }, 'resources', {
      enumerable: true,
      get: () => (reads++, container.resources),
    }),
  );
  const pauses = await admitted({ ...object, spec: { containers: counted } }, items);
  assert.ok(pauses > 200, `${pauses} pauses`);
  assert.ok(reads < 10 * 2000, `${reads} containers read`);
});

test('a refusal has a thousand problems at most', async () => {
  const refused = await admitted(pod(4000), [{ type: 'Container', min: names(7000) }]).then(
    () => assert.fail('admitted'),
    (error: unknown) => error as StatusError,
  );
  assert.equal(refused.message.split('No request is specified').length, 1001);
});
