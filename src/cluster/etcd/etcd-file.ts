/**
 * The settings of a server's own etcd member, in `<data-dir>/etcd.json`: its presence means that the server runs its
 * own etcd. It also lists the other members as last seen, so that a start finds them.
 */
import { writePrivateJson } from '../instance/private-json.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';

export interface EtcdFile {
  /** The member's name, which is the node's. */
  readonly name: string;
  readonly clientUrl: string;
  readonly peerUrl: string;
  /** Client URLs of the other members, as last seen. */
  readonly others: readonly string[];
  /** The settings of the member's first start; absent until it has been added to an existing cluster. */
  readonly initial?: { readonly cluster: string; readonly state: 'new' | 'existing' };
}

const path = (dataDir: string): string => `${dataDir}/etcd.json`;

/** Reads the file; undefined when the state is in another store. Throws `PreflightError` when it is invalid. */
export async function readEtcdFile(files: Files, dataDir: string): Promise<EtcdFile | undefined> {
  if (!(await files.exists(path(dataDir)))) return undefined;
  try {
    return JSON.parse(await files.readText(path(dataDir))) as EtcdFile;
  } catch (error) {
    throw new PreflightError(`the data directory is broken: ${path(dataDir)}: ${errorMessage(error)}`);
  }
}

/** Writes the file atomically. */
export function writeEtcdFile(files: Files, dataDir: string, file: EtcdFile): Promise<void> {
  return writePrivateJson(files, path(dataDir), file);
}
