/** Configures the pod network once the node has its range. */
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import type { NodeParts } from './node-parts.ts';

/** Resolves once the node's pod range is known and its CNI configuration is written. */
export function followPodCidr({ informers, network, config, platform }: NodeParts): void {
  if (network === undefined) return;
  const write = (podCidr: string | undefined): void => {
    if (podCidr === undefined) return;
    network
      .setPodCidr(podCidr)
      .catch((error: unknown) => platform.log.error('cannot write the pod network configuration', { err: error }));
  };
  informers.informer(Nodes, { fieldSelector: `metadata.name=${config.nodeName}` }).addHandler({
    onAdd: (node) => write(podRanges(node)),
    onUpdate: (_old, node) => write(podRanges(node)),
  });
}

function podRanges({ spec }: Pick<Node, 'spec'>): string | undefined {
  return spec?.podCIDRs?.join() ?? spec?.podCIDR;
}
