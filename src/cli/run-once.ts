/** What commands share that do one piece of work and end. */
import type { Platform } from '../platform/platform.ts';
import type { NodePlatformOptions } from '../platform/node/node-platform.ts';
import { UserError } from './usage-error.ts';

/** Does the work; a `PreflightError` is one line for the user. */
export async function inUsersWords<T>(work: () => Promise<T>): Promise<T> {
  const { PreflightError } = await import('../cluster/preflight-error.ts');
  try {
    return await work();
  } catch (error) {
    throw error instanceof PreflightError ? new UserError(error.message) : error;
  }
}

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
