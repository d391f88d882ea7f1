/**
 * The configured sources of static pods. The YAML parser is loaded with the first manifest. Upstream:
 * makePodSourceConfig in pkg/kubelet/kubelet.go.
 */
import { readYaml } from '../../api/codec/yaml-codec.ts';
import type { Platform } from '../../platform/platform.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { startFileSource } from './file-source.ts';
import { startHttpSource } from './http-source.ts';
import type { PodConfig } from './pod-config.ts';
import type { PreparePod } from './static-pod.ts';

/** Registers the configured sources at once; the returned function starts them. */
export function startStaticSources(
  deps: { platform: Platform; podConfig: PodConfig; preparePod: PreparePod },
  config: KubeletConfiguration,
  signal: AbortSignal,
): () => void {
  const { platform, podConfig, preparePod } = deps;
  const file = config.staticPodPath === '' ? undefined : podConfig.source('file');
  const http = config.staticPodUrl === '' ? undefined : podConfig.source('http');

  return () => {
    if (file !== undefined) startFileSource({ platform, sink: file, preparePod, parse: parseManifest }, config, signal);
    if (http !== undefined) startHttpSource({ platform, sink: http, preparePod, parse: parseManifest }, config, signal);
  };
}

async function parseManifest(text: string): Promise<unknown> {
  return (await readYaml(text)).value;
}
