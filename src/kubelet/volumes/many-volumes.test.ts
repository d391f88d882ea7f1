/** Pods of thousands of volumes and containers: the loop yields, and look-ups need no scan of lists. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../api/gen/core-v1.ts';
import { generateContainerStatuses } from '../status/container-statuses.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { PodVolumes } from './pod-volumes.ts';
import { podWith } from './volume-fixture.ts';
import { waitForPodVolumes } from './wait-for-volumes.ts';

const COUNT = 10_000;
const many = <T>(make: (index: number) => T): T[] => Array.from({ length: COUNT }, (_, at) => make(at));

test('thousands of volumes are set up with turns for others between, and waited for without looking at all of them', async () => {
  const { log } = createSimPlatform();
  const clock = new VirtualClock();
  let inTurn = 0;
  let most = 0;
  const yieldTurn = clock.yield.bind(clock);
  clock.yield = () => {
    inTurn = 0;
    return yieldTurn();
  };
  const setUp = async (): Promise<never> => {
    most = Math.max(most, ++inTurn);
    return { hostPath: '/v', readOnly: false, selinuxRelabel: false, live: false } as never;
  };
  const pod = podWith(many((at) => ({ name: `v${at}`, emptyDir: {} })));
  const volumes = new PodVolumes({ clock, log, setUp, failed: (_pod, error) => assert.fail(error as Error) }, pod);
  assert.equal(volumes.settled, false);
  await clock.drive(waitForPodVolumes(clock, volumes, new AbortController().signal));
  assert.ok(volumes.settled);
  assert.equal(volumes.mounted().size, COUNT);
  assert.equal(volumes.mounted(), volumes.mounted());
  assert.ok(most <= 100, `${most} volumes in one turn`);
});

test('statuses of thousands of containers', () => {
  const containers = many((at): Container => ({ name: `c${at}`, image: 'i' }));
  const previous = containers.map(({ name }) => ({ name, image: 'i', imageID: '', ready: true, restartCount: 3 }));
  const statuses = generateContainerStatuses({
    pod: { metadata: { name: 'p' }, spec: { containers } },
    runtimeStatus: { uid: 'u', name: 'p', namespace: 'n', ips: [], sandboxes: [], containers: [] } as never,
    previous: previous.toReversed(),
    containers,
    kind: 'container',
    runtimeName: 'containerd',
    startReason: () => undefined,
  });
  assert.ok(statuses.every(({ restartCount }) => restartCount === 3));
});
