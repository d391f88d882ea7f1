import { Nodes } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** The ranges of nodes. A kubelet that registers with one keeps it. */
export const nodeIpamWrites: ExclusiveWrites = {
  account: 'node-controller',
  writes: [
    {
      resource: Nodes,
      fields: [
        ['spec', 'podCIDR'],
        ['spec', 'podCIDRs'],
      ],
    },
  ],
};
