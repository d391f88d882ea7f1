/** Values of fieldRef and resourceFieldRef in the environment. Upstream: pkg/fieldpath, pkg/api/v1/resource (ExtractContainerResourceValue). */
import { getOwn } from '../../api/codec/own-property.ts';
import type { Container, ObjectFieldSelector, Pod, ResourceFieldSelector } from '../../api/gen/core-v1.ts';
import { findContainer } from './pod-facts.ts';
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';

/** Facts of the node that a pod's environment can refer to. */
export interface NodeFacts {
  readonly nodeName: string;
  readonly hostIps: readonly string[];
  /** Allocatable quantities, which unset limits default to. */
  readonly allocatable: Readonly<Record<string, string>>;
}

const SUBSCRIPT = /^metadata\.(labels|annotations)\['(.*)'\]$/;

function mapText(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}

/** The value of a pod's field as text. Throws upstream's error for an unsupported path. */
export function podFieldValue(input: {
  selector: ObjectFieldSelector;
  pod: Pod;
  podIps: readonly string[];
  node: NodeFacts;
}): string {
  const { pod, podIps, node } = input;
  const { metadata } = pod;
  const path = input.selector.fieldPath;
  const match = SUBSCRIPT.exec(path);
  if (match !== null) return getOwn(metadata[match[1] as 'labels' | 'annotations'] ?? {}, match[2]!) ?? '';
  const values: Readonly<Record<string, () => string>> = {
    'metadata.name': () => metadata.name ?? '',
    'metadata.namespace': () => metadata.namespace ?? '',
    'metadata.uid': () => metadata.uid ?? '',
    'metadata.labels': () => mapText(metadata.labels),
    'metadata.annotations': () => mapText(metadata.annotations),
    'spec.nodeName': () => pod.spec?.nodeName ?? node.nodeName,
    'spec.serviceAccountName': () => pod.spec?.serviceAccountName ?? '',
    'spec.restartPolicy': () => pod.spec?.restartPolicy ?? '',
    'spec.schedulerName': () => pod.spec?.schedulerName ?? '',
    'status.phase': () => pod.status?.phase ?? '',
    'status.hostIP': () => node.hostIps[0] ?? '',
    'status.hostIPs': () => node.hostIps.join(','),
    'status.podIP': () => podIps[0] ?? '',
    'status.podIPs': () => podIps.join(','),
  };
  const value = Object.hasOwn(values, path) ? values[path] : undefined;
  if (value === undefined) throw new Error(`unsupported fieldPath: ${path}`);
  return value();
}

/**
 * A container's request or limit in units of the divisor, rounded up; unset limits default to the node's allocatable.
 */
export function resourceFieldValue(input: {
  selector: ResourceFieldSelector;
  pod: Pod;
  container: Container;
  node: NodeFacts;
}): string {
  const { selector, pod, node } = input;
  const container = selector.containerName ? findContainer(pod, selector.containerName) : input.container;
  if (container === undefined) throw new Error(`container ${selector.containerName} not found`);
  const [list = '', ...rest] = selector.resource.split('.');
  const name = rest.join('.');
  if ((list !== 'limits' && list !== 'requests') || name === '')
    throw new Error(`unsupported container resource : ${selector.resource}`);
  const own = container.resources?.[list]?.[name];
  const fallback = list === 'limits' ? node.allocatable[name] : (container.resources?.limits?.[name] ?? '0');
  const quantity = own ?? fallback ?? '0';
  const divisor = selector.divisor === undefined || selector.divisor === '0' ? '1' : selector.divisor;
  if (name === 'cpu') return String(Math.ceil(quantityMilliValue(quantity) / quantityMilliValue(divisor)));
  return String(Math.ceil(quantityValue(quantity) / quantityValue(divisor)));
}
