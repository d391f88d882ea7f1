/**
 * Aligns the managers of resources on NUMA nodes and lets them allocate what a pod's containers request. Upstream:
 * pkg/kubelet/cm/topologymanager (scopes and policies).
 */
import { podContainers } from '../../api/pod-containers.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import type { HostNumaNode } from '../../platform/host.ts';
import {
  AllocationError,
  ANY_NODE,
  maskCount,
  maskOf,
  type HintProvider,
  type TopologyHint,
  type TopologyHints,
} from './hints.ts';
import { closestBy, hintLists, mergeHints, type BetterMask } from './merge-hints.ts';

/** How strictly resources must be on the same NUMA nodes. */
export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

/** Whether each container is aligned by itself or the pod as a whole. */
export type TopologyScope = 'container' | 'pod';

export interface TopologyManagerDeps {
  readonly numaNodes: () => readonly Pick<HostNumaNode, 'node' | 'distances'>[];
  /** In the order in which they allocate. */
  readonly providers: readonly HintProvider[];
}

export interface TopologyManager {
  /** Allocates what the pod's containers request. Rejects with an AllocationError. */
  admit(pod: Pod): Promise<void>;
}

export interface TopologyManagerConfig {
  readonly policy: TopologyPolicy;
  readonly scope: TopologyScope;
  /**
   * Prefers, among sets of equally many nodes, the one with the shortest distances. Upstream:
   * prefer-closest-numa-nodes.
   */
  readonly preferClosestNumaNodes: boolean;
  /** A machine with more nodes is refused, since it has too many sets of nodes. Upstream: max-allowable-numa-nodes. */
  readonly maxAllowableNumaNodes: number;
}

/** @throws Error on a machine with more NUMA nodes than the policy allows */
export function checkNumaNodes(
  count: number,
  { policy, maxAllowableNumaNodes: most }: Pick<TopologyManagerConfig, 'policy' | 'maxAllowableNumaNodes'>,
): void {
  if (policy !== 'none' && count > most) throw new Error(`unsupported on machines with more than ${most} NUMA Nodes`);
}

export function createTopologyManager(
  { numaNodes, providers }: TopologyManagerDeps,
  config: TopologyManagerConfig,
): TopologyManager {
  const { policy, scope, preferClosestNumaNodes } = config;

  function agree(hints: readonly TopologyHints[]): TopologyHint {
    const nodes = numaNodes();
    const closest = preferClosestNumaNodes && policy !== 'single-numa-node' ? closestBy(distancesOf(nodes)) : undefined;
    const hint = bestHint(hintLists(hints), maskOf(nodes.map(({ node }) => node)), { policy, closest });
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
        const text = errorMessage(error);
        throw new AllocationError('UnexpectedAdmissionError', `Allocate failed due to ${text}, which is unexpected`, {
          cause: error,
        });
      }
    }
  }

  return {
    async admit(pod) {
      const containers = podContainers(pod.spec);
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

function distancesOf(
  nodes: readonly Pick<HostNumaNode, 'node' | 'distances'>[],
): ReadonlyMap<number, ReadonlyMap<number, number>> {
  const numbers = nodes.map(({ node }) => node);
  return new Map(
    nodes.map(({ node, distances = [] }) => [node, new Map(numbers.map((to, at) => [to, distances[at] ?? 0]))]),
  );
}

/** The best hint by the policy; policies that require a preferred one reject the pod otherwise. */
function bestHint(
  lists: readonly (readonly TopologyHint[])[],
  all: number,
  { policy, closest }: { policy: TopologyPolicy; closest: BetterMask | undefined },
): TopologyHint {
  if (policy !== 'single-numa-node') return mergeHints(lists, all, closest);
  const single = lists.map((list) =>
    list.filter(({ affinity, preferred }) => preferred && (affinity === undefined || maskCount(affinity) === 1)),
  );
  const best = mergeHints(single, all);
  return best.affinity === all && maskCount(all) > 1 ? { affinity: undefined, preferred: best.preferred } : best;
}
