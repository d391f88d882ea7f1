/**
 * The further nodes of a cluster on this machine: `<data-dir>/nodes.json` has their names, numbers and network, so that a later
 * start makes the same nodes again. What is derived from them is here too. The machine itself is node 1.
 */
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import { formatIp, nthAddress, parseCidr } from '../../base/cidr.ts';
import type { Files } from '../../platform/files.ts';
import type { Instance } from '../instance/instance.ts';
import { PreflightError } from '../preflight-error.ts';

export interface NodesFile {
  readonly format: 1;
  /** The range of the bridge that all nodes of the machine share: its first address is the machine's. */
  readonly network: string;
  readonly nodes: readonly NodeEntry[];
  /** A start with fewer nodes took them away; they stand here until nothing of them is left, their objects included. */
  readonly removed?: readonly NodeEntry[] | undefined;
}

export interface NodeEntry {
  readonly name: string;
  /** From 2 on; the node's address is this one of the network. */
  readonly number: number;
  /** The user stopped it: a start of the cluster leaves it so. */
  readonly stopped?: true | undefined;
  /** The user pulled its cable: it is out until `heal`, whatever is started again meanwhile. */
  readonly partitioned?: true | undefined;
  /** It has been Ready once: from then on no start of the cluster depends on it. */
  readonly joined?: true | undefined;
}

/** Where a node is and how its things are called. */
export interface NodePlace {
  readonly name: string;
  readonly dataDir: string;
  readonly address: string;
  /** The machine's end of its cable. */
  readonly device: string;
  /** In the run directory of the cluster: records of the processes that make the node. */
  readonly recordDir: string;
}

/** Where the record of further nodes is; absent for a cluster that never had any. */
export const nodesFile = (dataDir: string): string => `${dataDir}/nodes.json`;

/** The device that connects the nodes with the machine. */
export function nodeBridge({ hash }: Pick<Instance, 'hash'>): string {
  return `kn${hash}`;
}

/** Undefined for a cluster that never had further nodes. Throws `PreflightError` when it is broken. */
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

/** As many nodes as wanted beside the machine itself: those that are there, and new ones after them. Pure. */
export function entriesFor(count: number, firstName: string, kept: readonly NodeEntry[] = []): readonly NodeEntry[] {
  const wanted = Array.from({ length: count - 1 }, (_, at) => at + 2);
  return wanted.map(
    (number) => kept.find((entry) => entry.number === number) ?? { name: `${firstName}-${number}`, number },
  );
}

export function nodePlace(
  { dataDir, runDir, hash }: Pick<Instance, 'dataDir' | 'runDir' | 'hash'>,
  network: string,
  { name, number }: NodeEntry,
): NodePlace {
  return {
    name,
    dataDir: `${dataDir}/nodes/${name}`,
    address: addressIn(network, number),
    device: `${nodeBridge({ hash })}-${number}`,
    recordDir: `${runDir}/nodes/${name}`,
  };
}

/** The n-th address of the network; the machine has the first. */
export function addressIn(network: string, number: number): string {
  const range = parseCidr(network);
  const address = range && nthAddress(range, number);
  if (address === undefined) throw new Error(`${network} has no address ${number}`);
  return formatIp(address);
}
