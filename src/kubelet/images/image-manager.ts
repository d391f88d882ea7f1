/**
 * Pulls a container's image by its pull policy, with back-off, before the container is created. Upstream:
 * pkg/kubelet/images/image_manager.go.
 *
 * The image's status is read each time: others may move a tag, for example by loading an image of the same name. Simultaneous
 * reads share one call.
 */
import { formatTime } from '../../api/time.ts';
import { KeyedBackoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import { createTokenBucket, type TokenBucket } from '../../client/rate-limiter.ts';
import type { FailedPull } from '../../api/pod-node-state.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import type { CriImageService, Image } from '../../cri/gen/cri-types.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import { goDuration } from '../runtime/crash-back-off.ts';
import { podUid } from '../types/pod-update.ts';
import type { CredentialProviders } from './credential-providers.ts';
import { ImageError, type PullFailure, pullFailure } from './image-error.ts';
import { type ImageNeed, pullPolicy } from './image-need.ts';
import { createImagePuller, type ImagePuller, type PullResult } from './image-puller.ts';
import { type ImageReference, parseImageReference } from '../../api/image-reference.ts';
import { configsOfSecrets, credentialsFor, parseDockerConfig, type SourcedCredential } from './pull-credentials.ts';
import { pullErrorClass } from './pull-error-class.ts';
import type { PullVerification } from './pull-verification.ts';

/** The longest failure text in a pod's state. */
const MAX_MESSAGE_CHARS = 4096;

export interface ImageManagerDeps {
  readonly images: CriImageService;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: KubeletEventRecorder;
  /** The node's own docker configuration, tried after the pod's secrets; undefined when there is none. */
  nodeDockerConfig(): Promise<string | undefined>;
  /** Credential provider programs, used last; never fails. */
  readonly credentialProviders?: CredentialProviders;
  /** Called after each successful pull. */
  readonly pulled?: (podUid: string, tookMs: number, sizeBytes: number) => void;
  /** Which pods may use images that are already present. Absent: all. */
  readonly verification?: PullVerification;
}

export interface ImageManagerConfig {
  /** Default 5. */
  readonly maxParallelPulls?: number;
  /** Upstream's registryPullQPS and registryBurst; 0: no limit. */
  readonly pullsPerSecond?: number;
  readonly pullBurst?: number;
  /** Initial and maximum back-off after failed pulls. Default 10 s and 300 s. */
  readonly backOffInitialMs?: number;
  readonly backOffMaxMs?: number;
}

export interface ImageManager {
  /** The image as the runtime has it. Rejects with ImageError. */
  ensureImageExists(need: ImageNeed): Promise<Image>;
  /** The pod's image pulls that failed last. */
  failedPulls(uid: string): readonly FailedPull[];
  /** Forgets the pod's back-off. */
  forgetPod(uid: string): void;
}

interface Pull {
  readonly need: ImageNeed;
  readonly reference: ImageReference;
  /** Key of the back-off. */
  readonly key: string;
  readonly credentials: () => Promise<readonly SourcedCredential[]>;
}

export function createImageManager(deps: ImageManagerDeps, config: ImageManagerConfig): ImageManager {
  return new KubeletImageManager(deps, config);
}

class KubeletImageManager implements ImageManager {
  readonly #deps: ImageManagerDeps;
  readonly #puller: ImagePuller;
  readonly #throttle: TokenBucket | undefined;
  readonly #backOff: KeyedBackoff;
  readonly #lastFailures = new Map<string, PullFailure>();
  readonly #statusCalls = new Map<string, Promise<Image | undefined>>();

  constructor(deps: ImageManagerDeps, config: ImageManagerConfig) {
    this.#deps = deps;
    this.#puller = createImagePuller(
      { images: deps.images, clock: deps.clock },
      { maxParallel: config.maxParallelPulls ?? 5 },
    );
    const { pullsPerSecond = 0, pullBurst = 10 } = config;
    this.#throttle =
      pullsPerSecond > 0 ? createTokenBucket(deps.clock, { perSecond: pullsPerSecond, burst: pullBurst }) : undefined;
    this.#backOff = new KeyedBackoff({
      initialMs: config.backOffInitialMs ?? 10_000,
      maxMs: config.backOffMaxMs ?? 300_000,
    });
  }

  async ensureImageExists(need: ImageNeed): Promise<Image> {
    const { container, target } = need;
    const image = container.image ?? '';
    const reference = this.#parse(need);
    const policy = pullPolicy(container, reference);
    const present = await need.trace.step('ImageStatus', (trace) =>
      this.#inspectPresent({ ...need, trace }, reference),
    );
    let lookup: Promise<readonly SourcedCredential[]> | undefined;
    const credentials = (): Promise<readonly SourcedCredential[]> =>
      (lookup ??= this.#findCredentials(reference, need));
    const mustPull =
      policy === 'Always' ||
      present === undefined ||
      ((await this.#deps.verification?.mustPull(reference, present.id, credentials)) ?? false);
    if (present !== undefined && !mustPull) {
      const message = `Container image "${image}" already present on machine and can be accessed by the pod`;
      this.#deps.recorder.event(target, 'Normal', 'Pulled', message);
      return present;
    }
    // A pod without the right to use an image gets the message for a missing one.
    if (policy === 'Never') {
      const message = `Container image "${image}" is not present with pull policy of Never`;
      this.#deps.recorder.event(target, 'Warning', 'ErrImageNeverPull', message);
      throw new ImageError('ErrImageNeverPull', message);
    }
    const key = `${need.pod.metadata.uid}_${reference.pullName}`;
    this.#checkBackOff(need, key);
    need.beforePull?.();
    return need.trace.step(
      'pull',
      (trace) => this.#pull({ need: { ...need, trace }, reference, key, credentials }),
      image,
    );
  }

  failedPulls(uid: string): readonly FailedPull[] {
    const prefix = `${uid}_`;
    const failures = [...this.#lastFailures].filter(([key]) => key.startsWith(prefix));
    return failures.map(([key, { image, text, atMs, errorClass }]) => ({
      image,
      errorClass,
      message: text.slice(0, MAX_MESSAGE_CHARS),
      failedAt: formatTime(atMs),
      nextTry: formatTime(atMs + this.#backOff.getMs(key)),
    }));
  }

  forgetPod(uid: string): void {
    for (const key of [...this.#lastFailures.keys()].filter((candidate) => candidate.startsWith(`${uid}_`))) {
      this.#backOff.reset(key);
      this.#lastFailures.delete(key);
    }
  }

  async #inspectPresent(need: ImageNeed, reference: ImageReference): Promise<Image | undefined> {
    try {
      return await this.#inspect(reference.pullName, need.trace);
    } catch (error) {
      const message = `Failed to inspect image "${need.container.image ?? ''}": ${errorMessage(error)}`;
      this.#deps.recorder.event(need.target, 'Warning', 'InspectFailed', message);
      throw new ImageError('ImageInspectError', message, { cause: error });
    }
  }

  #checkBackOff({ container, target }: ImageNeed, key: string): void {
    const nowMs = this.#deps.clock.nowMs();
    if (!this.#backOff.isInBackoffSinceUpdate(key, nowMs)) return;
    const failure = this.#lastFailures.get(key);
    const message = `Back-off pulling image "${container.image ?? ''}": ${failure?.text ?? ''}`;
    this.#deps.recorder.event(target, 'Normal', 'BackOff', message);
    const retryAfterMs = Math.max(0, (failure?.atMs ?? 0) + this.#backOff.getMs(key) - nowMs);
    throw new ImageError('ImagePullBackOff', message, { retryAfterMs });
  }

  #inspect(name: string, { span }: StepScope): Promise<Image | undefined> {
    const inFlight = this.#statusCalls.get(name);
    if (inFlight !== undefined) return inFlight;
    const imageStatus = async (): Promise<Image | undefined> => {
      try {
        return (await this.#deps.images.imageStatus({ image: { image: name } }, { span })).image;
      } finally {
        this.#statusCalls.delete(name);
      }
    };
    const call = imageStatus();
    this.#statusCalls.set(name, call);
    return call;
  }

  /** The image of a pull. A status call in flight may be older than the pull, and the tag may have moved since. */
  async #pulledImage({ pullName }: ImageReference, { imageRef }: PullResult): Promise<Image | undefined> {
    return (
      (await this.#deps.images.imageStatus({ image: { image: imageRef } })).image ??
      (await this.#deps.images.imageStatus({ image: { image: pullName } })).image
    );
  }

  async #findCredentials(
    reference: ImageReference,
    { pod, pullSecrets }: ImageNeed,
  ): Promise<readonly SourcedCredential[]> {
    const fromSecrets = configsOfSecrets(pullSecrets, (secret, error) =>
      this.#deps.log.warn('pull secret cannot be read', { secret: secret.metadata.name, err: error }),
    );
    const provided = (await this.#deps.credentialProviders?.configsFor(reference, pod)) ?? [];
    try {
      const nodeConfig = await this.#deps.nodeDockerConfig();
      const fromNode = nodeConfig === undefined ? [] : [{ config: parseDockerConfig(nodeConfig) }];
      return credentialsFor(reference, [...fromSecrets, ...fromNode, ...provided]);
    } catch (error) {
      this.#deps.log.warn('docker configuration of the node cannot be read', { err: error });
      return credentialsFor(reference, [...fromSecrets, ...provided]);
    }
  }

  /** Pulls and records the credential that the pull used. */
  async #pullImage({ need, reference, credentials }: Pull): Promise<PullResult & { readonly image: Image }> {
    if (this.#throttle?.tryTake() === false) throw new Error('pull QPS exceeded');
    await this.#deps.verification?.begin(reference).catch((error: unknown) => {
      const imageName = need.container.image ?? '';
      const message = `Failed to record image pull intent for container image "${imageName}": ${errorMessage(error)}`;
      throw new Error(message, { cause: error });
    });
    let tried: readonly SourcedCredential[];
    let result: PullResult;
    try {
      tried = await credentials();
      result = await this.#puller.pull({
        image: reference.pullName,
        credentials: tried.map(({ credential }) => credential),
        signal: need.signal,
        sandboxConfig: need.sandboxConfig,
        span: need.trace.span,
      });
    } catch (error) {
      await this.#deps.verification?.failed(reference);
      throw error;
    }
    // The image is present now: its credential is recorded even if a later step fails.
    const used = result.credential === undefined ? undefined : tried[result.credential];
    let image: Image | undefined;
    try {
      image = await this.#pulledImage(reference, result);
    } finally {
      await this.#deps.verification?.pulled(reference, image?.id ?? result.imageRef, used);
    }
    if (image === undefined) throw new Error(`image ${reference.pullName} was pulled but the runtime does not have it`);
    return { ...result, image };
  }

  async #pull(pull: Pull): Promise<Image> {
    const { need, key } = pull;
    const { target, container } = need;
    const imageName = container.image ?? '';
    this.#deps.recorder.event(target, 'Normal', 'Pulling', `Pulling image "${imageName}"`);
    try {
      const { image, ...result } = await this.#pullImage(pull);
      this.#deps.pulled?.(podUid(need.pod), result.pullMs, image.size);
      const [took, waited] = [goDuration(Math.round(result.pullMs)), goDuration(Math.round(result.waitedMs))];
      this.#deps.recorder.event(
        target,
        'Normal',
        'Pulled',
        `Successfully pulled image "${imageName}" in ${took} (${waited} including waiting). Image size: ${image.size} bytes.`,
      );
      this.#backOff.reset(key);
      this.#lastFailures.delete(key);
      return image;
    } catch (error) {
      need.signal.throwIfAborted();
      const { reason, message } = pullFailure(imageName, error);
      this.#deps.recorder.event(target, 'Warning', 'Failed', `Failed to pull image "${imageName}": ${message}`);
      this.#backOff.next(key, this.#deps.clock.nowMs());
      const errorClass = pullErrorClass(error);
      const atMs = this.#deps.clock.nowMs();
      this.#lastFailures.set(key, { image: imageName, text: `${reason}: ${message}`, atMs, errorClass });
      throw new ImageError(reason, message, { cause: error, retryAfterMs: this.#backOff.getMs(key) });
    }
  }

  #parse(need: ImageNeed): ImageReference {
    const image = need.container.image ?? '';
    try {
      return parseImageReference(image);
    } catch (error) {
      const message = `Failed to apply default image tag "${image}": ${errorMessage(error)}`;
      this.#deps.recorder.event(need.target, 'Warning', 'InspectFailed', message);
      throw new ImageError('InvalidImageName', message, { cause: error });
    }
  }
}
