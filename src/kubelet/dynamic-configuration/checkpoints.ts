/**
 * What a kubelet keeps on disk of configurations it was given through the API: their contents, which one is assigned and
 * which was the last known good one. Upstream (to v1.23): kubeletconfig/checkpoint/store, with the same layout.
 */
import type { ConfigMap, ConfigMapNodeConfigSource } from '../../api/gen/core-v1.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';

/** One version of a ConfigMap, and the key that holds the configuration. */
export type ConfigurationSource = Required<ConfigMapNodeConfigSource>;

/** What a kept source is remembered as. */
export type CheckpointRole = 'assigned' | 'last-known-good';

/** The store. Writes are whole or not there after a crash. */
export interface Checkpoints {
  read(role: CheckpointRole): Promise<ConfigurationSource | undefined>;
  /** `undefined` forgets it: the local configuration takes its place. */
  write(role: CheckpointRole, source: ConfigurationSource | undefined): Promise<void>;
  /** Keeps the contents of a version. Does nothing when they are there already. */
  save(source: ConfigurationSource, map: ConfigMap): Promise<void>;
  /** Where the configuration of a saved version lies. */
  pathOf(source: ConfigurationSource): string;
}

/** Makes the store in a directory, which is created when it is needed. */
export function createCheckpoints(files: Files, directory: string): Checkpoints {
  const store = `${directory}/store`;
  const metaPath = (role: CheckpointRole): string => `${store}/meta/${role}`;
  const folderOf = ({ uid, resourceVersion }: ConfigurationSource): string =>
    `${store}/checkpoints/${uid}/${resourceVersion}`;
  return {
    async read(role) {
      try {
        const text = await files.readText(metaPath(role));
        return text === '' ? undefined : (JSON.parse(text) as ConfigurationSource);
      } catch (error) {
        if (hasErrorCode(error, 'ENOENT')) return undefined;
        throw error;
      }
    },
    async write(role, source) {
      await files.makeDir(`${store}/meta`, { mode: 0o700 });
      await files.writeFileAtomic(metaPath(role), source === undefined ? '' : JSON.stringify(source), { mode: 0o600 });
    },
    async save(source, { data = {} }) {
      const folder = folderOf(source);
      await files.makeDir(folder, { mode: 0o700 });
      for (const [key, text] of Object.entries(data))
        await files.writeFileAtomic(`${folder}/${key}`, text, { mode: 0o600 });
    },
    pathOf: (source) => `${folderOf(source)}/${source.kubeletConfigKey}`,
  };
}

/** Whether both are the same version and key. */
export function isSameSource(a: ConfigurationSource | undefined, b: ConfigurationSource | undefined): boolean {
  return a?.uid === b?.uid && a?.resourceVersion === b?.resourceVersion && a?.kubeletConfigKey === b?.kubeletConfigKey;
}
