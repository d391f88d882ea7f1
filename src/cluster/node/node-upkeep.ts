/**
 * Periodic work of a node beside its pods: rotates container logs, removes unused images to free disk space, keeps
 * iptables chains where configured.
 */
import { onAbort } from '../../base/abort.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import { createImageGc } from '../../kubelet/images/image-gc.ts';
import type { PullVerification } from '../../kubelet/images/pull-verification.ts';
import { createContainerLogManager } from '../../kubelet/logs/container-log-manager.ts';
import { startIptablesUtilChains } from '../../kubelet/network/iptables-util-chains.ts';
import type { KubeletConfiguration } from '../../kubelet/kubelet-configuration.ts';
import type { Platform } from '../../platform/platform.ts';

export interface NodeUpkeepDeps {
  readonly platform: Pick<Platform, 'clock' | 'files' | 'log' | 'compression' | 'exec'>;
  readonly cri: CriRuntime;
  readonly recorder: EventRecorder;
  readonly verification?: PullVerification;
  readonly config: Pick<KubeletConfiguration, 'nodeName' | 'imageGc' | 'containerLogs' | 'iptablesUtilChains'>;
}

/** Upstream: ImageGCPeriod. */
const IMAGE_GC_PERIOD_MS = 5 * 60_000;

export interface NodeUpkeep {
  /** Starts the periodic work, until the signal aborts. */
  start(signal: AbortSignal): void;
  /** Removes every image that no container uses; resolves to the freed bytes. */
  removeUnusedImages(): Promise<number>;
}

export function createNodeUpkeep(deps: NodeUpkeepDeps): NodeUpkeep {
  const { platform, cri, recorder, verification, config } = deps;
  const { clock, files, compression } = platform;
  const packer = compression.compresses ? { gzip: (data: Uint8Array) => compression.gzip(data) } : {};
  const log = platform.log.child('node-upkeep');
  const logs = createContainerLogManager({ runtime: cri.runtime, files, clock, log, ...packer }, config.containerLogs);
  const { nodeName } = config;
  const nodeRef = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName };
  const images = createImageGc(
    {
      runtime: cri.runtime,
      images: cri.images,
      files,
      clock,
      log,
      recorder,
      nodeRef,
      collected: verification?.retain,
    },
    config.imageGc,
  );
  const start = (signal: AbortSignal): void => {
    logs.start(signal);
    if (config.iptablesUtilChains) startIptablesUtilChains({ ...platform, log }, signal);
    let failed = false;
    const stop = clock.setTicker(IMAGE_GC_PERIOD_MS, () => {
      images.garbageCollect().then(
        () => (failed = false),
        (error: Error) => {
          log.error('image garbage collection failed', { err: error });
          // Only repeated failures become events, as upstream.
          if (failed) recorder.event(nodeRef, 'Warning', 'ImageGCFailed', error.message);
          failed = true;
        },
      );
    });
    onAbort(signal, stop);
  };
  return { start, removeUnusedImages: images.deleteUnusedImages };
}
