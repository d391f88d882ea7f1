/**
 * Gives a volume's files to the pod's fsGroup. Upstream: pkg/volume/volume_linux.go.
 *
 * Links are left alone: their targets may lie outside the volume.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
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
  return { fsGroup: context?.fsGroup, policy: context?.fsGroupChangePolicy };
}

/** Sets group and group permissions of everything below `path`, itself included. Without a group it does nothing. */
export async function setVolumeOwnership(request: OwnershipRequest): Promise<void> {
  const { files, path, fsGroup, policy } = request;
  if (fsGroup === undefined) return;
  if (policy === 'OnRootMismatch' && (await rootIsRight(request, fsGroup))) return;
  await changeBelow(files, path, { fsGroup, mask: request.readOnly ? readOnlyMask : writableMask });
}

async function rootIsRight(request: OwnershipRequest, fsGroup: number): Promise<boolean> {
  const stat = await request.files.lstat(request.path);
  const wanted = (request.readOnly ? readOnlyMask : writableMask) | directoryMask;
  return stat.gid === fsGroup && (stat.mode & wanted) === wanted;
}

/** The root comes last, so that a walk that broke off is seen as such by `OnRootMismatch`. */
async function changeBelow(
  files: Files,
  path: string,
  to: { readonly fsGroup: number; readonly mask: number },
): Promise<void> {
  const stat = await files.lstat(path);
  if (stat.kind === 'symlink') return;
  const isDirectory = stat.kind === 'directory';
  if (isDirectory) for (const name of await files.readDir(path)) await changeBelow(files, `${path}/${name}`, to);
  if (stat.gid !== to.fsGroup) await files.chown(path, stat.uid, to.fsGroup);
  const mode = stat.mode | to.mask | (isDirectory ? directoryMask : 0);
  // A change of group clears set-group-id bits, so the mode is set after it, always.
  await files.chmod(path, mode);
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
  // Depth first: the root comes last.
  await run('find', [path, '-depth', '!', '-type', 'l', '-exec', 'chgrp', '-h', String(fsGroup), '{}', '+']);
  await run('find', [path, '-depth', '!', '-type', 'l', '!', '-type', 'd', '-exec', 'chmod', bits, '{}', '+']);
  await run('find', [path, '-depth', '-type', 'd', '-exec', 'chmod', `${bits},ug+x,g+s`, '{}', '+']);
}
