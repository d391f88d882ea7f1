/**
 * Claims that are or were being prepared on this node, kept in `dra_manager_state` in the kubelet's directory:
 * whatever was prepared must be unprepared, even after a restart of the kubelet. Upstream: pkg/kubelet/cm/dra/state.
 * Differs: the file's format.
 */
import { firstByName } from '../../base/first-by.ts';
import { fnv32a } from '../../base/fnv.ts';
import type { Files } from '../../platform/files.ts';
import type { DraClaim, DraDevice } from './dra-api.ts';

export interface ClaimInfo extends DraClaim {
  readonly podUids: readonly string[];
  /** Every driver has prepared the claim since this kubelet started; the machine may have rebooted before. */
  readonly prepared: boolean;
  /** Devices by driver; empty for a driver that has not answered yet. */
  readonly drivers: Readonly<Record<string, readonly DraDevice[]>>;
}

export interface ClaimInfos {
  /** Reads the state of an earlier run. Rejects when it is damaged. */
  load(): Promise<void>;
  get(uid: string): ClaimInfo | undefined;
  all(): readonly ClaimInfo[];
  /** The claims of a pod by name; they are in its namespace. */
  ofPod(podUid: string): ReadonlyMap<string, ClaimInfo>;
  /** Writes the file once for all of them; not at all for none. */
  set(infos: readonly ClaimInfo[]): Promise<void>;
  remove(uids: readonly string[]): Promise<void>;
}

/** A claim store that is kept in a file. */
export function createClaimInfos(files: Files, path: string): ClaimInfos {
  const infos = new Map<string, ClaimInfo>();
  /** The claims of the pod that was asked for last: each of its containers asks. */
  let last: { readonly podUid: string; readonly claims: ReadonlyMap<string, ClaimInfo> } | undefined;
  let saving: Promise<void> = Promise.resolve();
  const save = (): Promise<void> =>
    (saving = saving
      .catch(() => undefined)
      .then(() => {
        const claims = [...infos.values()];
        const text = JSON.stringify({ claims, checksum: fnv32a(JSON.stringify(claims)) });
        return files.writeFileAtomic(path, text, { mode: 0o600 });
      }));
  return {
    async load() {
      if (!(await files.exists(path))) return;
      const { claims, checksum } = JSON.parse(await files.readText(path)) as { claims: ClaimInfo[]; checksum: number };
      if (checksum !== fnv32a(JSON.stringify(claims))) throw new Error(`checkpoint is corrupted: ${path}`);
      for (const claim of claims) infos.set(claim.uid, { ...claim, prepared: false });
    },
    get: (uid) => infos.get(uid),
    all: () => [...infos.values()],
    ofPod(podUid) {
      if (last?.podUid !== podUid) {
        const own = [...infos.values()].filter(({ podUids }) => podUids.includes(podUid));
        last = { podUid, claims: firstByName(own) };
      }
      return last.claims;
    },
    async set(changed) {
      last = undefined;
      for (const info of changed) infos.set(info.uid, info);
      if (changed.length > 0) await save();
    },
    async remove(uids) {
      last = undefined;
      for (const uid of uids) infos.delete(uid);
      if (uids.length > 0) await save();
    },
  };
}
