/** What a node does beside its pods, all its life: rotates container logs and frees the disk of unused images. */
import type { EventRecorder } from '../client/event-recorder.ts';
import type { CriRuntime } from '../cri/runtime-service.ts';
import { createImageGc } from '../kubelet/images/image-gc.ts';
import { createContainerLogManager } from '../kubelet/logs/container-log-manager.ts';
import type { KubeletConfiguration } from '../kubelet/kubelet-configuration.ts';
import type { Platform } from '../platform/platform.ts';

/** What upkeep needs. */
export interface NodeUpkeepDeps {
  readonly platform: Pick<Platform, 'clock' | 'files' | 'log'>;
  readonly cri: CriRuntime;
  readonly recorder: EventRecorder;
  readonly config: Pick<KubeletConfiguration, 'nodeName' | 'imageGc' | 'containerLogs'>;
}

/** As upstream's ImageGCPeriod. */
const IMAGE_GC_PERIOD_MS = 5 * 60_000;

/** Starts both; they end with the signal. */
export function startNodeUpkeep({ platform, cri, recorder, config }: NodeUpkeepDeps, signal: AbortSignal): void {
  const { clock, files } = platform;
  const log = platform.log.child('node-upkeep');
  createContainerLogManager({ runtime: cri.runtime, files, clock, log }, config.containerLogs).start(signal);
  const { nodeName } = config;
  const nodeRef = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName };
  const images = createImageGc(
    { runtime: cri.runtime, images: cri.images, files, clock, log, recorder, nodeRef },
    config.imageGc,
  );
  const stop = clock.setTicker(IMAGE_GC_PERIOD_MS, () => {
    images.garbageCollect().catch((error: unknown) => log.error('image garbage collection failed', { err: error }));
  });
  signal.addEventListener('abort', stop, { once: true });
}
