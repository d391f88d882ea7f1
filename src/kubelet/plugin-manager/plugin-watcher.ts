/**
 * Finds the plugin sockets in a directory and below it. Upstream: pkg/kubelet/pluginmanager/pluginwatcher.
 *
 * Hidden names and files other than sockets are skipped. Differs: the directory is read as a whole at every change,
 * and periodically.
 */
import { onAbort } from '../../base/abort.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Files, FileWatch } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';

export interface PluginWatcherDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  /** The present sockets, each with a stamp that changes when the socket is recreated. */
  readonly onSockets: (sockets: ReadonlyMap<string, string>) => void;
}

/** Covers lost notifications. */
const RESCAN_PERIOD_MS = 300_000;
/** The delay after a watch broke. */
const RETRY_MS = 1000;

interface Scan {
  readonly directories: Set<string>;
  readonly sockets: Map<string, string>;
}

/** Creates the directory and reports its sockets until the signal aborts. */
export function startPluginWatcher(deps: PluginWatcherDeps, directory: string, signal: AbortSignal): void {
  const { files, clock, log } = deps;
  const watches = new Map<string, FileWatch>();
  let scanning = false;
  let again = false;

  function follow(directories: ReadonlySet<string>): void {
    for (const [path, watch] of watches) {
      if (directories.has(path)) continue;
      watch.stop();
      watches.delete(path);
    }
    for (const path of directories) {
      if (watches.has(path)) continue;
      // Read again, for changes between the first reading and the start of the watch.
      again = true;
      const watch = files.watch(path, rescan, () => {
        if (watches.get(path) === watch) watches.delete(path);
        clock.setTimer(RETRY_MS, rescan);
      });
      watches.set(path, watch);
    }
  }

  async function scanUntilStill(): Promise<void> {
    scanning = true;
    try {
      do {
        again = false;
        const result: Scan = { directories: new Set(), sockets: new Map() };
        await scan(files, directory, result);
        if (signal.aborted) return;
        follow(result.directories);
        deps.onSockets(result.sockets);
      } while (again);
    } catch (error) {
      log.error('Unable to read the plugin directory', { path: directory, err: error });
    } finally {
      scanning = false;
    }
  }

  function rescan(): void {
    if (signal.aborted) return;
    if (scanning) again = true;
    else background(log, 'the plugin directory could not be read', scanUntilStill());
  }

  const cancel = clock.setTicker(RESCAN_PERIOD_MS, rescan);
  onAbort(signal, () => {
    cancel();
    for (const watch of watches.values()) watch.stop();
  });
  files.makeDir(directory, { mode: 0o750 }).then(rescan, (error: unknown) => {
    log.error('Unable to make the plugin directory', { path: directory, err: error });
  });
}

async function scan(files: Files, directory: string, result: Scan): Promise<void> {
  result.directories.add(directory);
  for (const name of await files.readDir(directory)) {
    if (name.startsWith('.')) continue;
    const path = `${directory}/${name}`;
    try {
      const { kind, ino, mtimeMs } = await files.lstat(path);
      if (kind === 'directory') await scan(files, path, result);
      else if (kind === 'socket') result.sockets.set(path, `${ino}/${mtimeMs}`);
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT')) throw error;
    }
  }
}
