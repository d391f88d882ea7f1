/** Performs a user's action on one further node, whether or not a control plane runs. */
import type { NodeAction } from './node-actions.ts';
import type { NamespaceNode } from './namespace-node.ts';
import type { NodeRecords } from './node-records.ts';

export interface ActedNode {
  readonly node: NamespaceNode;
  readonly records: NodeRecords;
  /** Starts the node after its record says so; resolves to a line about it. */
  readonly start: () => Promise<string>;
}

/** Resolves to a line about what was done. */
export async function actOn(action: NodeAction, acted: ActedNode): Promise<string> {
  const { node, records, start } = acted;
  const { name } = node.place;
  const isStopped = records.entry(name)?.stopped === true;
  if (action === 'partition' || action === 'heal') return connect(acted, action === 'heal');
  if (action === 'start') {
    if (!isStopped && (await node.isAlive())) return `${name} runs already`;
    await records.mark(name, { stopped: undefined });
    return start();
  }
  if (isStopped) return `${name} is stopped already`;
  await records.mark(name, { stopped: true });
  if (action === 'kill') await node.kill();
  else await node.stop();
  return `${name} was ${action === 'kill' ? 'killed' : 'stopped'}`;
}

/** The state is recorded too, so that recreating the node keeps it connected or partitioned. */
async function connect({ node, records }: ActedNode, connected: boolean): Promise<string> {
  const { name } = node.place;
  const isAlive = await node.isAlive();
  const isRecorded = (records.entry(name)?.partitioned !== true) === connected;
  if (isRecorded && (!isAlive || (await node.isConnected()) === connected))
    return `${name} is ${connected ? 'connected' : 'partitioned'} already`;
  await records.mark(name, { partitioned: connected ? undefined : true });
  await node.setConnected(connected);
  if (!isAlive) return `${name} does not run; it will be ${connected ? 'connected' : 'cut off'} when it starts`;
  return connected ? `${name} is connected again` : `${name} is cut off from all others`;
}
