/**
 * Rotates container logs by size and number. Upstream: pkg/kubelet/logs/container_log_manager.go.
 *
 * The newest rotated file stays uncompressed, for readers that follow the log. When the runtime does not reopen its
 * log after a rotation, the rotation is undone, so that nothing is written into a renamed file.
 */
import { onAbort } from '../../base/abort.ts';
import { ignoreMissingFile } from '../../base/errors.ts';
import type { CriRuntimeService } from '../../cri/gen/cri-types.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Clock } from '../../platform/clock.ts';
import type { FileHandle, Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';

type Gzip = (data: Uint8Array) => Promise<Uint8Array>;

export interface LogManagerDeps {
  readonly runtime: CriRuntimeService;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  /** Compresses older rotated files; absent: they stay uncompressed. */
  readonly gzip?: Gzip;
}

/** Limits. */
export interface LogManagerConfig {
  /** Upstream's containerLogMaxSize. Default 10 MiB; negative: no rotation. */
  readonly maxSizeBytes?: number;
  /** Files per container, the current one included. Default 5, at least 2. */
  readonly maxFiles?: number;
  /** Period in which logs are checked. Default 10 s. */
  readonly periodMs?: number;
  /** Logs that are rotated at the same time. Default 1. */
  readonly maxWorkers?: number;
}

export interface ContainerLogManager {
  /** Checks all logs periodically until aborted. */
  start(signal: AbortSignal): void;
  /** Checks all running containers once. Failures are logged and tried again next time. */
  rotateLogs(): Promise<void>;
}

/** Suffix of an incomplete compressed file, which a killed process may leave. */
const PARTIAL_SUFFIX = '.gz.tmp';
const PACKED_BLOCK_BYTES = 2 ** 20;

/** `20260102-030405`, which sorts by time. */
function rotationSuffix(nowMs: number): string {
  return formatTime(nowMs).replace(/[-:Z]/g, '').replace('T', '-');
}

function splitPath(path: string): { directory: string; name: string } {
  const slash = path.lastIndexOf('/');
  return { directory: path.slice(0, slash), name: path.slice(slash + 1) };
}

/** Closes the file even if `work` fails. */
async function withFile(opening: Promise<FileHandle>, work: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await opening;
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

/** Compresses block by block, as concatenated gzip members are valid gzip and a log may be large. */
async function packBlocks(from: FileHandle, to: FileHandle, gzip: Gzip): Promise<void> {
  for (let offset = 0; ;) {
    const block = await from.read(offset, PACKED_BLOCK_BYTES);
    if (block.length === 0) return;
    await to.append(await gzip(block));
    offset += block.length;
  }
}

/** Undefined when there is no such file. */
async function sizeOf(files: Files, path: string): Promise<number | undefined> {
  return (await files.stat(path).catch(ignoreMissingFile))?.sizeBytes;
}

export function createContainerLogManager(deps: LogManagerDeps, config: LogManagerConfig): ContainerLogManager {
  const { runtime, files, clock, log } = deps;
  const { maxSizeBytes = 10 * 2 ** 20, maxFiles = 5, periodMs = 10_000, maxWorkers = 1 } = config;
  if (maxFiles < 2) throw new Error(`containerLogMaxFiles must be at least 2, got ${maxFiles}`);

  const compress = async (path: string): Promise<void> => {
    const { gzip } = deps;
    if (gzip === undefined) return;
    const partial = `${path}${PARTIAL_SUFFIX}`;
    await withFile(files.open(path, 'r'), (from) =>
      withFile(files.open(partial, 'a', { mode: 0o640 }), (to) => packBlocks(from, to, gzip)),
    );
    await files.rename(partial, `${path}.gz`);
    await files.remove(path);
  };

  /** Deletes the oldest rotated files, so that there is room for the next one. */
  const removeExcess = async (path: string): Promise<void> => {
    const { directory, name } = splitPath(path);
    const all = (await files.readDir(directory)).filter((candidate) => candidate.startsWith(`${name}.`)).sort();
    const partial = all.filter((candidate) => candidate.endsWith(PARTIAL_SUFFIX));
    for (const left of partial) await files.remove(`${directory}/${left}`);
    const rotated = all.filter((candidate) => !partial.includes(candidate));
    const excess = rotated.length - (maxFiles - 2);
    const cut = Math.max(0, excess);
    for (const old of rotated.slice(0, cut)) await files.remove(`${directory}/${old}`);
    // The newest rotated file may still be read by clients that follow the log; older ones are compressed.
    for (const older of rotated.slice(cut)) if (!older.endsWith('.gz')) await compress(`${directory}/${older}`);
  };

  const rotate = async (id: string, path: string): Promise<void> => {
    await removeExcess(path);
    const rotated = `${path}.${rotationSuffix(clock.nowMs())}`;
    await files.rename(path, rotated);
    try {
      await runtime.reopenContainerLog({ containerId: id });
    } catch (error) {
      await files.rename(rotated, path);
      throw error;
    }
  };

  /** Log paths by container: read once from the runtime, as they never change. */
  const logPaths = new Map<string, string>();

  const logPathOf = async (id: string): Promise<string> => {
    let path = logPaths.get(id);
    if (path === undefined) {
      const { status } = await runtime.containerStatus({ containerId: id });
      path = status?.logPath ?? '';
      if (status !== undefined) logPaths.set(id, path);
    }
    return path;
  };

  const rotateContainer = async (id: string): Promise<void> => {
    const path = await logPathOf(id);
    if (path === '') return;
    const size = await sizeOf(files, path);
    // The file is missing when a rotation was interrupted between rename and reopen.
    if (size === undefined) await runtime.reopenContainerLog({ containerId: id });
    else if (size >= maxSizeBytes) await rotate(id, path);
  };

  const forgetGone = (running: ReadonlySet<string>): void => {
    for (const id of logPaths.keys()) if (!running.has(id)) logPaths.delete(id);
  };

  const rotateLogs = async (): Promise<void> => {
    if (maxSizeBytes < 0) return;
    const { containers } = await runtime.listContainers({ filter: { state: { state: 'CONTAINER_RUNNING' } } });
    if (logPaths.size > 0) forgetGone(new Set(containers.map(({ id }) => id)));
    const waiting = containers.values();
    const work = async (): Promise<void> => {
      for (const { id } of waiting)
        await rotateContainer(id).catch((error: unknown) => {
          if (isCriCode(error, 'NotFound')) return;
          log.error('container log cannot be rotated', { containerId: id, err: error });
        });
    };
    await Promise.all(Array.from({ length: Math.min(maxWorkers, containers.length) }, work));
  };

  return {
    rotateLogs,
    start(signal) {
      let busy = false;
      const cancel = clock.setTicker(periodMs, () => {
        if (busy) return;
        busy = true;
        rotateLogs()
          .catch((error: unknown) => log.error('container logs cannot be rotated', { err: error }))
          .finally(() => {
            busy = false;
          });
      });
      onAbort(signal, cancel);
    },
  };
}
