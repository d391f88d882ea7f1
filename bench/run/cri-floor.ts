// The floor: the same pods by raw CRI calls on the same containerd, with 8 calls in flight, while Keelson is stopped.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { createCriClient, type CriClient } from '../../src/cri/cri-client.ts';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { DEMO_IMAGE_NAME } from '../../tools/demo-image.ts';
import type { PodTimes } from './pods.ts';
import { inParallel, median } from './wait.ts';

/** Where the floor is measured. */
export interface FloorPlace {
  readonly containerdSocket: string;
  readonly dataDir: string;
  /** The parent cgroup of the sandboxes. */
  readonly cgroupParent: string;
}

/** The time of one pod (the median of `rounds`) and of each number of pods at once. */
export async function criFloor(
  place: FloorPlace,
  { rounds, counts }: { rounds: number; counts: readonly number[] },
): Promise<{ one: PodTimes; many: readonly PodTimes[] }> {
  const cri = createCriClient({ clock: createNodeClock() }, { endpoint: place.containerdSocket });
  const alive = setInterval(() => undefined, 1000); // the clock's timers keep no process alive
  try {
    await cri.runtime.version({});
    const samples: PodTimes[] = [];
    for (let round = 0; round < rounds; round++)
      samples.push(await podsByCri(cri, place, { count: 1, prefix: `floor-${round}` }));
    const one = { ready: median(samples.map(({ ready }) => ready)), gone: median(samples.map(({ gone }) => gone)) };
    const many: PodTimes[] = [];
    for (const count of counts) many.push(await podsByCri(cri, place, { count, prefix: `floor-of-${count}` }));
    return { one, many };
  } finally {
    clearInterval(alive);
  }
}

async function podsByCri(
  { runtime }: CriClient,
  place: FloorPlace,
  { count, prefix }: { count: number; prefix: string },
): Promise<PodTimes> {
  const sandboxes: string[] = [];
  const containers: string[] = [];
  const ready = await inParallel({ count, width: 8 }, async (index) => {
    const uid = `${prefix}-${index}`;
    const logDirectory = join(place.dataDir, 'logs', 'floor', uid);
    mkdirSync(logDirectory, { recursive: true });
    const sandboxConfig = {
      metadata: { name: uid, uid, namespace: 'floor', attempt: 0 },
      hostname: uid,
      logDirectory,
      linux: { cgroupParent: place.cgroupParent },
    };
    const { podSandboxId } = await runtime.runPodSandbox({ config: sandboxConfig });
    sandboxes[index] = podSandboxId;
    const config = {
      metadata: { name: 'c', attempt: 0 },
      image: { image: DEMO_IMAGE_NAME },
      logPath: 'c.log',
      linux: {},
    };
    const { containerId } = await runtime.createContainer({ podSandboxId, config, sandboxConfig });
    containers[index] = containerId;
    await runtime.startContainer({ containerId });
  });
  const gone = await inParallel({ count, width: 8 }, async (index) => {
    const [containerId = '', podSandboxId = ''] = [containers[index], sandboxes[index]];
    await runtime.stopContainer({ containerId, timeoutSeconds: 1 });
    await runtime.removeContainer({ containerId });
    await runtime.stopPodSandbox({ podSandboxId });
    await runtime.removePodSandbox({ podSandboxId });
  });
  return { ready, gone };
}
