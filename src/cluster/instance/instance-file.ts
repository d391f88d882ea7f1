/**
 * What an instance decided at its first start and must keep: ranges, node name, port. Kept in `<data-dir>/instance.json`;
 * later starts may not contradict it where pods or objects depend on it.
 */
import { errorMessage } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';

export interface InstanceFile {
  readonly format: 1;
  readonly nodeName: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  readonly clusterDomain: string;
  readonly httpsPort: number;
  readonly kubeletPort: number;
  readonly containerRuntimeEndpoint?: string;
  readonly cni?: 'keelson' | 'none';
  /** Kept by agents: what their cluster has. */
  readonly dns?: 'keelson' | 'none';
  /** Set on a machine that joined another's cluster: where its servers are. */
  readonly servers?: readonly string[];
}

const path = (dataDir: string): string => `${dataDir}/instance.json`;

/** Whether nothing has been decided in this directory yet. */
export async function isFirstStart(files: Pick<Files, 'exists'>, dataDir: string): Promise<boolean> {
  return !(await files.exists(path(dataDir)));
}

/** Reads it; undefined at the first start. Throws `PreflightError` when it is broken. */
export async function readInstanceFile(files: Files, dataDir: string): Promise<InstanceFile | undefined> {
  let text: string;
  try {
    text = await files.readText(path(dataDir));
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === 'ENOENT') return undefined;
    throw new PreflightError(`cannot read ${path(dataDir)}: ${errorMessage(error)}`);
  }
  try {
    const file = JSON.parse(text) as InstanceFile;
    if (file.format !== 1 || typeof file.clusterCidr !== 'string') throw new Error('it has another format');
    return file;
  } catch (error) {
    throw new PreflightError(`the data directory is broken: ${path(dataDir)}: ${errorMessage(error)}`);
  }
}

/** Writes it, whole or not at all. */
export function writeInstanceFile(files: Files, dataDir: string, file: InstanceFile): Promise<void> {
  return files.writeFileAtomic(path(dataDir), `${JSON.stringify(file, undefined, 2)}\n`, { mode: 0o600 });
}

const DEFAULTS: Partial<Record<string, string>> = { cni: 'keelson' };

/** Refuses choices that contradict what the instance was made with. */
export function checkAgainst(
  file: InstanceFile,
  asked: {
    clusterCidr?: string;
    serviceCidr?: string;
    clusterDomain: string;
    nodeName: string;
    cni?: 'keelson' | 'none';
  },
  dataDir: string,
): void {
  const differing = (['clusterCidr', 'serviceCidr', 'clusterDomain', 'nodeName', 'cni'] as const).find(
    (k) => asked[k] !== undefined && asked[k] !== (file[k] ?? DEFAULTS[k]),
  );
  if (differing === undefined) return;
  const flag = `--${differing.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
  throw new PreflightError(
    `this cluster was made with ${flag} ${file[differing] ?? DEFAULTS[differing]}; it cannot become ${asked[differing]} (keelson down --delete-data --data-dir ${dataDir} starts afresh)`,
  );
}
