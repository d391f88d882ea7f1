/** A control plane in virtual time without controllers and scheduler, for tests that start their own. */
import type { TestContext } from 'node:test';
import { ServiceAccounts } from '../api/gen/resources.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import { createVirtualPace } from './pace.ts';
import { createTestNet } from './real-net.ts';
import { SimWorld } from './sim-world.ts';

/** Parts that run beside the world and are stopped before it. */
interface Running {
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
}

/** Starts a world with the default account of the default namespace. The world and the parts in `running` stop with the test. */
export async function startBareWorld(t: TestContext, running: readonly Running[]) {
  const clock = new VirtualClock();
  const pace = createVirtualPace(clock);
  const platform = createSimPlatform({ clock, seed: '1', addresses: ['10.64.0.1'], host: { hostname: 'cp' } });
  const world = new SimWorld({
    platform,
    store: createMemoryStore({ clock }),
    seed: '1',
    repeatable: true,
    controllers: [],
    scheduler: false,
    images: () => [],
    realNet: createTestNet(platform.clock),
    unknownImages: 'run',
    cloud: false,
    runtimeConfig: '',
    keepLines: false,
    onServerStart: () => undefined,
  });
  await pace.drive(world.startServer());
  const { admin } = world.controlPlane;
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } };
  await pace.drive(admin.resource(ServiceAccounts).create(account));
  t.after(async () => {
    for (const { stop } of running) stop.abort(new Error('over'));
    await pace.drive(Promise.allSettled(running.map(({ ended }) => ended)));
    await pace.drive(world.stop());
  });
  return { clock, pace, platform, world, admin };
}
