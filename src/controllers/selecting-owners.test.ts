/** Selectors of thousands of requirements and objects that meet all of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, Service } from '../api/gen/core-v1.ts';
import { Services } from '../api/gen/resources.ts';
import { compileLabelMap } from '../api/label-selector.ts';
import type { Stored } from '../api/object.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createManualInformer } from './manual-informer-fixture.ts';
import { selectedOf, SelectingOwners } from './selecting-owners.ts';

const WIDE = 5000;
const labelsOf = (count: number, value = 'x'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, value]));
const pod = (labels: Record<string, string>, name = 'p'): Stored<Pod> =>
  ({ metadata: { name, namespace: 'n', uid: name, resourceVersion: '1', labels } }) as Stored<Pod>;

/** Services with these selectors; each pause waits until the test continues. */
function selecting(selectors: readonly Record<string, string>[]) {
  const services = createManualInformer(Services);
  for (const [at, selector] of selectors.entries())
    services.put({ metadata: { name: `s${at}`, namespace: 'n' }, spec: { selector } } as Stored<Service>);
  const paused: (() => void)[] = [];
  const found: string[] = [];
  const owners = new SelectingOwners<Service, Pod>({
    platform: {
      clock: { yield: () => new Promise<void>((resolve) => paused.push(resolve)) } as never,
      log: createMemoryLog(),
    },
    owners: services.informer,
    selectorOf: ({ spec }) => compileLabelMap(spec?.selector),
    found: (key, { metadata }) => found.push(`${key} ${metadata.labels?.['own'] ?? metadata.name}`),
  });
  const goOn = async (): Promise<void> => {
    for (let resume = paused.shift(); resume !== undefined; resume = paused.shift()) {
      resume();
      for (let at = 0; at < 10; at++) await Promise.resolve();
    }
  };
  return { owners, found, paused, goOn };
}

test('owners of a usual size are found at once', () => {
  const { owners, found, paused } = selecting([{ app: 'a' }, { app: 'b' }, { app: 'a', more: 'x' }]);
  owners.find(pod({ app: 'a' }));
  assert.deepEqual([found, paused.length], [['n/s0 p'], 0]);
});

test('many wide selectors are compared in turns', async () => {
  const { owners, found, paused, goOn } = selecting(Array.from({ length: 40 }, () => labelsOf(WIDE)));
  owners.find(pod(labelsOf(WIDE)));
  assert.ok(found.length < 10, `${found.length} compared in the first turn`);
  assert.equal(paused.length, 1);
  await goOn();
  assert.equal(found.length, 40);
});

test('of an object that changes meanwhile the first and the newest state are compared', async () => {
  const { owners, found, goOn } = selecting([
    ...Array.from({ length: 10 }, () => labelsOf(WIDE)),
    { own: '1' },
    { own: '9' },
  ]);
  owners.find(pod(labelsOf(WIDE), 'first'));
  for (let at = 1; at <= 9; at++) owners.find(pod({ own: `${at}` }));
  await goOn();
  assert.deepEqual(found.slice(-2), ['n/s10 1', 'n/s11 9']);
  assert.equal(found.length, 12);
});

test('many objects with many labels are compared with one selector in turns', async () => {
  let pauses = 0;
  const pods = Array.from({ length: 100 }, (_, at) => pod({ ...labelsOf(1000), at: `${at % 2}` }, `p${at}`));
  const selector = compileLabelMap({ ...labelsOf(1000), at: '1' });
  assert.equal((await selectedOf(pods, selector, async () => void pauses++)).length, 50);
  assert.equal(pauses, 5);
});
