/** Adds a cluster's context to the user's kubeconfig after a start, and removes it in `keelson down`. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { errorMessage } from '../../base/errors.ts';
import { UserError } from '../usage-error.ts';
import { mergeCluster, removeCluster, type KubeconfigEntry } from './merge.ts';
import { changeKubeconfig } from './user-file.ts';

export interface KubeconfigTarget {
  readonly file: string;
  /** Default 0600. */
  readonly mode?: number | undefined;
}

/** The cluster of a data directory, by its own kubeconfig. Throws `UserError` where there is none. */
export function ownEntry(dataDir: string): KubeconfigEntry {
  const path = `${dataDir}/admin.kubeconfig`;
  if (!existsSync(path)) throw new UserError(`no cluster: ${path} is not there`);
  const config = parse(readFileSync(path, 'utf8')) as {
    clusters: { cluster: object }[];
    users: { user: object }[];
    'current-context': string;
  };
  return {
    name: config['current-context'],
    dataDir,
    cluster: config.clusters[0]!.cluster,
    user: config.users[0]!.user,
  };
}

/** Merges it; resolves to the context's name. Rejects with the reason why the file was not changed. */
export async function publishKubeconfig(dataDir: string, { file, mode }: KubeconfigTarget): Promise<string> {
  const entry = ownEntry(dataDir);
  await changeKubeconfig(resolve(file), (text) => mergeCluster(text, entry, (dir) => !existsSync(dir)), mode);
  return entry.name;
}

/** Removes the cluster's entries from the file. Resolves to the problem, if there is one. */
export async function withdrawKubeconfig(dataDir: string, file: string): Promise<string | undefined> {
  if (!existsSync(file)) return undefined;
  try {
    await changeKubeconfig(file, (text) => removeCluster(text, dataDir), undefined);
    return undefined;
  } catch (error) {
    return `${file} still has its context: ${errorMessage(error)}`;
  }
}
