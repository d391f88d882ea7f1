/**
 * The files of a kubelet's dynamic configurations: their contents, the assigned one and the last known good one.
 * Upstream (to v1.23): kubeletconfig/checkpoint/store, with the same layout.
 */
import type { ConfigMap, ConfigMapNodeConfigSource } from '../../api/gen/core-v1.ts';
import { ignoreMissingFile } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';

/** One version of a ConfigMap, and the key that holds the configuration. */
export type ConfigurationSource = Required<ConfigMapNodeConfigSource>;

/** The role of a stored source. */
export type CheckpointRole = 'assigned' | 'last-known-good';

/** The store. A write is complete or absent after a crash. */
export interface Checkpoints {
  read(role: CheckpointRole): Promise<ConfigurationSource | undefined>;
  /** `undefined` removes it: the local configuration is used instead. */
  write(role: CheckpointRole, source: ConfigurationSource | undefined): Promise<void>;
  /** Stores the contents of a version. Does nothing when they are stored already. */
  save(source: ConfigurationSource, map: ConfigMap): Promise<void>;
  /** Where the configuration of a saved version lies. */
  pathOf(source: ConfigurationSource): string;
}

/** The directory is created at the first write. */
export function createCheckpoints(files: Files, directory: string): Checkpoints {
  const store = `${directory}/store`;
  const metaPath = (role: CheckpointRole): string => `${store}/meta/${role}`;
  const folderOf = ({ uid, resourceVersion }: ConfigurationSource): string =>
    `${store}/checkpoints/${uid}/${resourceVersion}`;
  return {
    async read(role) {
      const text = (await files.readText(metaPath(role)).catch(ignoreMissingFile)) ?? '';
      return text === '' ? undefined : (JSON.parse(text) as ConfigurationSource);
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
