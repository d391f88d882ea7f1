/**
 * The settings that an instance decides at its first start and keeps: ranges, node name, port. Stored in
 * `<data-dir>/instance.json`; later starts may not contradict those that pods or objects depend on.
 */
import { writePrivateJson } from './private-json.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { PreflightError } from '../preflight-error.ts';
import type { FlannelBackend } from './instance.ts';

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
  /** Kept by agents: the setting of their cluster. */
  readonly dns?: 'keelson' | 'none';
  /** That of the last start. */
  readonly flannelBackend?: FlannelBackend | undefined;
  /** Kept by agents: the URLs of the cluster's servers. */
  readonly servers?: readonly string[];
}

const path = (dataDir: string): string => `${dataDir}/instance.json`;

/** Whether the directory has no settings yet. */
export async function isFirstStart(files: Pick<Files, 'exists'>, dataDir: string): Promise<boolean> {
  return !(await files.exists(path(dataDir)));
}

/** Reads the file; undefined at the first start. Throws `PreflightError` when it is invalid. */
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

/** Writes the file atomically. */
export function writeInstanceFile(files: Files, dataDir: string, file: InstanceFile): Promise<void> {
  return writePrivateJson(files, path(dataDir), file);
}

const DEFAULTS: Partial<Record<string, string>> = { cni: 'keelson' };

/** Refuses options that contradict the kept settings. */
export function checkAgainst(
  file: InstanceFile,
  requested: {
    clusterCidr?: string;
    serviceCidr?: string;
    clusterDomain: string;
    nodeName: string;
    cni?: 'keelson' | 'none';
  },
  dataDir: string,
): void {
  const differing = (['clusterCidr', 'serviceCidr', 'clusterDomain', 'nodeName', 'cni'] as const).find(
    (k) => requested[k] !== undefined && requested[k] !== (file[k] ?? DEFAULTS[k]),
  );
  if (differing === undefined) return;
  const flag = `--${differing.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
  throw new PreflightError(
    `this cluster was made with ${flag} ${file[differing] ?? DEFAULTS[differing]}; it cannot become ${requested[differing]} (keelson down --delete-data --data-dir ${dataDir} starts afresh)`,
  );
}
