/**
 * User namespaces of pods with `hostUsers: false`: each pod gets its own range of the host's ids. Upstream:
 * pkg/kubelet/userns. Differs: ranges always begin at 65536; /etc/subuid is not read.
 *
 * A pod's range is stored in the file `userns` of its directory and is removed with it.
 */
import { podUid } from '../types/pod-update.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { IDMapping, UserNamespace } from '../../cri/gen/cri-types.ts';
import type { Files } from '../../platform/files.ts';
import { podDir, type RuntimePaths } from './paths.ts';

/** Lower ids belong to the host. */
const FIRST_ID = 65_536;
const LAST_ID = 2 ** 32 - 2;

export interface UserNamespacesDeps {
  readonly files: Files;
  readonly paths: RuntimePaths;
  readonly idsPerPod: number;
  /** Whether the runtime's handler supports user namespaces. */
  readonly supported: (handler: string) => boolean;
}

export interface UserNamespaces {
  /**
   * The pod's mappings, allocated at the first call; undefined: it uses the host's. Rejects when the runtime does not
   * support them.
   */
  of(pod: Pod, handler: string): Promise<UserNamespace | undefined>;
  forgetPod(uid: string): void;
}

interface UserNamespaceFile {
  readonly uidMappings: readonly IDMapping[];
  readonly gidMappings: readonly IDMapping[];
}

/** Ranges of earlier runs are read at the first call. */
export function createUserNamespaces(deps: UserNamespacesDeps): UserNamespaces {
  const { files, paths, idsPerPod } = deps;
  const ranges = new Map<string, number>();
  const mutex = new KeyedMutex();
  let loaded = false;
  const fileOf = (uid: string): string => `${podDir(paths, uid)}/userns`;

  async function load(): Promise<void> {
    if (loaded) return;
    const pods = `${paths.rootDir}/pods`;
    for (const uid of (await files.exists(pods)) ? await files.readDir(pods) : []) {
      if (!(await files.exists(fileOf(uid)))) continue;
      const { uidMappings } = JSON.parse(await files.readText(fileOf(uid))) as UserNamespaceFile;
      if (uidMappings[0] !== undefined) ranges.set(uid, uidMappings[0].hostId);
    }
    loaded = true;
  }

  function freeRange(): number {
    const taken = new Set(ranges.values());
    for (let first = FIRST_ID; first + idsPerPod - 1 <= LAST_ID; first += idsPerPod)
      if (!taken.has(first)) return first;
    throw new Error('could not find an empty slot to allocate a user namespace');
  }

  return {
    async of(pod, handler) {
      if (pod.spec?.hostUsers !== false) return undefined;
      if (!deps.supported(handler)) throw new Error(unsupportedMessage(handler));
      const uid = podUid(pod);
      return mutex.run('ranges', async () => {
        await load();
        const existing = ranges.get(uid);
        const hostId = existing ?? freeRange();
        const mapping = { hostId, containerId: 0, length: idsPerPod };
        if (existing === undefined) {
          ranges.set(uid, hostId);
          const userNamespaceFile: UserNamespaceFile = { uidMappings: [mapping], gidMappings: [mapping] };
          await files.makeDir(podDir(paths, uid), { mode: 0o750 });
          await files.writeFileAtomic(fileOf(uid), JSON.stringify(userNamespaceFile), { mode: 0o644 });
        }
        return { mode: 'POD', uids: [mapping], gids: [mapping] };
      });
    },
    forgetPod: (uid) => ranges.delete(uid),
  };
}

function unsupportedMessage(handler: string): string {
  const who = handler === '' ? 'runtime does' : `RuntimeClass handler ${JSON.stringify(handler)} does`;
  return `can't set \`spec.hostUsers: false\`, ${who} not support user namespaces`;
}
