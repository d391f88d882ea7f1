/**
 * Settings of a cluster that later starts reuse by default: `<data-dir>/settings.json`, flags by name. Those that
 * pods and objects depend on are in `instance.json` too, which the cluster itself checks.
 */
import { readFileSync } from 'node:fs';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { UserError } from '../usage-error.ts';

/** Remembered flags that a later start may change. The cluster refuses a change of the others, with the reason. */
export const CHANGEABLE_FLAGS = [
  'name',
  'https-port',
  'store',
  'nodes',
  'flannel-backend',
  'dns',
  'gateway',
  'gateway-http-port',
  'gateway-https-port',
  'load-balancer',
  'local-path',
  'metrics',
  'console',
  'write-kubeconfig',
  'snapshot-dir',
] as const;

/** Flags that are remembered, without dashes. */
export const REMEMBERED_FLAGS = [
  ...CHANGEABLE_FLAGS,
  'etcd-cafile',
  'etcd-certfile',
  'etcd-keyfile',
  'cluster-cidr',
  'service-cidr',
  'cluster-domain',
  'node-name',
  'cni',
] as const;

/** Values by flag. */
export interface Settings extends Partial<Readonly<Record<(typeof REMEMBERED_FLAGS)[number], string | undefined>>> {
  /** The user's kubeconfig with the cluster's context, which `down` removes. */
  readonly 'kubeconfig-file'?: string | undefined;
  /** Whether its nodes are simulated. Absent for real clusters. */
  readonly simulated?: true | undefined;
  /** The scenario file that `--record` writes. */
  readonly 'record-file'?: string | undefined;
  /** Whether it has run without `--record`, so that no scenario is complete. */
  readonly 'ran-unrecorded'?: true | undefined;
  /** Parts that `keelson addons` has enabled or disabled since the last start. */
  readonly 'changed-parts'?: readonly string[] | undefined;
  /** The version of Keelson that ran last. */
  readonly version?: string;
}

const fileOf = (dataDir: string): string => `${dataDir}/settings.json`;

/** The settings in the data directory; empty where there are none. Throws `UserError` for a broken file. */
export function readSettings(dataDir: string): Settings {
  const own = readObject(fileOf(dataDir));
  if (own !== undefined) return own;
  // A directory of a version that remembered ports and ranges alone.
  const { httpsPort, clusterDomain, nodeName } = readObject(`${dataDir}/instance.json`) ?? {};
  return {
    'https-port': typeof httpsPort === 'number' && httpsPort > 0 ? String(httpsPort) : undefined,
    'cluster-domain': typeof clusterDomain === 'string' ? clusterDomain : undefined,
    'node-name': typeof nodeName === 'string' ? nodeName : undefined,
  };
}

function readObject(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value !== 'object' || value === null) throw new Error('it is no object');
    return value as Record<string, unknown>;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined;
    throw new UserError(`the data directory is broken: ${path}: ${errorMessage(error)}`);
  }
}

/** Writes the file, whole or not at all, when its content changes. */
export async function writeSettings(files: Files, dataDir: string, settings: Settings): Promise<void> {
  const text = `${JSON.stringify(settings, undefined, 2)}\n`;
  const before = await files.readText(fileOf(dataDir)).catch(() => undefined);
  if (before !== text) await files.writeFileAtomic(fileOf(dataDir), text, { mode: 0o600 });
}
