/**
 * The limits of concurrent requests: two plain limits, or flow schemas and priority levels. Upstream: server
 * Config.FlowControl and the max-in-flight filter.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { MaxInFlight } from '../filters/max-in-flight.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { flowConfigurationOf } from './configuration.ts';
import { FlowController } from './flow-controller.ts';
import { followFlowObjects } from './flow-objects.ts';

export interface RequestLimitsConfig {
  /** 0: no limit. Default 400. */
  readonly maxRequestsInFlight?: number;
  /** 0: no limit. Default 200. */
  readonly maxMutatingRequestsInFlight?: number;
  /** True: requests of the network share the sum of both limits by flow schemas and priority levels. Default false. */
  readonly priorityAndFairness?: boolean;
}

export interface RequestLimits {
  /** Only counts when priority and fairness is enabled. */
  readonly inFlight: MaxInFlight;
  readonly fairness: FlowController | undefined;
}

export function createRequestLimits(
  { clock, registry }: { readonly clock: Clock; readonly registry: ResourceRegistry },
  { priorityAndFairness, maxRequestsInFlight = 400, maxMutatingRequestsInFlight = 200 }: RequestLimitsConfig,
): RequestLimits {
  if (priorityAndFairness !== true) {
    const limits = { readOnly: maxRequestsInFlight || Infinity, mutating: maxMutatingRequestsInFlight || Infinity };
    return { inFlight: new MaxInFlight(limits), fairness: undefined };
  }
  const inFlight = new MaxInFlight({ readOnly: Infinity, mutating: Infinity });
  const fairness = new FlowController(
    {
      clock,
      inFlight,
      measureStored: ({ info }) => registry.find(info.apiGroup, info.apiVersion, info.resource)?.cache.stored,
    },
    maxRequestsInFlight + maxMutatingRequestsInFlight,
    flowConfigurationOf([], []),
  );
  return { inFlight, fairness };
}

/** Makes the controller follow the cluster's flow schemas and priority levels; the returned function stops both. */
export function startFairness(
  controller: FlowController,
  deps: { readonly objects: ObjectStore; readonly clock: Clock; readonly log: Log },
): () => void {
  const unfollow = followFlowObjects({ ...deps, controller });
  return () => {
    unfollow();
    controller.stop();
  };
}
