/**
 * Gives a volume's files to the pod's fsGroup. Upstream: pkg/volume/volume_linux.go.
 *
 * Links are left alone: their targets may lie outside the volume.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { Exec } from '../../platform/exec.ts';
import type { Files } from '../../platform/files.ts';

const writableMask = 0o660;
const readOnlyMask = 0o440;
const directoryMask = 0o2110;

/** What to hand over to whom. */
export interface OwnershipRequest {
  readonly files: Files;
  readonly path: string;
  readonly fsGroup: number | undefined;
  readonly readOnly: boolean;
  /** `OnRootMismatch` leaves the volume alone when its root is right already. Default `Always`. */
  readonly policy?: string;
}

/** The pod's fsGroup and policy. */
export function fsGroupOf(pod: Pod): { fsGroup: number | undefined; policy: string | undefined } {
  const context = pod.spec?.securityContext;
  const fsGroup = context?.fsGroup === undefined ? undefined : Number(context.fsGroup);
  return { fsGroup, policy: context?.fsGroupChangePolicy };
}

/** Sets group and group permissions of everything below `path`, itself included. Without a group it does nothing. */
export async function setVolumeOwnership(request: OwnershipRequest): Promise<void> {
  const { files, path, fsGroup, policy } = request;
  if (fsGroup === undefined) return;
  if (policy === 'OnRootMismatch' && (await rootIsRight(request, fsGroup))) return;
  const mask = request.readOnly ? readOnlyMask : writableMask;
  await changeBelow(files, path, { fsGroup, mask, length: path.length });
}

async function rootIsRight(request: OwnershipRequest, fsGroup: number): Promise<boolean> {
  const stat = await request.files.lstat(request.path);
  const wanted = (request.readOnly ? readOnlyMask : writableMask) | directoryMask;
  return stat.gid === fsGroup && (stat.mode & wanted) === wanted;
}

/** PATH_MAX: upstream's walk ends there too. It also bounds how many directories are open at once. */
const maxPathLength = 4096;

interface Change {
  readonly fsGroup: number;
  readonly mask: number;
  /** Length of the path from the host's root. */
  readonly length: number;
}

/**
 * The root comes last, so that a walk that broke off is seen as such by `OnRootMismatch`. Containers may rename and link
 * meanwhile: each file is opened once, without following a link, and only what was opened is changed. The owner stays.
 */
async function changeBelow(files: Files, path: string, to: Change): Promise<void> {
  if (to.length > maxPathLength) throw new Error(`a path below the volume has more than ${maxPathLength} characters`);
  const opened = await files.openPath(path).catch(unlessGone);
  if (opened === undefined) return;
  try {
    const { kind, gid, mode } = await opened.stat();
    if (kind === 'symlink') return;
    const isDirectory = kind === 'directory';
    for (const name of isDirectory ? await files.readDir(opened.path) : [])
      await changeBelow(files, `${opened.path}/${name}`, { ...to, length: to.length + 1 + Buffer.byteLength(name) });
    if (gid !== to.fsGroup) await files.chown(opened.path, -1, to.fsGroup);
    // A change of group clears set-group-id bits, so the mode is set after it, always.
    await files.chmod(opened.path, mode | to.mask | (isDirectory ? directoryMask : 0));
  } finally {
    await opened.close();
  }
}

function unlessGone(error: unknown): undefined {
  if (hasErrorCode(error, 'ENOENT')) return undefined;
  throw error;
}

const programDeadlineMs = 600_000;

/**
 * The same by programs with a deadline, for file systems a call into which may never return. Rejects with what the
 * program said.
 */
export async function setVolumeOwnershipByProgram(exec: Exec, request: Omit<OwnershipRequest, 'files'>): Promise<void> {
  const { path, fsGroup, policy, readOnly } = request;
  if (fsGroup === undefined) return;
  const run = async (file: string, args: readonly string[]): Promise<string> => {
    const result = await exec.run(file, args, { timeoutMs: programDeadlineMs, env: { LC_ALL: 'C' } });
    if (result.timedOut) throw new Error(`${file} ${path} took longer than ${programDeadlineMs / 1000} s`);
    if (result.exitCode !== 0) throw new Error(`${file} failed: ${result.stderr.trim()}`);
    return result.stdout.trim();
  };
  const bits = readOnly ? 'ug+r' : 'ug+rw';
  if (policy === 'OnRootMismatch') {
    const [gid, mode] = (await run('stat', ['--format=%g %a', '--', path])).split(' ');
    const wanted = (readOnly ? readOnlyMask : writableMask) | directoryMask;
    if (Number(gid) === fsGroup && (Number.parseInt(mode ?? '0', 8) & wanted) === wanted) return;
  }
  // Depth first: the root comes last. In the file's directory, so that no parent that became a link leads elsewhere.
  await run('find', [path, '-depth', '!', '-type', 'l', '-execdir', 'chgrp', '-h', String(fsGroup), '{}', '+']);
  await run('find', [path, '-depth', '!', '-type', 'l', '!', '-type', 'd', '-execdir', 'chmod', bits, '{}', '+']);
  await run('find', [path, '-depth', '-type', 'd', '-execdir', 'chmod', `${bits},ug+x,g+s`, '{}', '+']);
}
