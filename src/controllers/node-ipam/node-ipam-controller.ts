/**
 * Allocates pod CIDRs to nodes. Upstream: pkg/controller/nodeipam with the range allocator.
 *
 * Watches: nodes. Writes alone: spec.podCIDR(s) of nodes that have none. One worker, so that allocations do not race.
 * Invariant: the ranges of existing nodes are marked as used before anything is allocated, also after a restart.
 */
import { Nodes } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { CidrSet } from './cidr-set.ts';

const ACCOUNT = 'node-controller';
const NAME = 'node-ipam-controller';

/** Does nothing without cluster CIDRs. Throws on invalid ranges. */
export function createNodeIpamController(deps: ControllerDeps): Controller {
  const { clusterCidrs = [], nodeCidrMaskSizeIpv4 = 24, nodeCidrMaskSizeIpv6 = 64, serviceCidrs = [] } = deps.config;
  if (clusterCidrs.length === 0) return { name: NAME, start: () => Promise.resolve() };
  const sets = clusterCidrs.map(
    (cidr) => new CidrSet(cidr, { ipv4: nodeCidrMaskSizeIpv4, ipv6: nodeCidrMaskSizeIpv6 }, deps.platform.metrics),
  );
  for (const set of sets) for (const cidr of serviceCidrs) set.occupy(cidr);
  const client = deps.clientFor(ACCOUNT).resource(Nodes);
  const recorder = deps.recorderFor('cidrAllocator');
  const nodes = deps.informers.informer(Nodes);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'cidrallocator_node',
    workers: 1,
    informers: informerList(nodes),
    sync: allocateOrOccupyCidr,
  });

  async function allocateOrOccupyCidr(name: string, signal: AbortSignal): Promise<void> {
    const node = nodes.get({ name });
    if (node === undefined || (node.spec?.podCIDRs ?? []).length > 0) return;
    const allocated = sets.map((set) => set.allocate());
    if (allocated.includes(undefined)) {
      allocated.forEach((cidr, index) => cidr !== undefined && sets[index]?.release(cidr));
      note(node, 'CIDRNotAvailable');
      throw new Error(`no CIDR left for node ${name} in ${clusterCidrs.join(',')}`);
    }
    const podCIDRs = allocated as string[];
    try {
      const patch = { metadata: { uid: node.metadata.uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } };
      await client.patch({ name }, { type: 'strategic', patch }, { signal });
    } catch (error) {
      // A refused write used nothing; after a time-out the ranges may be in use, which the node's next event shows.
      if (!isReason(error, 'Timeout', 'ServerTimeout')) podCIDRs.forEach((cidr, index) => sets[index]?.release(cidr));
      if (isReason(error, 'NotFound')) return;
      note(node, 'CIDRAssignmentFailed');
      throw error;
    }
  }
  function note(node: Node, status: 'CIDRAssignmentFailed' | 'CIDRNotAvailable'): void {
    recorder.event(node, 'Normal', status, `Node ${node.metadata.name} status is now: ${status}`);
  }
  function occupy(node: Node): void {
    for (const cidr of node.spec?.podCIDRs ?? []) for (const set of sets) set.occupy(cidr);
  }

  nodes.addHandler({
    onAdd(node) {
      occupy(node);
      loop.queue.add(node.metadata.name);
    },
    onUpdate(old, node) {
      if ((old.spec?.podCIDRs ?? []).join() !== (node.spec?.podCIDRs ?? []).join()) occupy(node);
      if ((node.spec?.podCIDRs ?? []).length === 0) loop.queue.add(node.metadata.name);
    },
    onDelete(node) {
      for (const cidr of node.spec?.podCIDRs ?? []) for (const set of sets) set.release(cidr);
      for (const other of nodes.list()) occupy(other);
      for (const cidr of serviceCidrs) for (const set of sets) set.occupy(cidr);
    },
  });
  return loop;
}
