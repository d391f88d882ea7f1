/**
 * Writes a payload into a volume's directory with the pod's ownership: the last step of every volume with live
 * content.
 */
import { writeAtomically, type Payload } from './atomic-writer.ts';
import { fsGroupOf, setVolumeOwnership } from './volume-ownership.ts';
import type { SetUpRequest, SetUpResult, VolumePluginDeps } from './volume-plugin.ts';

/**
 * Creates the directory and writes what changed; the volume is then read-only for containers. The pod's group may
 * read files, but not write them.
 */
export async function writeContent(
  request: SetUpRequest,
  payload: Payload,
  deps: VolumePluginDeps,
): Promise<SetUpResult> {
  const { files, clock, random } = deps.platform;
  const { dir, pod } = request;
  const { fsGroup } = fsGroupOf(pod);
  const own = (path: string): Promise<void> => setVolumeOwnership({ files, path, fsGroup, readOnly: true });
  await files.makeDir(dir, { mode: 0o777 });
  const changed = await writeAtomically({
    files,
    targetDir: dir,
    payload,
    nowMs: clock.nowMs(),
    suffix: String(random.int(1_000_000_000)).padStart(9, '0'),
    setPermissions: own,
  });
  if (changed && fsGroup !== undefined) await own(dir);
  return { hostPath: dir, readOnly: true, selinuxRelabel: true };
}
