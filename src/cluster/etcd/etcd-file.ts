/**
 * What a server's own etcd member was made as, kept in `<data-dir>/etcd.json`: its presence says that the cluster's state
 * is in an etcd this server runs itself. The members last seen are kept too, so that a start finds the others.
 */
import { errorMessage } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';

export interface EtcdFile {
  /** The member's name: the node's. */
  readonly name: string;
  readonly clientUrl: string;
  readonly peerUrl: string;
  /** Client URLs of the other members, as last seen. */
  readonly others: readonly string[];
  /** What the member is first started with; absent until it has been added to the others' cluster. */
  readonly initial?: { readonly cluster: string; readonly state: 'new' | 'existing' };
}

const path = (dataDir: string): string => `${dataDir}/etcd.json`;

/** Reads it; undefined where the state is elsewhere. Throws `PreflightError` when it is broken. */
export async function readEtcdFile(files: Files, dataDir: string): Promise<EtcdFile | undefined> {
  if (!(await files.exists(path(dataDir)))) return undefined;
  try {
    return JSON.parse(await files.readText(path(dataDir))) as EtcdFile;
  } catch (error) {
    throw new PreflightError(`the data directory is broken: ${path(dataDir)}: ${errorMessage(error)}`);
  }
}

/** Writes it, whole or not at all. */
export function writeEtcdFile(files: Files, dataDir: string, file: EtcdFile): Promise<void> {
  return files.writeFileAtomic(path(dataDir), `${JSON.stringify(file, undefined, 2)}\n`, { mode: 0o600 });
}
