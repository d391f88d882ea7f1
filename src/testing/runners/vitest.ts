/** `keelson/testing/vitest`: matchers, a fixture, and clusters that start and end with a test or a file. */
import { Cluster } from '../cluster.ts';
import type { ClusterOptions } from '../cluster-options.ts';

export { eventStory } from './event-story.ts';
export { clusterPerFile, clusterPerTest, type FileHooks, type TestHooks } from './hooks.ts';
export { matchers, type ClusterMatchers, type ExpectedEvent } from './matchers.ts';

/** The form of a fixture in vitest. */
export interface ClusterFixture {
  readonly cluster: [
    (context: object, use: (cluster: Cluster) => Promise<void>) => Promise<void>,
    { readonly scope: 'test' | 'file' },
  ];
}

/** For `test.extend`: tests that name `cluster` get a new one or, with the scope `file`, one for the whole file. */
export function clusterFixture(options: ClusterOptions = {}, scope: 'test' | 'file' = 'test'): ClusterFixture {
  // vitest parses the parameters of the function, which require this form.
  // eslint-disable-next-line no-empty-pattern
  const start = async ({}: object, use: (cluster: Cluster) => Promise<void>): Promise<void> => {
    const cluster = await Cluster.start(options);
    try {
      await use(cluster);
    } finally {
      await cluster.stop();
    }
  };
  return { cluster: [start, { scope }] };
}
