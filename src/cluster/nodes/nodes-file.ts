/**
 * The further nodes of a cluster on this machine: `<data-dir>/nodes.json` records their names, numbers and network,
 * so that a later start creates the same nodes. Also computes what derives from the record. The machine itself is
 * node 1.
 */
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import { formatIp, nthAddress, parseCidr } from '../../base/cidr.ts';
import type { Files } from '../../platform/files.ts';
import type { Instance } from '../instance/instance.ts';
import { PreflightError } from '../preflight-error.ts';

export interface NodesFile {
  readonly format: 1;
  /** The range of the bridge; its first address is the machine's. */
  readonly network: string;
  readonly nodes: readonly NodeEntry[];
  /** Nodes that a start with fewer nodes removed, until nothing is left of them, including their objects. */
  readonly removed?: readonly NodeEntry[] | undefined;
}

export interface NodeEntry {
  readonly name: string;
  /** 2 or more. The node has the address with this number in the network. */
  readonly number: number;
  /** The user stopped the node: starts of the cluster leave it stopped. */
  readonly stopped?: true | undefined;
  /** The user partitioned the node: it stays so until `heal`, also across restarts. */
  readonly partitioned?: true | undefined;
  /** The node was Ready once: later starts do not wait for it. */
  readonly joined?: true | undefined;
}

/** A node's address, directories and names. */
export interface NodeLocation {
  readonly name: string;
  readonly dataDir: string;
  readonly address: string;
  /** The machine's end of the node's veth pair. */
  readonly device: string;
  /** The folder, in the cluster's run directory, of the records of the node's processes. */
  readonly recordDir: string;
}

/** The path of the record; it does not exist for a cluster that never had further nodes. */
export const nodesFile = (dataDir: string): string => `${dataDir}/nodes.json`;

/** The bridge that connects the nodes with the machine. */
export function nodeBridge({ hash }: Pick<Instance, 'hash'>): string {
  return `kn${hash}`;
}

/** Undefined for a cluster that never had further nodes. Throws `PreflightError` for a broken record. */
export async function readNodesFile(files: Pick<Files, 'readText'>, dataDir: string): Promise<NodesFile | undefined> {
  let text: string;
  try {
    text = await files.readText(nodesFile(dataDir));
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw new PreflightError(`cannot read ${nodesFile(dataDir)}: ${errorMessage(error)}`);
  }
  try {
    const file = JSON.parse(text) as NodesFile;
    const hasForm = file.format === 1 && parseCidr(file.network) !== undefined && Array.isArray(file.nodes);
    if (!hasForm) throw new Error('it has another format');
    return file;
  } catch (error) {
    throw new PreflightError(`the data directory is broken: ${nodesFile(dataDir)}: ${errorMessage(error)}`);
  }
}

export function writeNodesFile(files: Files, dataDir: string, file: NodesFile): Promise<void> {
  return files.writeFileAtomic(nodesFile(dataDir), `${JSON.stringify(file, undefined, 2)}\n`, { mode: 0o600 });
}

/** The entries of `count` - 1 further nodes, the existing ones unchanged. Pure. */
export function entriesFor(
  count: number,
  firstName: string,
  nodeEntries: readonly NodeEntry[] = [],
): readonly NodeEntry[] {
  const wanted = Array.from({ length: count - 1 }, (_, at) => at + 2);
  return wanted.map(
    (number) => nodeEntries.find((entry) => entry.number === number) ?? { name: `${firstName}-${number}`, number },
  );
}

export function nodeLocation(
  { dataDir, runDir, hash }: Pick<Instance, 'dataDir' | 'runDir' | 'hash'>,
  network: string,
  { name, number }: NodeEntry,
): NodeLocation {
  return {
    name,
    dataDir: `${dataDir}/nodes/${name}`,
    address: addressIn(network, number),
    device: `${nodeBridge({ hash })}-${number}`,
    recordDir: `${runDir}/nodes/${name}`,
  };
}

/** The n-th address of the network; the first is the machine's. */
export function addressIn(network: string, number: number): string {
  const range = parseCidr(network);
  const address = range && nthAddress(range, number);
  if (address === undefined) throw new Error(`${network} has no address ${number}`);
  return formatIp(address);
}
