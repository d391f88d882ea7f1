/** The common part of commands that do one piece of work and end. */
import type { Platform } from '../platform/platform.ts';
import type { NodePlatformOptions } from '../platform/node/node-platform.ts';

/** Does the work on a platform that is closed afterwards. Default: no programs are started, errors alone are logged. */
export async function withPlatform<T>(
  work: (platform: Platform) => Promise<T>,
  options: NodePlatformOptions = { startSpawner: false, log: { level: 'error' } },
): Promise<T> {
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform(options);
  try {
    return await work(platform);
  } finally {
    platform.close();
  }
}
