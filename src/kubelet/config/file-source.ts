/** Static pods from a manifest file or a directory of them, read every 20 s and at once after a change. Upstream: pkg/kubelet/config/file.go. */
import { onAbort } from '../../base/abort.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { podUid } from '../types/pod-update.ts';
import type { PodConfigSource } from './pod-config.ts';
import { podsOfManifest, staticPodOf, type PreparePod } from './static-pod.ts';
import { background } from '../../platform/unexpected.ts';

export interface FileSourceDeps {
  readonly platform: Platform;
  readonly sink: PodConfigSource;
  readonly preparePod: PreparePod;
  readonly parse: (text: string) => Promise<unknown>;
}

/** Reads and watches until the signal aborts. A file that cannot be read or has no valid pod is logged and skipped. */
export function startFileSource(deps: FileSourceDeps, config: KubeletConfiguration, signal: AbortSignal): void {
  const { platform, sink } = deps;
  const { files, clock } = platform;
  const log = platform.log.child('file-source');
  const path = config.staticPodPath;
  let reading = false;
  let again = false;
  let stopWatching: (() => void) | undefined;
  let lastText = '';

  async function podOf(file: string): Promise<Pod> {
    const pods = podsOfManifest(await deps.parse(await files.readText(file)));
    if (pods.length !== 1) throw new Error(`${file} holds ${pods.length} pods, not one`);
    const origin = {
      source: 'file' as const,
      location: file,
      nodeName: config.nodeName,
      nowMs: clock.nowMs(),
      sha256Hex: platform.crypto.sha256Hex,
    };
    return deps.preparePod(staticPodOf(pods[0]!, origin));
  }

  async function readAll(): Promise<readonly Pod[]> {
    const stat = await files.stat(path);
    if (stat.kind === 'file') return [await podOf(path)];
    if (stat.kind !== 'directory') throw new Error(`path "${path}" is not a directory or file`);
    const pods: Pod[] = [];
    for (const name of await files.readDir(path)) {
      if (name.startsWith('.')) continue;
      const file = `${path}/${name}`;
      try {
        if ((await files.stat(file)).kind === 'file') pods.push(await podOf(file));
      } catch (error) {
        log.error("Can't process manifest file", { path: file, err: error });
      }
    }
    return pods;
  }

  async function read(): Promise<void> {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    do {
      again = false;
      try {
        // Pods seen before keep the time they were first seen; the merger takes care of that.
        const pods = [...new Map((await readAll()).map((pod) => [podUid(pod), pod])).values()];
        if (!signal.aborted) sink.set(pods);
        lastText = '';
      } catch (error) {
        const text = errorMessage(error);
        if (hasErrorCode(error, 'ENOENT')) sink.set([]);
        if (text !== lastText) log.error('Unable to read config path', { path, err: error });
        lastText = text;
      }
    } while (again && !signal.aborted);
    reading = false;
  }

  function watch(): void {
    stopWatching?.();
    stopWatching = undefined;
    const watching = files.watch(
      path,
      () => background(log, 'pods could not be read', read()),
      () => {
        // The next period reads and watches again.
        stopWatching = undefined;
      },
    );
    stopWatching = () => watching.stop();
  }

  function tryWatch(): void {
    if (stopWatching !== undefined) return;
    try {
      watch();
    } catch (error) {
      log.debug('Unable to watch config path', { path, err: error });
    }
  }

  tryWatch();
  background(log, 'pods could not be read', read());
  const cancel = clock.setTicker(config.fileCheckFrequencyMs, () => {
    tryWatch();
    background(log, 'pods could not be read', read());
  });
  onAbort(signal, () => {
    cancel();
    stopWatching?.();
  });
}
