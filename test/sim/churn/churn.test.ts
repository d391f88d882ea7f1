/** Definitions, namespaces and workloads are created and deleted: some time later nothing in memory contains their names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CustomResourceDefinitions, Namespaces } from '../../../src/api/gen/resources.ts';
import { Cluster } from '../../../src/testing/cluster.ts';
import { CHURNED, churnedName, churnedObjects, GLOBAL_RESOURCES } from './churned-fixture.ts';
import { waysToTexts } from './heap-owners-fixture.ts';

const ROUNDS = 4;

/** Caches with a fixed number of entries, which keep deleted objects until as many others have been added. */
const BOUNDED = {
  'Lru.#entries': 'so many, the least used leaves',
  'Lru.#newest': 'one',
  'EventRing.#events': 'changes for watches that come back',
  'StepRecords.#records': 'steps of the last pods’ starts',
  'StepRecords.#uids': 'the same',
  'RefusedRequests.#requests': 'the last 1,024',
  'RefusedRequests.#byUser': 'the same',
  'closure.decisions': 'the last 256 of the scheduler',
  'closure.lastPod': 'one of each scheduler',
  'closure.getters': 'workers that wait: what each had last',
  'Channel.#receivers': 'the same',
  'ObjectSink.#wake': 'what each watch sent last',
  'closure.recent': 'the last documents of discovery, of all servers in the process',
  'closure.knownByClient': 'what each client found served last',
  'TextInterner.#recent': 'the last 1,000 of the simulated machines',
  'TextInterner.#earlier': 'the same',
  'closure.recentPaths': 'the last 4,096 of the simulated machines',
  'closure.lines': 'the last 10,000 of the simulation’s log',
  'MemoryLogger.entries': 'the same',
  'closure.last': 'the last reading of a node’s statistics, and of the metrics API',
  'closure.verdictsByLack': '1,000 of NodeResourcesFit',
  'ListShape.items': 'shapes of the last 32 objects of each kind',
  'LoopWatchdog.#slow': 'the last slow requests',
  'closure.resources': 'counts of the test library by resource',
} as const;

async function round(cluster: Cluster, number: number): Promise<void> {
  const name = churnedName(number);
  const user = cluster.clientFor({ name, groups: ['system:authenticated'] });
  await cluster.apply(churnedObjects(number));
  await cluster.advance('1m');
  await user.raw({ method: 'GET', path: `/apis/${name}.example/v1/namespaces/${name}/things/${name}` });
  for (const path of ['/openapi/v2', '/openapi/v3', `/openapi/v3/apis/${name}.example/v1`, '/apis', '/metrics'])
    await cluster.client.raw({ method: 'GET', path });
  await cluster.client.resource(CustomResourceDefinitions).delete({ name: `things.${name}.example` });
  for (const path of GLOBAL_RESOURCES) await cluster.client.raw({ method: 'DELETE', path: path.replace('NAME', name) });
  await cluster.client.resource(Namespaces).delete({ name });
  await cluster.advance('3m');
}

/** V8 itself keeps names of fields for later objects. */
const isOfV8 = (way: string): boolean => way === '*';

async function found(leftOut: readonly string[]): Promise<string[]> {
  const ways = await waysToTexts(CHURNED, new Set(leftOut));
  return [...ways].filter(([way]) => !isOfV8(way)).map(([way, { count, text }]) => `${count} by ${way}: ${text}`);
}

test('only bounded caches contain names of deleted objects', async () => {
  const images = [{ name: 'churned:1' }, { name: 'ends:1', exits: { code: 0, after: '1s' } }];
  await using cluster = await Cluster.start({ nodes: 2, images });
  for (let number = 0; number < ROUNDS; number++) await round(cluster, number);
  assert.deepEqual(
    (await cluster.client.resource(Namespaces).list()).items.filter(({ metadata }) => CHURNED.test(metadata.name)),
    [],
  );
  await cluster.advance('3h');
  // Gauges of what is gone are removed when metrics are read.
  await cluster.client.raw({ method: 'GET', path: '/metrics' });
  assert.deepEqual(await found(Object.keys(BOUNDED)), []);
  // The search works: it finds existing names.
  assert.notDeepEqual(await found([]), []);
});
