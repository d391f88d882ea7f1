/**
 * Settles the range of the network between this machine's nodes: the cluster's recorded one while nothing else uses
 * it; otherwise the first candidate that no route, no address and no other cluster of this machine uses, stopped
 * clusters included.
 */
import type { Platform } from '../../platform/platform.ts';
import { foreignRoutes } from '../instance/preflight.ts';
import { ownDevices } from '../instance/prepare-instance.ts';
import type { Instance } from '../instance/instance.ts';
import { claimNodesNetwork, type TakenRange } from '../instance/range-claims.ts';
import { readInstanceFile } from '../instance/instance-file.ts';
import { PreflightError } from '../preflight-error.ts';
import { checkNetwork, chooseNetwork, overlapping, type OtherRange } from './choose-network.ts';
import { hasDevice } from './node-network.ts';
import { nodeBridge, readNodesFile } from './nodes-file.ts';

type Deps = Pick<Platform, 'clock' | 'crypto' | 'exec' | 'files' | 'log' | 'net'>;

export interface NetworkChoice {
  readonly instance: Instance;
  /** The network that this start's flags ask for. */
  readonly wanted: string | undefined;
  /** The recorded network. */
  readonly kept: string | undefined;
  /** The data directories of this machine's clusters; may include this cluster's. */
  readonly clusters: () => Promise<readonly string[]>;
}

/** Throws `PreflightError` where no range is free or the user's is in use. */
export async function ensureNodesNetwork(deps: Deps, choice: NetworkChoice): Promise<string> {
  const { instance, kept } = choice;
  // Nodes run, or ran until now, on a network that is in use: a later route takes nothing from them.
  const isInUse = kept !== undefined && (await hasDevice(deps, nodeBridge(instance)));
  return claimNodesNetwork(deps, instance, async (claimed) => {
    const { wanted } = choice;
    if (isInUse && (wanted ?? kept) === kept) return kept;
    const others = [...claimed, ...(await othersOf(deps, choice))];
    if (wanted !== undefined) {
      checkNetwork(wanted, others);
      return wanted;
    }
    if (kept !== undefined && overlapping(kept, others) === undefined) return kept;
    return chooseFreeNetwork(deps, kept, others);
  });
}

function chooseFreeNetwork({ log }: Deps, kept: string | undefined, others: readonly OtherRange[]): string {
  const network = chooseNetwork(others);
  if (network === undefined)
    throw new PreflightError(
      '--nodes: every range that could connect its nodes is routed by this machine or another cluster has it; choose one with --nodes-network',
    );
  const other = kept === undefined ? undefined : overlapping(kept, others);
  if (other !== undefined)
    log.warn('The nodes of this machine get another network: something else has come to have theirs', {
      network,
      before: kept,
      other: other.device,
    });
  return network;
}

/** The ranges of the cluster itself, of the machine and of its other clusters. */
async function othersOf(deps: Deps, { instance, clusters }: NetworkChoice): Promise<readonly OtherRange[]> {
  const { clusterCidr, serviceCidr, dataDir, hash } = instance;
  const routes = await foreignRoutes(deps.exec, ownDevices(deps, dataDir));
  const addresses = deps.net.interfaces().filter(({ name, family }) => family === 4 && !name.includes(hash));
  const stopped = await Promise.all(
    (await clusters()).filter((other) => other !== dataDir).map((other) => rangesIn(deps, other)),
  );
  return [
    { cidr: clusterCidr, device: 'this cluster' },
    { cidr: serviceCidr, device: 'this cluster' },
    ...addresses.map(({ address, name }) => ({ cidr: `${address}/32`, device: name })),
    ...routes.map((route) => ({ ...route, isRoute: true })),
    ...stopped.flat(),
  ];
}

/** The ranges that a stopped cluster will use at its next start. A cluster with broken records does not start. */
async function rangesIn({ files }: Deps, dataDir: string): Promise<readonly TakenRange[]> {
  const file = await readInstanceFile(files, dataDir).catch(() => undefined);
  const nodes = await readNodesFile(files, dataDir).catch(() => undefined);
  const ranges = [file?.clusterCidr, file?.serviceCidr, nodes?.network];
  return ranges.flatMap((cidr) => (cidr === undefined ? [] : { cidr, device: `the cluster in ${dataDir}` }));
}
