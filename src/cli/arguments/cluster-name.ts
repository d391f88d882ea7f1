/** The names of clusters: `--name dev` stands for a data directory, and names the cluster in kubeconfigs. Pure. */
import { basename, join } from 'node:path';
import { homedir } from 'node:os';
import { UserError } from '../usage-error.ts';

/** Default data directory of root's clusters. */
export const DEFAULT_DATA_DIR = '/var/lib/keelson';

const DEFAULT_NAME = basename(DEFAULT_DATA_DIR);
/** The prefix of simulated clusters' directories, which no name may have: two clusters would share a directory. */
const SIMULATED = 'simulated';
const MAX_LENGTH = 40;

/** Refuses what cannot be a context's and a directory's name. Throws `UserError` with exit code 2. */
export function checkClusterName(name: string): string {
  if (name.length > MAX_LENGTH || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name))
    throw new UserError(
      `--name: ${name} must consist of at most ${MAX_LENGTH} lower case letters, digits and '-', and start and end with a letter or digit`,
      2,
    );
  if (name === SIMULATED || name.startsWith(`${SIMULATED}-`))
    throw new UserError(`--name: names that begin with ${SIMULATED} are of simulated clusters' directories`, 2);
  return name;
}

/** The default data directory of a cluster of this name. Simulated clusters have directories of their own. */
export function defaultDataDir(name: string = DEFAULT_NAME, simulated = false): string {
  const suffix = name === DEFAULT_NAME ? '' : `-${name}`;
  if (!simulated) return `${DEFAULT_DATA_DIR}${suffix}`;
  const base = process.getuid?.() === 0 ? DEFAULT_DATA_DIR : join(homedir(), '.local/share', DEFAULT_NAME);
  return `${base}-${SIMULATED}${suffix}`;
}

/** The default name of a cluster, from its directory. */
export function nameOfDataDir(dataDir: string): string {
  const cleaned = basename(dataDir)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replaceAll(/^-+|-+$/g, '');
  return cleaned === '' ? DEFAULT_NAME : cleaned;
}
