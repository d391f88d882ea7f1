/** Clusters that start and end with a test or a file, by the hooks of any runner. */
import { Cluster } from '../cluster.ts';
import type { ClusterOptions } from '../cluster-options.ts';

type Hook = (work: () => Promise<void>) => unknown;

/** The runner's `{ beforeEach, afterEach }`. */
export interface TestHooks {
  readonly beforeEach: Hook;
  readonly afterEach: Hook;
}

/** The runner's `{ beforeAll, afterAll }`. */
export interface FileHooks {
  readonly beforeAll: Hook;
  readonly afterAll: Hook;
}

/** A new cluster for each test. The returned function returns the current test's. */
export function clusterPerTest({ beforeEach, afterEach }: TestHooks, options: ClusterOptions = {}): () => Cluster {
  return clusterBetween(beforeEach, afterEach, options);
}

/** One cluster for all tests of a file. */
export function clusterPerFile({ beforeAll, afterAll }: FileHooks, options: ClusterOptions = {}): () => Cluster {
  return clusterBetween(beforeAll, afterAll, options);
}

function clusterBetween(before: Hook, after: Hook, options: ClusterOptions): () => Cluster {
  let running: Cluster | undefined;
  before(async () => {
    running = await Cluster.start(options);
  });
  after(async () => {
    const ending = running;
    running = undefined;
    await ending?.stop();
  });
  return () => {
    if (running === undefined) throw new Error('no cluster runs: ask for it inside a test');
    return running;
  };
}
