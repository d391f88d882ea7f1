/**
 * Runs the addons of a server: one pass at the start, one after each change of the folder, and again, later and later, while
 * something fails. The controller is loaded when there is something for it.
 */
import type { Principal } from '../../api/transport.ts';
import { onAbort } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { FileWatch } from '../../platform/files.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';

interface Deps {
  readonly platform: Platform;
  readonly controlPlane: Pick<ControlPlane, 'clientFor'>;
}

/** Whoever may write into the data directory is the cluster's administrator. */
const ADMINISTRATOR: Principal = { name: 'keelson:addons', groups: ['system:masters', 'system:authenticated'] };
/** Files that are being written come to rest. */
const STILL_MS = 300;

/** Runs until the signal aborts. `server`: whose files they are, of several servers. */
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
  const backOff = createBackoff({ initialMs: 1_000, maxMs: 60_000 });
  const folder = watchFolders(platform, signal);
  while (!signal.aborted) {
    let done = false;
    const changed = folder.changed();
    try {
      const { addonFiles } = await import('./addon-files.ts');
      folder.follow((await addonFiles(platform.files, config.folder)).folders);
      const { syncAddons } = await import('./addon-controller.ts');
      done = await syncAddons(deps, config, signal);
    } catch (error) {
      if (!signal.aborted) log.warn('The files of manifests cannot be applied', { reason: errorMessage(error) });
    }
    if (done) backOff.reset();
    const waiting = new AbortController();
    const stop = onAbort(signal, () => waiting.abort());
    await Promise.race([
      changed.then(() => sleepUnlessAborted(clock, STILL_MS, waiting.signal)),
      sleepUnlessAborted(clock, done ? Infinity : backOff.nextMs(), waiting.signal),
    ]);
    stop();
    waiting.abort();
  }
}

interface FolderWatch {
  /** Resolves at the next change. */
  changed(): Promise<void>;
  follow(folders: readonly string[]): void;
}

function watchFolders({ files, log }: Pick<Platform, 'files' | 'log'>, signal: AbortSignal): FolderWatch {
  const watches = new Map<string, FileWatch>();
  let next = Promise.withResolvers<void>();
  onAbort(signal, () => {
    for (const watch of watches.values()) watch.stop();
  });
  return {
    changed() {
      next = Promise.withResolvers<void>();
      return next.promise;
    },
    follow(folders) {
      for (const [folder, watch] of watches) {
        if (folders.includes(folder)) continue;
        watch.stop();
        watches.delete(folder);
      }
      for (const folder of folders)
        if (!watches.has(folder))
          watches.set(
            folder,
            files.watch(
              folder,
              () => next.resolve(),
              (error) => log.warn('A folder of manifests is no longer watched', { folder, err: error }),
            ),
          );
    },
  };
}
