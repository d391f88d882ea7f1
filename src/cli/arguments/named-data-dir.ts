/** The data directory of a named cluster. Names of two clusters are refused, as is starting a cluster as the other kind. */
import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { UserError } from '../usage-error.ts';
import { checkClusterName, defaultDataDir } from './cluster-name.ts';
import { readSettings } from './settings-file.ts';

/** The kind of cluster in a directory; undefined where there was none, or a simulated one of a version that did not record it. */
type Kind = 'real' | 'simulated' | undefined;

/** How a cluster is about to be started. */
export interface StartKind {
  readonly simulate: boolean;
}

/** For a command that gives no `--data-dir`. `start` is absent where nothing is started. Throws `UserError`. */
export async function namedDataDir(name: string, start: StartKind | undefined): Promise<string> {
  const named = await clustersNamed(name);
  const fitting =
    start === undefined ? named : named.filter((dir) => kindOf(dir) !== (start.simulate ? 'real' : 'simulated'));
  if (fitting.length > 1)
    throw new UserError(`--name: several clusters are named ${name}: give the --data-dir: ${fitting.join(' or ')}`, 2);
  const dataDir = fitting[0] ?? defaultDataDir(name, start?.simulate);
  if (start !== undefined) refuseTaken(name, named, dataDir);
  return dataDir;
}

/** Refuses to give the cluster of a data directory the name of another one. Throws `UserError`. */
export async function checkNameIsFree(name: string, dataDir: string): Promise<void> {
  refuseTaken(name, await clustersNamed(name), resolve(dataDir));
}

/** Refuses to start one kind of cluster on what the other left. Throws `UserError`. */
export function checkKind(dataDir: string, { simulate }: StartKind): void {
  const kind = kindOf(resolve(dataDir));
  if (simulate && kind === 'real')
    throw new UserError(`--simulate: ${dataDir} is of a real cluster: give another --data-dir or --name`, 2);
  if (!simulate && kind === 'simulated')
    throw new UserError(
      `${dataDir} is of a simulated cluster: add --simulate, or give another --data-dir or --name`,
      2,
    );
}

/** Real clusters write `instance.json` first. */
function kindOf(dataDir: string): Kind {
  if (existsSync(`${dataDir}/instance.json`)) return 'real';
  return readSettings(dataDir).simulated === true ? 'simulated' : undefined;
}

/** The directories of the machine's clusters of this name, each once. */
async function clustersNamed(name: string): Promise<readonly string[]> {
  checkClusterName(name);
  const { machineClusters } = await import('../machine-clusters.ts');
  const named = (await machineClusters()).filter((cluster) => cluster.name === name);
  return [...new Map(named.toReversed().map(({ dataDir }) => [realpathSync(dataDir), dataDir])).values()].toReversed();
}

function refuseTaken(name: string, named: readonly string[], dataDir: string): void {
  const own = existsSync(dataDir) ? realpathSync(dataDir) : dataDir;
  if (named.length === 0 || named.some((dir) => realpathSync(dir) === own)) return;
  throw new UserError(`--name: ${name} is the cluster in ${named.join(' and ')}: give this one another --name`, 2);
}
