/**
 * Makes sure an image is on the node before its container is created, by pull policy, with back-off. Upstream:
 * pkg/kubelet/images/image_manager.go.
 *
 * Images are asked for each time, since a tag may be moved behind our back (an image loaded again under its name); pods
 * that ask at the same time share the answer.
 */
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import { createTokenBucket } from '../../client/rate-limiter.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { CriImageService, Image, PodSandboxConfig } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { KeyedBackoff } from '../../base/backoff.ts';
import type { CredentialProviders } from './credential-providers.ts';
import { createImagePuller, type PullResult } from './image-puller.ts';
import { parseImageReference, type ImageReference } from './image-reference.ts';
import { configsOfSecrets, credentialsFor, parseDockerConfig, type SourcedCredential } from './pull-credentials.ts';
import type { PullVerification } from './pull-verification.ts';
import { goDuration } from '../runtime/crash-back-off.ts';

/** Waiting reasons of containers whose image is not there. */
export type ImageFailureReason =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

/** An image cannot be had now. `retryAfterMs` is set where only time helps. */
export class ImageError extends Error {
  readonly reason: ImageFailureReason;
  readonly retryAfterMs: number | undefined;

  constructor(reason: ImageFailureReason, message: string, options?: ErrorOptions & { retryAfterMs?: number }) {
    super(message, options);
    this.name = 'ImageError';
    this.reason = reason;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

export interface ImageManagerDeps {
  readonly images: CriImageService;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: KubeletEventRecorder;
  /** The node's own docker configuration, tried after the pod's secrets; undefined when there is none. */
  nodeDockerConfig(): Promise<string | undefined>;
  /** Programs that know credentials, asked last; never fails. */
  readonly credentialProviders?: CredentialProviders;
  /** Hears of pulls that went well. */
  readonly pulled?: (podUid: string, tookMs: number, sizeBytes: number) => void;
  /** Who may use images that are there already. Absent: everyone. */
  readonly verification?: PullVerification;
}

/** Limits. */
export interface ImageManagerConfig {
  /** Pulls at the same time. Default 5. */
  readonly maxParallelPulls?: number;
  /** Pulls begun per second, and at once after a pause; 0: no limit. Upstream's registryPullQPS and registryBurst. */
  readonly pullsPerSecond?: number;
  readonly pullBurst?: number;
  /** First and longest wait between failed pulls. Default 10 s and 300 s. */
  readonly backOffInitialMs?: number;
  readonly backOffMaxMs?: number;
}

/** One container's need for an image. */
export interface ImageNeed {
  readonly pod: Pod;
  readonly container: Pick<Container, 'image' | 'imagePullPolicy'>;
  /** What events are about: the container in its pod. */
  readonly target: EventTarget;
  readonly pullSecrets: readonly Secret[];
  readonly sandboxConfig?: Init<PodSandboxConfig>;
  readonly signal: AbortSignal;
}

export interface ImageManager {
  /** The image as the runtime has it. Rejects with ImageError. */
  ensureImageExists(need: ImageNeed): Promise<Image>;
  /** Forgets the pod's back-off. */
  forgetPod(uid: string): void;
}

interface Pull {
  readonly need: ImageNeed;
  readonly reference: ImageReference;
  /** Of the back-off. */
  readonly key: string;
  readonly credentials: () => Promise<readonly SourcedCredential[]>;
}

function pullPolicy(container: ImageNeed['container'], reference: ImageReference): string {
  if (container.imagePullPolicy) return container.imagePullPolicy;
  return reference.digest === undefined && (reference.tag ?? 'latest') === 'latest' ? 'Always' : 'IfNotPresent';
}

function pullFailure(image: string, error: unknown): { reason: ImageFailureReason; message: string } {
  const detail = error instanceof CriError ? error.detail : '';
  if (detail.startsWith('RegistryUnavailable'))
    return {
      reason: 'RegistryUnavailable',
      message: `image pull failed for ${image} because the registry is unavailable: ${errorMessage(error)}`,
    };
  if (detail.startsWith('SignatureValidationFailed'))
    return {
      reason: 'SignatureValidationFailed',
      message: `image pull failed for ${image} because the signature validation failed: ${errorMessage(error)}`,
    };
  return { reason: 'ErrImagePull', message: errorMessage(error) };
}

export function createImageManager(deps: ImageManagerDeps, config: ImageManagerConfig): ImageManager {
  const { images, clock, log, recorder } = deps;
  const puller = createImagePuller({ images, clock }, { maxParallel: config.maxParallelPulls ?? 5 });
  const { pullsPerSecond = 0, pullBurst = 10 } = config;
  const throttle =
    pullsPerSecond > 0 ? createTokenBucket(clock, { perSecond: pullsPerSecond, burst: pullBurst }) : undefined;
  const backOff = new KeyedBackoff({
    initialMs: config.backOffInitialMs ?? 10_000,
    maxMs: config.backOffMaxMs ?? 300_000,
  });
  const lastFailures = new Map<string, { readonly text: string; readonly atMs: number }>();
  const asking = new Map<string, Promise<Image | undefined>>();

  const inspect = (name: string): Promise<Image | undefined> => {
    const inFlight = asking.get(name);
    if (inFlight !== undefined) return inFlight;
    const ask = async (): Promise<Image | undefined> => {
      try {
        return (await images.imageStatus({ image: { image: name } })).image;
      } finally {
        asking.delete(name);
      }
    };
    const answer = ask();
    asking.set(name, answer);
    return answer;
  };

  /** What a pull brought. Asked anew: an answer under way may be of before it, and the tag may have been moved since. */
  const pulledImage = async ({ pullName }: ImageReference, { imageRef }: PullResult): Promise<Image | undefined> =>
    (await images.imageStatus({ image: { image: imageRef } })).image ??
    (await images.imageStatus({ image: { image: pullName } })).image;

  const lookUp = async (
    reference: ImageReference,
    { pod, pullSecrets }: ImageNeed,
  ): Promise<readonly SourcedCredential[]> => {
    const own = configsOfSecrets(pullSecrets, (secret, error) =>
      log.warn('pull secret cannot be read', { secret: secret.metadata.name, err: error }),
    );
    const provided = (await deps.credentialProviders?.configsFor(reference, pod)) ?? [];
    try {
      const node = await deps.nodeDockerConfig();
      const nodes = node === undefined ? [] : [{ config: parseDockerConfig(node) }];
      return credentialsFor(reference, [...own, ...nodes, ...provided]);
    } catch (error) {
      log.warn('docker configuration of the node cannot be read', { err: error });
      return credentialsFor(reference, [...own, ...provided]);
    }
  };

  /** Pulls, and has it noted with whose credential. */
  const fetch = async ({ need, reference, credentials }: Pull): Promise<PullResult & { readonly image: Image }> => {
    if (throttle?.tryTake() === false) throw new Error('pull QPS exceeded');
    await deps.verification?.begin(reference).catch((error: unknown) => {
      const shown = need.container.image ?? '';
      const message = `Failed to record image pull intent for container image "${shown}": ${errorMessage(error)}`;
      throw new Error(message, { cause: error });
    });
    let tried: readonly SourcedCredential[];
    let result: PullResult;
    try {
      tried = await credentials();
      result = await puller.pull({
        image: reference.pullName,
        credentials: tried.map(({ credential }) => credential),
        signal: need.signal,
        ...(need.sandboxConfig === undefined ? {} : { sandboxConfig: need.sandboxConfig }),
      });
    } catch (error) {
      await deps.verification?.failed(reference);
      throw error;
    }
    // It is on the node from here on: whatever goes wrong now, with whose credential it came is noted.
    const used = result.credential === undefined ? undefined : tried[result.credential];
    let image: Image | undefined;
    try {
      image = await pulledImage(reference, result);
    } finally {
      await deps.verification?.pulled(reference, image?.id ?? result.imageRef, used);
    }
    if (image === undefined) throw new Error(`image ${reference.pullName} was pulled but the runtime does not have it`);
    return { ...result, image };
  };

  const pull = async (wanted: Pull): Promise<Image> => {
    const { need, key } = wanted;
    const { target, container } = need;
    const shown = container.image ?? '';
    recorder.event(target, 'Normal', 'Pulling', `Pulling image "${shown}"`);
    try {
      const { image, ...result } = await fetch(wanted);
      deps.pulled?.(need.pod.metadata.uid ?? '', result.pullMs, image.size);
      const [took, waited] = [goDuration(Math.round(result.pullMs)), goDuration(Math.round(result.waitedMs))];
      recorder.event(
        target,
        'Normal',
        'Pulled',
        `Successfully pulled image "${shown}" in ${took} (${waited} including waiting). Image size: ${image.size} bytes.`,
      );
      backOff.reset(key);
      lastFailures.delete(key);
      return image;
    } catch (error) {
      need.signal.throwIfAborted();
      const { reason, message } = pullFailure(shown, error);
      recorder.event(target, 'Warning', 'Failed', `Failed to pull image "${shown}": ${message}`);
      backOff.next(key, clock.nowMs());
      lastFailures.set(key, { text: `${reason}: ${message}`, atMs: clock.nowMs() });
      throw new ImageError(reason, message, { cause: error, retryAfterMs: backOff.getMs(key) });
    }
  };

  const parse = (need: ImageNeed): ImageReference => {
    const image = need.container.image ?? '';
    try {
      return parseImageReference(image);
    } catch (error) {
      const message = `Failed to apply default image tag "${image}": ${errorMessage(error)}`;
      recorder.event(need.target, 'Warning', 'InspectFailed', message);
      throw new ImageError('InvalidImageName', message, { cause: error });
    }
  };

  return {
    async ensureImageExists(need) {
      const shown = need.container.image ?? '';
      const reference = parse(need);
      const policy = pullPolicy(need.container, reference);
      let present: Image | undefined;
      try {
        present = await inspect(reference.pullName);
      } catch (error) {
        const message = `Failed to inspect image "${shown}": ${errorMessage(error)}`;
        recorder.event(need.target, 'Warning', 'InspectFailed', message);
        throw new ImageError('ImageInspectError', message, { cause: error });
      }
      let found: Promise<readonly SourcedCredential[]> | undefined;
      const credentials = (): Promise<readonly SourcedCredential[]> => (found ??= lookUp(reference, need));
      const mustPull =
        policy === 'Always' ||
        present === undefined ||
        ((await deps.verification?.mustPull(reference, present.id, credentials)) ?? false);
      if (present !== undefined && !mustPull) {
        recorder.event(
          need.target,
          'Normal',
          'Pulled',
          `Container image "${shown}" already present on machine and can be accessed by the pod`,
        );
        return present;
      }
      // Whoever may not use an image does not learn that it is there.
      if (policy === 'Never') {
        const message = `Container image "${shown}" is not present with pull policy of Never`;
        recorder.event(need.target, 'Warning', 'ErrImageNeverPull', message);
        throw new ImageError('ErrImageNeverPull', message);
      }
      const key = `${need.pod.metadata.uid}_${reference.pullName}`;
      if (backOff.isInBackoffSinceUpdate(key, clock.nowMs())) {
        const failure = lastFailures.get(key);
        const message = `Back-off pulling image "${shown}": ${failure?.text ?? ''}`;
        recorder.event(need.target, 'Normal', 'BackOff', message);
        const retryAfterMs = Math.max(0, (failure?.atMs ?? 0) + backOff.getMs(key) - clock.nowMs());
        throw new ImageError('ImagePullBackOff', message, { retryAfterMs });
      }
      return pull({ need, reference, key, credentials });
    },
    forgetPod(uid) {
      for (const key of [...lastFailures.keys()].filter((candidate) => candidate.startsWith(`${uid}_`))) {
        backOff.reset(key);
        lastFailures.delete(key);
      }
    },
  };
}
