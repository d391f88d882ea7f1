/**
 * Joins paths below a directory so that neither `..` nor symbolic links lead out of it; at the root both stay at the
 * root. Upstream: filepath-securejoin's SecureJoin.
 */
import { hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';

/** As many symbolic links as Linux follows. */
const MAX_LINKS = 40;

/**
 * The path below `root` with all links resolved; a part that does not exist is joined as it is. @throws Error for a
 * loop of links, and for directories that cannot be read
 */
export async function joinBelow(files: Pick<Files, 'lstat' | 'readLink'>, root: string, path: string): Promise<string> {
  const segments: string[] = [];
  const ahead = path.split('/');
  for (let links = 0; ahead.length > 0;) {
    const name = ahead.shift()!;
    if (name === '' || name === '.') continue;
    if (name === '..') {
      segments.pop();
      continue;
    }
    const here = [root, ...segments, name].join('/');
    const target = await linkAt(files, here);
    if (target === undefined) {
      segments.push(name);
      continue;
    }
    if (++links > MAX_LINKS) throw new Error(`securejoin ${here}: too many levels of symbolic links`);
    if (target.startsWith('/')) segments.length = 0;
    ahead.unshift(...target.split('/'));
  }
  return [root, ...segments].join('/');
}

async function linkAt(files: Pick<Files, 'lstat' | 'readLink'>, path: string): Promise<string | undefined> {
  try {
    return (await files.lstat(path)).kind === 'symlink' ? await files.readLink(path) : undefined;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
