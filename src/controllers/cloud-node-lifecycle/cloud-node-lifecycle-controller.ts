/**
 * Deletes nodes that are not ready and whose machines are gone, and taints nodes whose machines are shut down; the
 * pod garbage collector removes the pods of a deleted node. Upstream: cloud-provider/controllers/nodelifecycle.
 *
 * Watches: nodes. Writes: nodes' deletion and the taint `node.cloudprovider.kubernetes.io/shutdown`. A ready node is
 * never checked, and a failed call of the cloud changes nothing. Without a cloud the controller does nothing.
 */
import type { Node, Taint } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Stored } from '../../api/object.ts';
import { hasTaint, isNodeReady, sameTaint } from '../../component-helpers/nodes.ts';
import { informerList, runPeriodically, type Controller, type ControllerDeps } from '../controller.ts';
import type { CloudNodes } from './cloud-nodes.ts';

const ACCOUNT = 'node-controller';
const NAME = 'cloud-node-lifecycle-controller';
const MONITOR_PERIOD_MS = 5000;
const SHUTDOWN: Taint = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' };

export function createCloudNodeLifecycleController(deps: ControllerDeps): Controller {
  const { cloudNodes, nodeMonitorPeriodMs = MONITOR_PERIOD_MS } = deps.config;
  if (cloudNodes === undefined) return { name: NAME, start: () => Promise.resolve() };
  const nodes = deps.informers.informer(Nodes);
  const monitor = createMonitor(deps, cloudNodes);
  const log = deps.platform.log.child(NAME);
  async function round(signal: AbortSignal): Promise<void> {
    for (const node of nodes.list()) {
      try {
        await monitor(node, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!isReason(error, 'NotFound', 'Conflict'))
          log.warn('checking a node with the cloud failed', { node: node.metadata.name, err: error });
      }
    }
  }
  return {
    name: NAME,
    async start(signal) {
      const informers = informerList(nodes);
      await runPeriodically(deps, { name: NAME, periodMs: nodeMonitorPeriodMs, informers, round }, signal);
    },
  };
}

function createMonitor(
  deps: ControllerDeps,
  cloud: CloudNodes,
): (node: Stored<Node>, signal: AbortSignal) => Promise<void> {
  const client = deps.clientFor(ACCOUNT).resource(Nodes);
  const recorder = deps.recorderFor(NAME);
  const setTaint = async (node: Stored<Node>, present: boolean, signal: AbortSignal): Promise<void> => {
    if (hasTaint(node, SHUTDOWN) === present) return;
    const others = (node.spec?.taints ?? []).filter((taint) => !sameTaint(taint, SHUTDOWN));
    const taints = present ? [...others, SHUTDOWN] : others;
    const { name, resourceVersion } = node.metadata;
    const patch = { metadata: { resourceVersion }, spec: { taints: taints.length === 0 ? null : taints } };
    await client.patch({ name }, { type: 'merge', patch }, { signal });
  };
  return async (node, signal) => {
    if (isNodeReady(node)) return setTaint(node, false, signal);
    const state = await cloud.stateOf(node, signal);
    if (state !== 'gone') return state === 'off' ? setTaint(node, true, signal) : undefined;
    const { name, uid } = node.metadata;
    const text = `Deleting node ${name} because it does not exist in the cloud provider`;
    recorder.event(node, 'Normal', 'DeletingNode', text);
    await client.delete({ name }, { preconditions: { uid }, signal });
  };
}
