/**
 * Warnings about services, endpoints, ingresses and policies. Upstream: pkg/api/service, registry/discovery and
 * registry/networking.
 */
import { quote } from '../../base/go-quote.ts';
import type { Endpoints, LoadBalancerStatus, Node, Pod, Service } from '../gen/core-v1.ts';
import type { EndpointSlice } from '../gen/discovery-v1.ts';
import type { Ingress, IngressLoadBalancerStatus, NetworkPolicy, NetworkPolicyPeer } from '../gen/networking-v1.ts';
import { cidrWarnings, ipWarnings } from './ip-formats.ts';

type Texts = readonly string[] | undefined;

/** A text of an object with its path. */
type TextAtPath = readonly [text: string, path: string];

/** The limit of addresses and ranges that are checked; a response has room for some forty warnings. */
const MAX_ADDRESSES = 2000;

function warningsOfFirst(placed: Iterable<TextAtPath>, warningsOf: (text: string, path: string) => string[]): string[] {
  const warnings: string[] = [];
  let count = 0;
  for (const [text, path] of placed) {
    if (++count > MAX_ADDRESSES) break;
    for (const warning of warningsOf(text, path)) warnings.push(warning);
  }
  return warnings;
}

function* itemsOf(texts: Texts, path: string): Generator<TextAtPath> {
  for (const [index, text] of (texts ?? []).entries()) yield [text, `${path}[${index}]`];
}

function ipListWarnings(texts: Texts, path: string): string[] {
  return warningsOfFirst(itemsOf(texts, path), ipWarnings);
}

function cidrListWarnings(texts: Texts, path: string): string[] {
  return warningsOfFirst(itemsOf(texts, path), cidrWarnings);
}

const OLD_TOPOLOGY = 'service.kubernetes.io/topology-aware-hints';
const INGRESS_CLASS = 'kubernetes.io/ingress.class';

/** Warnings about fields that a service of this type ignores. */
function ignoredByType({ type, externalIPs = [], externalName = '' }: NonNullable<Service['spec']>): string[] {
  if (type !== 'ExternalName')
    return externalName === '' ? [] : ['spec.externalName is ignored when spec.type is not "ExternalName"'];
  return externalIPs.length === 0 ? [] : ['spec.externalIPs is ignored when spec.type is "ExternalName"'];
}

function externalIpWarnings(spec: NonNullable<Service['spec']>, isHeadless: boolean): string[] {
  const { externalIPs = [], type } = spec;
  const isUsed = externalIPs.length > 0 && !isHeadless && type !== 'ExternalName';
  return [
    ...ipListWarnings(externalIPs, 'spec.externalIPs'),
    ...(isUsed ? ['spec.externalIPs is deprecated and may no longer be implemented in some clusters'] : []),
  ];
}

export function serviceWarnings({ metadata, spec = {} }: Service): string[] {
  const { clusterIP = '', externalIPs = [], loadBalancerIP = '', sessionAffinity, trafficDistribution } = spec;
  const isHeadless = spec.type === 'ClusterIP' && clusterIP === 'None';
  const hasAddress = clusterIP !== '' && clusterIP !== 'None' && spec.type !== 'ExternalName';
  const ignored = isHeadless
    ? [
        ...(loadBalancerIP === '' ? [] : ['loadBalancerIP']),
        ...(externalIPs.length === 0 ? [] : ['externalIPs']),
        ...(sessionAffinity === 'None' ? [] : ['SessionAffinity']),
      ]
    : [];
  return [
    ...(metadata.annotations?.[OLD_TOPOLOGY] === undefined
      ? []
      : [`annotation ${OLD_TOPOLOGY} is deprecated, please use service.kubernetes.io/topology-mode instead`]),
    ...(hasAddress ? ipListWarnings(spec.clusterIPs, 'spec.clusterIPs') : []),
    ...ignored.map((name) => `spec.${name} is ignored for headless services`),
    ...externalIpWarnings(spec, isHeadless),
    ...(loadBalancerIP === '' ? [] : ipWarnings(loadBalancerIP, 'spec.loadBalancerIP')),
    ...cidrListWarnings(spec.loadBalancerSourceRanges, 'spec.loadBalancerSourceRanges'),
    ...ignoredByType(spec),
    ...(trafficDistribution === 'PreferClose'
      ? ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']
      : []),
  ];
}

/** Warnings about a load balancer's addresses in a status. */
export function loadBalancerWarnings({
  status,
}: {
  readonly status?: { readonly loadBalancer?: IngressLoadBalancerStatus | LoadBalancerStatus };
}): string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = '' }, index) =>
    ip === '' ? [] : ipWarnings(ip, `status.loadBalancer.ingress[${index}]`),
  );
}

/** Warnings about a pod's addresses in its status. */
export function podStatusWarnings({ status }: Pod): string[] {
  return (['podIPs', 'hostIPs'] as const).flatMap((list) =>
    (status?.[list] ?? []).flatMap(({ ip = '' }, index) => ipWarnings(ip, `status.${list}[${index}].ip`)),
  );
}

export function nodeWarnings({ spec = {} }: Node): string[] {
  const { externalID = '', podCIDRs } = spec;
  return [
    ...(externalID === '' ? [] : ['spec.externalID: this field is deprecated, and is unused by Kubernetes']),
    ...cidrListWarnings(podCIDRs, 'spec.podCIDRs'),
  ];
}

export function endpointsWarnings({ metadata, subsets = [] }: Endpoints): string[] {
  if (metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller') return [];
  return warningsOfFirst(addressesIn(subsets), ipWarnings);
}

function* addressesIn(subsets: NonNullable<Endpoints['subsets']>): Generator<TextAtPath> {
  for (const [index, subset] of subsets.entries())
    for (const list of ['addresses', 'notReadyAddresses'] as const)
      for (const [at, { ip }] of (subset[list] ?? []).entries()) yield [ip, `subsets[${index}].${list}[${at}].ip`];
}

const SLICE_CONTROLLERS = new Set(['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']);

export function endpointSliceWarnings(slice: EndpointSlice, old: EndpointSlice | undefined): string[] {
  const isOurs = SLICE_CONTROLLERS.has(slice.metadata.labels?.['endpointslice.kubernetes.io/managed-by'] ?? '');
  return [
    ...(old === undefined && slice.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
    ...(isOurs ? [] : warningsOfFirst(addressesOf(slice), ipWarnings)),
  ];
}

function* addressesOf({ endpoints = [] }: EndpointSlice): Generator<TextAtPath> {
  for (const [index, { addresses }] of endpoints.entries()) yield* itemsOf(addresses, `endpoints[${index}].addresses`);
}

export function ingressWarnings({ metadata, spec }: Ingress, old: Ingress | undefined): string[] {
  const isAnnotated = metadata.annotations?.[INGRESS_CLASS] !== undefined;
  if (old !== undefined || !isAnnotated || spec?.ingressClassName !== undefined) return [];
  return [`annotation ${quote(INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead`];
}

function* blocksOf(peers: readonly NetworkPolicyPeer[] | undefined, path: string): Generator<TextAtPath> {
  for (const [index, { ipBlock }] of (peers ?? []).entries()) {
    if (ipBlock === undefined) continue;
    const place = `${path}[${index}].ipBlock`;
    yield [ipBlock.cidr, `${place}.cidr`];
    yield* itemsOf(ipBlock.except, `${place}.except`);
  }
}

function* rangesIn({ spec = {} }: NetworkPolicy): Generator<TextAtPath> {
  for (const [index, { from }] of (spec.ingress ?? []).entries()) yield* blocksOf(from, `spec.ingress[${index}].from`);
  for (const [index, { to }] of (spec.egress ?? []).entries()) yield* blocksOf(to, `spec.egress[${index}].to`);
}

export function networkPolicyWarnings(policy: NetworkPolicy): string[] {
  return warningsOfFirst(rangesIn(policy), cidrWarnings);
}
