/** The sources of static pods that are configured. Their YAML reader is loaded only when there is one. Upstream: makePodSourceConfig in pkg/kubelet/kubelet.go. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Platform } from '../../platform/platform.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { startFileSource } from './file-source.ts';
import { startHttpSource } from './http-source.ts';
import type { PodConfig } from './pod-config.ts';

/** Defaults and validates a pod that did not come through the API server. Throws what is wrong with it. */
export type PreparePod = (pod: Pod) => Pod;

/** Registers the configured sources at once; the returned function starts them. */
export function startStaticSources(
  deps: { platform: Platform; podConfig: PodConfig; preparePod: PreparePod },
  config: KubeletConfiguration,
  signal: AbortSignal,
): () => void {
  const { platform, podConfig, preparePod } = deps;
  const file = config.staticPodPath === '' ? undefined : podConfig.source('file');
  const http = config.staticPodUrl === '' ? undefined : podConfig.source('http');

  async function start(): Promise<void> {
    const { parse: parseYaml } = await import('yaml');
    const parse = (text: string): unknown => parseYaml(text);
    if (signal.aborted) return;
    if (file !== undefined) startFileSource({ platform, sink: file, preparePod, parse }, config, signal);
    if (http !== undefined) startHttpSource({ platform, sink: http, preparePod, parse }, config, signal);
  }

  return () => {
    if (file === undefined && http === undefined) return;
    start().catch((error: unknown) => platform.log.error('Static pod sources could not be started', { err: error }));
  };
}
