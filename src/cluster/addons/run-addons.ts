/**
 * Runs the addons of a server: one pass at the start, one after each change of the folder, one a minute for changes
 * that watches miss, and retries with back-off after a failure.
 */
import type { Principal } from '../../api/transport.ts';
import { onAbort } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { AddonController } from './addon-controller.ts';
import { watchFolders } from './folder-watch.ts';

interface Deps {
  readonly platform: Platform;
  readonly controlPlane: Pick<ControlPlane, 'clientFor'>;
}

/** A user who may write into the data directory is the cluster's administrator. */
const ADMINISTRATOR: Principal = { name: 'keelson:addons', groups: ['system:masters', 'system:authenticated'] };
/** Waits until files are completely written. */
const STILL_MS = 300;
/** Watches miss changes below links, on NFS, and in replaced folders. */
const PERIOD_MS = 60_000;

/** Runs until the signal aborts. `server`: the owner of the files, when several servers share a store. */
export async function runAddons(
  { platform, controlPlane }: Deps,
  config: { readonly folder: string; readonly server: string },
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = platform;
  const client = controlPlane.clientFor(ADMINISTRATOR, 'addons');
  const events = createEventBroadcaster({ client, clock, random: platform.random, log });
  events.start(signal);
  const deps = { platform, client, recorder: events.recorderFor('addons') };
  const backOff = createBackoff({ initialMs: 1_000, maxMs: PERIOD_MS });
  const folder = watchFolders(platform, signal);
  let controller: AddonController | undefined;
  while (!signal.aborted) {
    let done = false;
    const changed = folder.changed();
    try {
      const { addonFiles } = await import('./addon-files.ts');
      await folder.follow((await addonFiles(platform.files, config.folder)).folders);
      controller ??= new (await import('./addon-controller.ts')).AddonController(deps, config);
      done = await controller.sync(signal);
    } catch (error) {
      if (!signal.aborted) log.warn('The files of manifests cannot be applied', { reason: errorMessage(error) });
    }
    if (done) backOff.reset();
    const waiting = new AbortController();
    const stop = onAbort(signal, () => waiting.abort());
    await Promise.race([
      changed.then(() => sleepUnlessAborted(clock, STILL_MS, waiting.signal)),
      sleepUnlessAborted(clock, done ? PERIOD_MS : backOff.nextMs(), waiting.signal),
    ]);
    stop();
    waiting.abort();
  }
}
