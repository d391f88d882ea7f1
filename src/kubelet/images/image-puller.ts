/**
 * Pulls images: several at a time, each at most once at a time. Upstream: parallel_image_puller.go. Differs: pods
 * that wait for the same image with the same credentials share one pull.
 */
import type { Span } from '../../platform/tracing.ts';
import type { CriImageService, PodSandboxConfig } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { abortable } from '../../base/abort.ts';
import type { PullCredential } from './pull-credentials.ts';

export interface PullRequest {
  readonly image: string;
  /** Tried in order; empty: pulled without credentials. */
  readonly credentials: readonly PullCredential[];
  readonly sandboxConfig?: Init<PodSandboxConfig>;
  readonly signal: AbortSignal;
  readonly span?: Span | undefined;
}

/** The result of a pull: the runtime's id of the image, and times. */
export interface PullResult {
  readonly imageRef: string;
  readonly pullMs: number;
  readonly waitedMs: number;
  /** Index of the used credential; undefined: none was used. */
  readonly credential: number | undefined;
}

export interface ImagePuller {
  /** Rejects with the runtime's error for the last credential. A pull continues as long as a caller waits for it. */
  pull(request: PullRequest): Promise<PullResult>;
}

interface ActivePull {
  readonly result: Promise<{ imageRef: string; startedMs: number; endedMs: number; credential: number | undefined }>;
  readonly controller: AbortController;
  waiting: number;
}

/** `maxParallel` pulls run at a time; others wait in order. */
export function createImagePuller(
  deps: { images: CriImageService; clock: Clock },
  config: { maxParallel: number },
): ImagePuller {
  const { images, clock } = deps;
  const activePulls = new Map<string, ActivePull>();
  const queue: (() => void)[] = [];
  let running = 0;

  const acquire = async (): Promise<void> => {
    if (running < config.maxParallel) {
      running++;
      return;
    }
    await new Promise<void>((resolve) => queue.push(resolve));
  };
  const release = (): void => {
    const next = queue.shift();
    if (next === undefined) running--;
    else next();
  };

  const attempt = async (
    request: PullRequest,
    credential: PullCredential | undefined,
    signal: AbortSignal,
  ): Promise<string> => {
    const { imageRef } = await images.pullImage(
      {
        image: { image: request.image, userSpecifiedImage: request.image },
        auth: credential,
        sandboxConfig: request.sandboxConfig,
      },
      { signal, timeoutMs: 0, span: request.span },
    );
    return imageRef;
  };

  const runPull = async (request: PullRequest, signal: AbortSignal) => {
    await acquire();
    try {
      const startedMs = clock.monotonicMs();
      const tries: readonly (number | undefined)[] =
        request.credentials.length > 0 ? [...request.credentials.keys()] : [undefined];
      let failure: unknown;
      for (const credential of tries) {
        signal.throwIfAborted();
        try {
          const imageRef = await attempt(
            request,
            credential === undefined ? undefined : request.credentials[credential],
            signal,
          );
          return { imageRef, startedMs, endedMs: clock.monotonicMs(), credential };
        } catch (error) {
          failure = error;
          if (isCriCode(error, 'Unavailable')) break;
        }
      }
      throw failure;
    } finally {
      release();
    }
  };

  return {
    async pull(request) {
      const askedMs = clock.monotonicMs();
      const key = JSON.stringify([request.image, request.credentials]);
      let active = activePulls.get(key);
      if (active === undefined) {
        const controller = new AbortController();
        const started: ActivePull = { controller, waiting: 0, result: runPull(request, controller.signal) };
        const clear = (): void => {
          if (activePulls.get(key) === started) activePulls.delete(key);
        };
        started.result.then(clear, clear);
        activePulls.set(key, started);
        active = started;
      }
      active.waiting++;
      try {
        const { imageRef, startedMs, endedMs, credential } = await abortable(active.result, request.signal);
        return { imageRef, pullMs: endedMs - startedMs, waitedMs: endedMs - askedMs, credential };
      } finally {
        active.waiting--;
        if (active.waiting === 0) {
          active.controller.abort(new Error('nobody waits for the image any more'));
          if (activePulls.get(key) === active) activePulls.delete(key);
        }
      }
    },
  };
}
