/** Names of images as CRI knows them: `app` is `docker.io/library/app:latest`. Upstream: distribution/reference. Pure. */

/** The whole name; undefined for an invalid one. */
export function normalizeImageName(text: string): string | undefined {
  const [name = '', digest] = text.split('@');
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const isHost = first.includes('.') || first.includes(':') || first === 'localhost';
  const host = isHost ? first : 'docker.io';
  const rest = isHost ? name.slice(slash + 1) : name;
  const colon = rest.lastIndexOf(':');
  const path = colon < 0 ? rest : rest.slice(0, colon);
  const tag = colon < 0 ? undefined : rest.slice(colon + 1);
  if (!/^[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/.test(path) || text.length > 512)
    return undefined;
  if (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag)) return undefined;
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest)) return undefined;
  const full = `${host === 'index.docker.io' ? 'docker.io' : host}/${host === 'docker.io' && !path.includes('/') ? 'library/' : ''}${path}`;
  if (digest !== undefined) return `${full}${tag === undefined ? '' : `:${tag}`}@${digest}`;
  return `${full}:${tag ?? 'latest'}`;
}

/** The reason why an archive cannot be loaded. */
export class ImageArchiveError extends Error {
  override readonly name = 'ImageArchiveError';
}

/** The whole name. Throws `ImageArchiveError` on invalid input. */
export function wholeName(text: string): string {
  const name = normalizeImageName(text);
  if (name === undefined) throw new ImageArchiveError(`${JSON.stringify(text)} is no name of an image`);
  return name;
}

/** Refuses a name for an archive with several images, since it would only be the last one's. */
export function refuseNameOfSeveral(names: readonly string[] | undefined, images: number): void {
  if (names !== undefined && images > 1)
    throw new ImageArchiveError('it holds several images: they keep their names, leave --image out');
}
