/** Paths of the in-memory file system, taken apart. Paths that are asked for often are remembered. */

/** The path of the first `count` parts. */
export function pathOf(parts: readonly string[], count: number): string {
  return `/${parts.slice(0, count).join('/')}`;
}

/** Where a link at `path` points. */
export function resolveLink(path: string, target: string): string {
  return target.startsWith('/') ? target : `${path.slice(0, path.lastIndexOf('/'))}/${target}`;
}

/** Paths that are looked up are few and come again and again: this many are remembered in their parts. Most are written once. */
const KNOWN_PATHS = 4096;

const recentPaths = new Map<string, readonly string[]>();

export function knownParts(path: string): readonly string[] {
  let parts = recentPaths.get(path);
  if (parts === undefined) {
    parts = partsOf(path);
    if (recentPaths.size >= KNOWN_PATHS) recentPaths.clear();
    recentPaths.set(path, parts);
  }
  return parts;
}

export function partsOf(path: string): string[] {
  if (!path.startsWith('/')) throw new TypeError(`not an absolute path: ${path}`);
  const all = path.split('/');
  all.shift();
  if (!all.some(isUnusual)) return all;
  const parts: string[] = [];
  for (const part of all) {
    if (part === '..') parts.pop();
    else if (!isUnusual(part)) parts.push(part);
  }
  return parts;
}

/** Names that are none: empty ones, `.` and `..`. */
function isUnusual(part: string): boolean {
  return part === '' || part === '.' || part === '..';
}
