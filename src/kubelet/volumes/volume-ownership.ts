/** Sets the group of a volume's files to the pod's fsGroup. Upstream: pkg/volume/volume_linux.go. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Files } from '../../platform/files.ts';
import { type GroupOrder, changeGroup } from '../../platform/change-group.ts';
import type { Platform } from '../../platform/platform.ts';
import { mayHang, mountOf } from './host-path-check.ts';

/** The path and the group. */
export interface OwnershipRequest {
  readonly path: string;
  readonly fsGroup: number | undefined;
  readonly readOnly: boolean;
  /** `OnRootMismatch` changes nothing when the volume's root is already right. Default `Always`. */
  readonly policy?: string | undefined;
}

/** The pod's fsGroup and policy. */
export function fsGroupOf(pod: Pod): { fsGroup: number | undefined; policy: string | undefined } {
  const context = pod.spec?.securityContext;
  const fsGroup = context?.fsGroup === undefined ? undefined : Number(context.fsGroup);
  return { fsGroup, policy: context?.fsGroupChangePolicy };
}

/** Sets group and group permissions of `path` and everything below it. Without a group it does nothing. */
export async function setVolumeOwnership(request: OwnershipRequest & { readonly files: Files }): Promise<void> {
  const order = orderOf(request);
  if (order !== undefined) await changeGroup(request.files, order);
}

function orderOf({ path, fsGroup, readOnly, policy }: OwnershipRequest): GroupOrder | undefined {
  if (fsGroup === undefined) return undefined;
  return { path, gid: fsGroup, readOnly, onlyIfRootDiffers: policy === 'OnRootMismatch' };
}

/** The same for a driver's mount: by a program where the file system may hang. */
export async function setMountOwnership(
  { files, exec, mounter }: Pick<Platform, 'files' | 'exec' | 'mounter'>,
  request: OwnershipRequest,
): Promise<void> {
  if (request.fsGroup === undefined) return;
  const mount = mountOf(await mounter.list(), request.path);
  if (mount !== undefined && mayHang(mount.type)) await setVolumeOwnershipByProgram(exec, request);
  else await setVolumeOwnership({ ...request, files });
}

const PROGRAM_DEADLINE_MS = 600_000;

/** The same by a program with a deadline. Rejects with the program's output. */
export async function setVolumeOwnershipByProgram(exec: Platform['exec'], request: OwnershipRequest): Promise<void> {
  const order = orderOf(request);
  if (order === undefined) return;
  const [file, ...args] = exec.ownProgram('change-group');
  const result = await exec.run(file, [...args, JSON.stringify(order)], { timeoutMs: PROGRAM_DEADLINE_MS });
  const what = `giving ${order.path} to group ${order.gid}`;
  if (result.timedOut) throw new Error(`${what} took longer than ${PROGRAM_DEADLINE_MS / 1000} s`);
  if (result.exitCode !== 0) throw new Error(`${what} failed: ${result.stderr.trim()}`);
}
