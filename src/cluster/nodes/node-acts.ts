/** What a user's command does to one further node, with or without a control plane that runs. */
import type { NodeAction } from './node-actions.ts';
import type { NamespaceNode } from './namespace-node.ts';
import type { NodeRecords } from './node-records.ts';

export interface ActedNode {
  readonly node: NamespaceNode;
  readonly records: NodeRecords;
  /** Starts it, once it is no longer recorded as stopped; resolves to the line about it. */
  readonly start: () => Promise<string>;
}

/** Resolves to the line about it. */
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

/** The record says it too: the cable is as the user wants it however often the node is made again. */
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
