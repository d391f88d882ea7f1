/** Static pods from a URL, read every 20 s. Upstream: pkg/kubelet/config/http.go. */
import { onAbort } from '../../base/abort.ts';
import type { Platform } from '../../platform/platform.ts';
import { readBody } from '../prober/http-body.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { PodConfigSource } from './pod-config.ts';
import { podsOfManifest, staticPodOf, type PreparePod } from './static-pod.ts';
import { background } from '../../platform/unexpected.ts';

const TIMEOUT_MS = 10_000;
/** Upstream's maxConfigLength. */
const MAX_BYTES = 10 * 2 ** 20;

export interface HttpSourceDeps {
  readonly platform: Platform;
  readonly sink: PodConfigSource;
  readonly preparePod: PreparePod;
  readonly parse: (text: string) => Promise<unknown>;
}

/** Reads until the signal aborts. While the URL does not answer, the last pods are kept. */
export function startHttpSource(deps: HttpSourceDeps, config: KubeletConfiguration, signal: AbortSignal): void {
  const { platform } = deps;
  const log = platform.log.child('http-source');
  const url = config.staticPodUrl;
  let lastText: string | undefined;
  let failures = 0;

  async function fetchText(): Promise<string> {
    const endMs = platform.clock.monotonicMs() + TIMEOUT_MS;
    const answer = await platform.net.http({
      method: 'GET',
      url,
      headers: config.staticPodUrlHeaders,
      headTimeoutMs: TIMEOUT_MS,
      signal,
    });
    const { bytes, cut } = await readBody(answer, platform.clock, { maxBytes: MAX_BYTES, endMs });
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status}`);
    if (cut) throw new Error(`${url}: more than ${MAX_BYTES} bytes`);
    const text = Buffer.from(bytes).toString();
    if (text === '') throw new Error(`zero-length data received from ${url}`);
    return text;
  }

  async function extractFromUrl(): Promise<void> {
    try {
      const text = await fetchText();
      failures = 0;
      if (text === lastText) return;
      const origin = {
        source: 'http' as const,
        location: url,
        nodeName: config.nodeName,
        nowMs: platform.clock.nowMs(),
        sha256Hex: platform.crypto.sha256Hex,
      };
      const pods = podsOfManifest(await deps.parse(text)).map((manifest) =>
        deps.preparePod(staticPodOf(manifest, origin)),
      );
      lastText = text;
      deps.sink.set(pods);
    } catch (error) {
      if (signal.aborted) return;
      if (failures < 3) log.warn('Failed to read pods from URL', { url, err: error });
      if (failures === 3)
        log.error('Failed to read pods from URL, dropping verbosity of this message to V(4)', { url, err: error });
      failures++;
    }
  }

  background(log, 'pods could not be read', extractFromUrl());
  const cancel = platform.clock.setTicker(config.httpCheckFrequencyMs, () =>
    background(log, 'pods could not be read', extractFromUrl()),
  );
  onAbort(signal, cancel);
}
