/** The images of this machine's runtime, for `keelson image` and the `images/` folder. */
import { createCriClient } from '../../cri/cri-client.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import type { CriImageService, CriRuntimeService, Image } from '../../cri/gen/cri-types.ts';
import { wholeName } from '../../cri/images/image-name.ts';
import { loadArchive, type LoadOutcome } from '../../cri/images/load-archive.ts';
import { openContentClient } from '../../cri/images/content-client.ts';
import { isGrpcCode } from '../../grpc/grpc-error.ts';
import type { Platform } from '../../platform/platform.ts';

type Deps = Pick<Platform, 'clock' | 'host' | 'random' | 'log'>;

/** The runtime has images, but no API to import them. */
export class NoImageServiceError extends Error {
  override readonly name = 'NoImageServiceError';
}

export interface LoadOptions {
  /** For an archive whose image has no name. */
  readonly name?: string | undefined;
  /** The kubelet does not remove it when the disk runs low. */
  readonly pinned?: boolean;
}

const SEEN_TIMEOUT_MS = 10_000;
const SEEN_PERIOD_MS = 10;

export interface Images {
  /** Loads an archive; resolves when pods can use its images. */
  load(chunks: AsyncIterable<Uint8Array>, options?: LoadOptions): Promise<LoadOutcome>;
  list(): Promise<readonly Image[]>;
  /** False when there is no image with this name or id. */
  remove(text: string): Promise<boolean>;
  /** Pulls the image as a pod without pull secrets would; resolves to its id. */
  pull(text: string): Promise<string>;
  /** Removes images that are unused and not pinned; resolves to them. */
  prune(): Promise<readonly Image[]>;
}

export class MachineImages implements Images {
  readonly #deps: Deps;
  readonly #socketPath: string;
  readonly #images: CriImageService;
  readonly #runtime: CriRuntimeService;

  /** `endpoint`: the runtime's socket, with or without `unix://`. */
  constructor(deps: Deps, endpoint: string) {
    this.#deps = deps;
    this.#socketPath = endpoint.replace(/^unix:\/\//, '');
    const { images, runtime } = createCriClient(deps, { endpoint: this.#socketPath });
    this.#images = images;
    this.#runtime = runtime;
  }

  async load(chunks: AsyncIterable<Uint8Array>, options: LoadOptions = {}): Promise<LoadOutcome> {
    const { clock, host, random } = this.#deps;
    const suffix = Buffer.from(random.bytes(6)).toString('hex');
    const content = await openContentClient(clock, this.#socketPath, suffix).catch((error: unknown) => {
      if (isGrpcCode(error, 'Unimplemented'))
        throw new NoImageServiceError(
          `the runtime on ${this.#socketPath} is not containerd: push to a registry, or use its own tools`,
        );
      throw error;
    });
    try {
      const outcome = await loadArchive(chunks, {
        content,
        architecture: (await host.info()).architecture,
        ...options,
      });
      for (const image of outcome.images) await this.#seen(image.name);
      return outcome;
    } finally {
      await content.close();
    }
  }

  async list(): Promise<readonly Image[]> {
    return (await this.#images.listImages({})).images;
  }

  async remove(text: string): Promise<boolean> {
    const image = (await this.#status(text)) ?? (await this.#byId(text));
    if (image === undefined) return false;
    await this.#images.removeImage({ image: { image: image.id } });
    return true;
  }

  async pull(text: string): Promise<string> {
    return (await this.#images.pullImage({ image: { image: wholeName(text) } }, { timeoutMs: 0 })).imageRef;
  }

  /** containerd 1.6 does not report pinned images. */
  async prune(): Promise<readonly Image[]> {
    const { containers } = await this.#runtime.listContainers({});
    const own = await import('../../cri/pause-image.ts');
    const used = new Set(containers.flatMap(({ imageRef, image, imageId }) => [imageRef, image?.image ?? '', imageId]));
    const unused = (await this.list()).filter(
      ({ id, pinned, repoTags, repoDigests }) =>
        !pinned &&
        !repoTags.includes(own.PAUSE_IMAGE_NAME) &&
        ![id, ...repoTags, ...repoDigests].some((name) => used.has(name)),
    );
    for (const { id } of unused) await this.#images.removeImage({ image: { image: id } });
    return unused;
  }

  async #status(text: string): Promise<Image | undefined> {
    try {
      return (await this.#images.imageStatus({ image: { image: text } })).image;
    } catch (error) {
      if (isCriCode(error, 'NotFound') || isCriCode(error, 'InvalidArgument')) return undefined;
      throw error;
    }
  }

  /** By a prefix of the id, as in Docker's commands. */
  async #byId(text: string): Promise<Image | undefined> {
    if (!/^[0-9a-f]{6,64}$/.test(text)) return undefined;
    const found = (await this.list()).filter(({ id }) => id.replace('sha256:', '').startsWith(text));
    return found.length === 1 ? found[0] : undefined;
  }

  /** Waits until CRI lists the image, which it learns by an event. */
  async #seen(name: string): Promise<void> {
    const { clock } = this.#deps;
    const deadlineMs = clock.monotonicMs() + SEEN_TIMEOUT_MS;
    while ((await this.#status(name)) === undefined) {
      if (clock.monotonicMs() > deadlineMs) throw new Error(`${name} was loaded, but the runtime does not list it`);
      await clock.sleep(SEEN_PERIOD_MS);
    }
  }
}
