/**
 * The two CRI services as the kubelet uses them, implemented by `cri-client.ts` (a real runtime) and `sim/` (a simulated
 * one). Upstream: cri-api's RuntimeService and ImageManagerService.
 *
 * All calls reject with `CriError`, or with the signal's reason when the caller aborts.
 */
import type { CriImageService, CriRuntimeService } from './gen/cri-types.ts';

/** A change of a container or sandbox in the runtime's event stream; it only triggers a read of the state. */
export interface CriEvent {
  /** The id of the container, or of the sandbox when its own process changed. */
  readonly containerId: string;
  readonly type: 'created' | 'started' | 'stopped' | 'deleted';
  /** Present when type is `stopped` and the event has it. */
  readonly exitCode?: number;
}

/** A runtime: both services and its events. */
export interface CriRuntime {
  readonly runtime: CriRuntimeService;
  readonly images: CriImageService;
  /**
   * Events from now on until aborted. The first `next()` subscribes. Throws CriError when the stream breaks: relist and
   * subscribe again.
   */
  events(signal: AbortSignal): AsyncIterable<CriEvent>;
}
