/**
 * Limits the elements of one service: ports times addresses times source ranges, times endpoints. Otherwise whoever
 * may write a service and its slices could fill every node's memory. Upstream has no limit.
 */
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { StepMeter, type Steps } from '../base/steps.ts';
import { portKey, PORTS_PER_STEP } from './endpoints.ts';

const MAX_ELEMENTS = 100_000;
const MAX_ENDPOINT_ELEMENTS = 200_000;
/** Slots of one port have 15 bits, without 0. */
const MAX_ENDPOINTS = 0x7fff;
/** The endpoint lists of an external address with policy Local: two of the cluster's, one of the node's. */
const LISTS_OF_LOCAL_POLICY = 3;

/** Why the external addresses of a service are not served; undefined: they are. Node ports and the cluster IP always are. */
export function externalExcess({ spec, status }: Pick<Service, 'spec' | 'status'>): string | undefined {
  const ports = spec?.ports?.length ?? 0;
  const balanced = spec?.type === 'LoadBalancer' ? (status?.loadBalancer?.ingress?.length ?? 0) : 0;
  const ranges = Math.max(1, spec?.loadBalancerSourceRanges?.length ?? 0);
  const elements = ports * ((spec?.externalIPs?.length ?? 0) + balanced * ranges);
  if (elements <= MAX_ELEMENTS) return undefined;
  return `its ports, external addresses and source ranges make ${elements} elements, at most ${MAX_ELEMENTS} are programmed`;
}

/** The number of endpoints of each port that are programmed. */
export function endpointsPerPort(service: Pick<Service, 'spec' | 'status'>): number {
  const { spec, status } = service;
  const balanced = spec?.type === 'LoadBalancer' ? (status?.loadBalancer?.ingress?.length ?? 0) : 0;
  const addresses = externalExcess(service) === undefined ? (spec?.externalIPs?.length ?? 0) + balanced : 0;
  const ports = spec?.ports ?? [];
  const nodePorts = ports.filter(({ nodePort = 0 }) => nodePort > 0).length;
  const lists = spec?.externalTrafficPolicy === 'Local' ? LISTS_OF_LOCAL_POLICY : 1;
  const frontends = ports.length + lists * (nodePorts + ports.length * addresses);
  return Math.min(MAX_ENDPOINTS, Math.max(1, Math.floor(MAX_ENDPOINT_ELEMENTS / Math.max(1, frontends))));
}

/** Why some endpoints of a service are not served; undefined: all are. */
export function* endpointExcess(
  service: Pick<Service, 'spec' | 'status'>,
  slices: readonly EndpointSlice[],
): Steps<string | undefined> {
  const limit = endpointsPerPort(service);
  const meter = new StepMeter(PORTS_PER_STEP);
  const counts = new Map<string, number>();
  for (const { addressType, ports = [], endpoints = [] } of slices) {
    for (const port of ports) {
      const key = `${addressType} ${portKey(port)}`;
      const count = (counts.get(key) ?? 0) + endpoints.length;
      if (count > limit)
        return `its ports and addresses leave room for ${limit} endpoints of each port, the others are not served`;
      counts.set(key, count);
    }
    if (meter.endsStep(1 + ports.length)) yield;
  }
  return undefined;
}
