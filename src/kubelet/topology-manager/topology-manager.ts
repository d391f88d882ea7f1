/**
 * Lets managers of resources agree on NUMA nodes and give a pod's containers what they ask for. Upstream:
 * pkg/kubelet/cm/topologymanager (scopes and policies).
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import {
  AllocationError,
  ANY_NODE,
  maskCount,
  maskOf,
  type HintProvider,
  type TopologyHint,
  type TopologyHints,
} from './hints.ts';
import { hintLists, mergeHints } from './merge-hints.ts';

/** How strictly resources have to lie together. */
export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

/** Whether each container is looked at, or the pod as a whole. */
export type TopologyScope = 'container' | 'pod';

/** What the manager needs. */
export interface TopologyManagerDeps {
  readonly numaNodes: () => readonly number[];
  /** In the order they give. */
  readonly providers: readonly HintProvider[];
}

/** The manager. */
export interface TopologyManager {
  /** Gives the pod's containers what they ask for. Rejects with an AllocationError that says why it cannot. */
  admit(pod: Pod): Promise<void>;
}

/** Makes the manager. */
export function createTopologyManager(
  { numaNodes, providers }: TopologyManagerDeps,
  config: { readonly policy: TopologyPolicy; readonly scope: TopologyScope },
): TopologyManager {
  const { policy, scope } = config;

  function agree(hints: readonly TopologyHints[]): TopologyHint {
    const hint = bestHint(hintLists(hints), maskOf(numaNodes()), policy);
    if (policy !== 'best-effort' && !hint.preferred)
      throw new AllocationError('TopologyAffinityError', 'Resources cannot be allocated with Topology locality');
    return hint;
  }

  async function give(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    for (const provider of providers) {
      try {
        await provider.allocate(pod, container, hint);
      } catch (error) {
        if (error instanceof AllocationError) throw error;
        const text = error instanceof Error ? error.message : String(error);
        throw new AllocationError('UnexpectedAdmissionError', `Allocate failed due to ${text}, which is unexpected`, {
          cause: error,
        });
      }
    }
  }

  return {
    async admit(pod) {
      const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
      const whole =
        policy === 'none'
          ? ANY_NODE
          : scope === 'pod'
            ? agree(providers.map((provider) => provider.podTopologyHints(pod)))
            : undefined;
      for (const container of containers)
        await give(pod, container, whole ?? agree(providers.map((provider) => provider.topologyHints(pod, container))));
    },
  };
}

/** The hint the policy settles on; not preferred: it does not like it. */
function bestHint(lists: readonly (readonly TopologyHint[])[], all: number, policy: TopologyPolicy): TopologyHint {
  if (policy !== 'single-numa-node') return mergeHints(lists, all);
  const single = lists.map((list) =>
    list.filter(({ affinity, preferred }) => preferred && (affinity === undefined || maskCount(affinity) === 1)),
  );
  const best = mergeHints(single, all);
  return best.affinity === all && maskCount(all) > 1 ? { affinity: undefined, preferred: best.preferred } : best;
}
