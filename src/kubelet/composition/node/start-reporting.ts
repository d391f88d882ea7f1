/** The start of what reports to the API server: node status, lease and pod statuses. */
import { background } from '../../../platform/unexpected.ts';
import { runLeaseController } from '../../node-status/lease-controller.ts';
import type { KubeletSubjects } from '../subjects.ts';

export function startReporting(
  { context, node, status }: Pick<KubeletSubjects, 'context' | 'node' | 'status'>,
  signal: AbortSignal,
): void {
  const { deps, config, nodeRef } = context;
  const { nodeStatus } = node;
  nodeStatus.start(signal);
  // Upstream's BirthCry.
  deps.recorder.event(nodeRef, 'Normal', 'Starting', 'Starting kubelet.');
  background(
    deps.platform.log,
    'a part of the kubelet broke off',
    runLeaseController(
      { platform: deps.platform, client: deps.heartbeatClient ?? deps.client, node: () => nodeStatus.node() },
      { nodeName: config.nodeName, leaseDurationSeconds: config.nodeLeaseDurationSeconds },
      signal,
    ),
  );
  status.statusManager.start(signal);
}
