/** Image names: `[host[:port]/]path[:tag][@digest]`. Upstream: pkg/util/parsers, distribution/reference. */

export interface ImageReference {
  /** Registry host with port; `docker.io` by default. */
  readonly registry: string;
  /** The path in the registry, with `library/` before the names of Docker's official images. */
  readonly path: string;
  readonly tag?: string;
  readonly digest?: string;
  /** The name to pull, with `:latest` when it has neither tag nor digest. */
  readonly pullName: string;
}

const COMPONENT = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const HOST =
  '(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?';
const pattern = new RegExp(
  `^(?:(${HOST})/)?(${COMPONENT}(?:/${COMPONENT})*)(?::(\\w[\\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
);
const MAX_NAME_CHARS = 255;

class InvalidImageNameError extends Error {
  constructor(image: string, why: string) {
    super(`couldn't parse image name "${image}": ${why}`);
    this.name = 'InvalidImageNameError';
  }
}

/** Throws InvalidImageNameError. */
export function parseImageReference(image: string): ImageReference {
  if (/^[a-f0-9]{64}$/.test(image))
    throw new InvalidImageNameError(image, 'invalid repository name, cannot specify 64-byte hexadecimal strings');
  const match = pattern.exec(image);
  if (match === null) {
    const upper = pattern.test(image.toLowerCase());
    throw new InvalidImageNameError(image, upper ? 'repository name must be lowercase' : 'invalid reference format');
  }
  let [, registry, path = ''] = match;
  const [, , , tag, digest] = match;
  // `library/nginx` has no host: a host contains a dot or a port, or is localhost.
  if (
    registry !== undefined &&
    !/[.:]/.test(registry) &&
    registry !== 'localhost' &&
    registry.toLowerCase() === registry
  ) {
    path = `${registry}/${path}`;
    registry = undefined;
  }
  const docker = registry === undefined || registry === 'docker.io' || registry === 'index.docker.io';
  if (path.length > MAX_NAME_CHARS)
    throw new InvalidImageNameError(image, 'repository name must not be more than 255 characters');
  return {
    registry: docker ? 'docker.io' : registry!,
    path: docker && !path.includes('/') ? `library/${path}` : path,
    tag,
    digest,
    pullName: tag === undefined && digest === undefined ? `${image}:latest` : image,
  };
}
