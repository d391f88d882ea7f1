/** The configuration that containers are created with, for tests of its parts. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ContainerConfig } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import { image } from '../../cri/sim/sim-image.ts';
import { createRuntimeFixture, podOf, type FixtureWorld } from './runtime-fixture.ts';

export const base: Container = { name: 'main', image: 'app:1' };

/** The configuration a container of this pod is created with. */
export async function configOf(of: {
  container?: Partial<Container>;
  spec?: Partial<NonNullable<Pod['spec']>>;
  prepare?: (world: FixtureWorld) => void;
  uid?: number;
  username?: string;
}): Promise<Init<ContainerConfig>> {
  const fixture = createRuntimeFixture({
    images: [
      image('app:1', {
        ...(of.uid === undefined ? {} : { uid: of.uid }),
        ...(of.username === undefined ? {} : { username: of.username }),
      }),
    ],
  });
  of.prepare?.(fixture.world);
  const result = await fixture.sync(
    podOf(
      { containers: [{ ...base, ...of.container }], ...of.spec },
      { labels: { app: 'x' }, annotations: { note: 'y' } },
    ),
  );
  if (result.error !== undefined) throw new Error(result.steps.at(-1)!.message);
  return [...fixture.cri.containers.values()][0]!.init.config;
}
