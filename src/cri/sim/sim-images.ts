/** Images of the simulated runtime, and its image service. */
import type { Clock } from '../../platform/clock.ts';
import { Lru } from '../../base/lru.ts';
import { fnv64a } from '../../base/fnv.ts';
import { CriError } from '../cri-error.ts';
import type { CriImageService, Image } from '../gen/cri-types.ts';
import { ImagePatterns } from './image-patterns.ts';
import { durationMs, image as describe, isPattern, type SimImage } from './sim-image.ts';

const DEFAULT_SIZE_BYTES = 10_000_000;
/** The user of images without a description, so that a pod with `runAsNonRoot` starts. */
const UNDESCRIBED_IMAGE_UID = 65_532;
/** The mount point of the simulated image file system. */
export const SIM_IMAGE_FS = '/var/lib/containerd';

/** Images by name, described and present. */
export interface SimImageStore {
  readonly service: CriImageService;
  /** Adds or replaces a description, and the image itself unless `present` is false; of a pattern the description alone. */
  add(image: SimImage): void;
  /** The description of a present image by name or id; undefined when it is not there. */
  find(nameOrId: string): SimImage | undefined;
  idOf(image: SimImage): string;
}

/** Cached: every status of a container needs it. */
const imageIds = new Lru<string, string>(200);

function imageId(name: string): string {
  let id = imageIds.get(name);
  if (id === undefined) {
    const part = fnv64a(name).toString(16).padStart(16, '0');
    imageIds.set(name, (id = `sha256:${part.repeat(4)}`));
  }
  return id;
}

function imageOf(image: SimImage): Image {
  const { name, sizeBytes = DEFAULT_SIZE_BYTES, uid, username = '' } = image;
  return {
    id: imageId(name),
    repoTags: [name],
    repoDigests: [],
    size: sizeBytes,
    username,
    pinned: false,
    uid: username !== '' || uid === undefined ? undefined : { value: uid },
  };
}

export function createSimImages(
  deps: { readonly clock: Clock },
  config: { images?: readonly SimImage[]; unknownImages?: 'run' | 'refuse' },
): SimImageStore {
  const imagesByName = new Map<string, SimImage>();
  const patterns = new ImagePatterns();
  /** Names that patterns describe, or nothing does: a pattern that comes later describes them. */
  const derived = new Set<string>();
  const present = new Set<string>();
  const describeAgain = (): void => {
    for (const name of derived) imagesByName.set(name, patterns.find(name) ?? imagesByName.get(name)!);
  };
  const add = (image: SimImage): void => {
    if (isPattern(image.name)) {
      patterns.add(image);
      return describeAgain();
    }
    derived.delete(image.name);
    imagesByName.set(image.name, image);
    if (image.present === false) present.delete(image.name);
    else present.add(image.name);
  };
  for (const image of config.images ?? []) add(image);

  const find = (nameOrId: string): SimImage | undefined => {
    const name = nameOrId.startsWith('sha256:')
      ? [...present].find((candidate) => imageId(candidate) === nameOrId)
      : describe(nameOrId).name;
    return name !== undefined && present.has(name) ? imagesByName.get(name) : undefined;
  };

  const service: CriImageService = {
    async listImages({ filter }) {
      const wanted = filter?.image?.image;
      const images = [...present].map((name) => imageOf(imagesByName.get(name)!));
      return {
        images:
          wanted === undefined || wanted === ''
            ? images
            : images.filter(({ repoTags, id }) => repoTags.includes(wanted) || id === wanted),
      };
    },
    // eslint-disable-next-line require-yield -- the shape of a stream that only fails
    async *streamImages() {
      throw new CriError('Unimplemented', 'method StreamImages not implemented');
    },
    async imageStatus({ image }) {
      const simImage = find(image?.image ?? '');
      return { info: {}, image: simImage && imageOf(simImage) };
    },
    async pullImage({ image }, options) {
      const name = describe(image?.image ?? '').name;
      const known = imagesByName.get(name);
      const described =
        known ??
        patterns.find(name) ??
        (config.unknownImages === 'refuse' ? undefined : describe(name, { uid: UNDESCRIBED_IMAGE_UID }));
      await deps.clock.sleep(durationMs(described?.pull?.after), options?.signal);
      if (described === undefined)
        throw new CriError(
          'NotFound',
          `failed to pull and unpack image "${name}": failed to resolve reference "${name}": ${name}: not found`,
        );
      if (described.pull?.error !== undefined) throw new CriError('Unknown', described.pull.error);
      if (known === undefined) derived.add(name);
      imagesByName.set(name, described);
      present.add(name);
      return { imageRef: imageId(name) };
    },
    async removeImage({ image }) {
      const simImage = find(image?.image ?? '');
      if (simImage !== undefined) present.delete(simImage.name);
      return {};
    },
    async imageFsInfo() {
      const used = [...present].reduce(
        (sum, name) => sum + (imagesByName.get(name)!.sizeBytes ?? DEFAULT_SIZE_BYTES),
        0,
      );
      const usage = {
        timestampMs: deps.clock.nowMs(),
        fsId: { mountpoint: SIM_IMAGE_FS },
        usedBytes: { value: used },
        inodesUsed: { value: present.size * 1000 },
      };
      return { imageFilesystems: [usage], containerFilesystems: [] };
    },
  };
  return { service, add, find, idOf: (image) => imageId(image.name) };
}
