/**
 * Gives a file tree to a group, through a file port. Upstream: pkg/volume/volume_linux.go.
 *
 * Containers may rename and link files at the same time: each file is opened once, without following links, and only
 * the open file is changed. Links are skipped: their targets may be outside the tree. Owners are kept.
 */
import { ignoreMissingFile } from '../base/errors.ts';
import type { Files } from './files.ts';

const WRITABLE_MASK = 0o660;
const READ_ONLY_MASK = 0o440;
const DIRECTORY_MASK = 0o2110;

/** A file tree, and the group to give it to. */
export interface GroupOrder {
  readonly path: string;
  readonly gid: number;
  /** Whether the group gets no write permission. */
  readonly readOnly: boolean;
  /** Whether the tree is skipped when its root is correct already. */
  readonly onlyIfRootDiffers: boolean;
}

/** Sets group and group permissions of everything below the path, itself included. */
export async function changeGroup(files: Files, order: GroupOrder): Promise<void> {
  if (order.onlyIfRootDiffers && (await rootIsRight(files, order))) return;
  const mask = order.readOnly ? READ_ONLY_MASK : WRITABLE_MASK;
  await changeBelow(files, order.path, { gid: order.gid, mask, length: order.path.length });
}

async function rootIsRight(files: Files, { path, gid, readOnly }: GroupOrder): Promise<boolean> {
  const stat = await files.lstat(path);
  const wanted = (readOnly ? READ_ONLY_MASK : WRITABLE_MASK) | DIRECTORY_MASK;
  return stat.gid === gid && (stat.mode & wanted) === wanted;
}

/** PATH_MAX, which ends upstream's walk too. Also bounds the number of open directories. */
const MAX_PATH_LENGTH = 4096;

interface Change {
  readonly gid: number;
  readonly mask: number;
  /** The length of the path from the host's root. */
  readonly length: number;
}

/** The root comes last, so that `onlyIfRootDiffers` notices an interrupted walk. */
async function changeBelow(files: Files, path: string, to: Change): Promise<void> {
  if (to.length > MAX_PATH_LENGTH)
    throw new Error(`a path below the volume has more than ${MAX_PATH_LENGTH} characters`);
  const opened = await files.openPath(path).catch(ignoreMissingFile);
  if (opened === undefined) return;
  try {
    const { kind, gid, mode } = await opened.stat();
    if (kind === 'symlink') return;
    const isDirectory = kind === 'directory';
    for (const name of isDirectory ? await files.readDir(opened.path) : [])
      await changeBelow(files, `${opened.path}/${name}`, { ...to, length: to.length + 1 + Buffer.byteLength(name) });
    if (gid !== to.gid) await files.chown(opened.path, -1, to.gid);
    // A change of group clears set-group-id bits, so the mode is always set after it.
    await files.chmod(opened.path, mode | to.mask | (isDirectory ? DIRECTORY_MASK : 0));
  } finally {
    await opened.close();
  }
}
