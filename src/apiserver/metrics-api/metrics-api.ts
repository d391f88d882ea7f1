/**
 * Serves `metrics.k8s.io/v1beta1` for `kubectl top` and autoscalers without a metrics server; an installed metrics
 * server replaces it. Upstream: k8s.io/metrics, metrics-server.
 */
import { matchesFields } from '../../api/field-selector.ts';
import { everything } from '../../api/label-selector.ts';
import { formatQuantity } from '../../api/quantity.ts';
import { badRequest, methodNotAllowed, noSuchPath, statusFailure } from '../../api/status-error.ts';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { BuiltInApi } from '../aggregation/built-in-api.ts';
import { boundedFieldSelector, boundedLabelSelector } from '../generic-registry/bounded-selectors.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { RequestScope } from '../request-scope.ts';
import { objectResponse } from '../responses.ts';
import type { NodeUsage, Usage, UsageSource } from './usage-source.ts';

const GROUP = 'metrics.k8s.io';
const VERSION = 'v1beta1';
const API_VERSION = `${GROUP}/${VERSION}`;
/** The approximate period over which kubelets compute rates. */
const WINDOW = '10s';

export interface MetricsApiDeps {
  readonly objects: ObjectStore;
  readonly usage: UsageSource;
}

interface Metrics extends KubernetesObject {
  readonly timestamp: string;
  readonly window: string;
}

export function createMetricsApi(deps: MetricsApiDeps): BuiltInApi {
  const resource = (name: string, kind: string, scope: string): BuiltInApi['resources'][number] => ({
    resource: name,
    responseKind: { group: GROUP, version: VERSION, kind },
    scope,
    singularResource: name.slice(0, -1),
    verbs: ['get', 'list'],
  });
  return {
    group: GROUP,
    version: VERSION,
    resources: [resource('nodes', 'NodeMetrics', 'Cluster'), resource('pods', 'PodMetrics', 'Namespaced')],
    serve: (scope) => serve(deps, scope),
  };
}

async function serve(deps: MetricsApiDeps, scope: RequestScope): Promise<ApiResponse> {
  const { resource, verb, namespace, name, subresource } = scope.info;
  if (resource !== 'nodes' && resource !== 'pods') throw noSuchPath();
  if (subresource !== '' || (resource === 'nodes' && namespace !== '')) throw noSuchPath();
  if (resource === 'pods' && namespace === '' && verb === 'get') throw noSuchPath();
  if (verb !== 'get' && verb !== 'list') throw methodNotAllowed();
  const selected = selection(scope);
  const usage = await deps.usage.read();
  const all = resource === 'nodes' ? nodeMetrics(deps.objects, usage) : podMetrics(deps.objects, usage, namespace);
  if (verb === 'get') {
    const found = all.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw statusFailure(404, 'NotFound', `${resource}.${GROUP} "${name}" not found`);
    return objectResponse(scope.request, { object: found });
  }
  const kind = resource === 'nodes' ? 'NodeMetricsList' : 'PodMetricsList';
  const items = all.filter(selected);
  return objectResponse(scope.request, { object: { kind, apiVersion: API_VERSION, metadata: {}, items } });
}

function selection({ info }: RequestScope): (object: Metrics) => boolean {
  const { labelSelector: labelText = '', fieldSelector: fieldText = '' } = info;
  const labels = labelText === '' ? everything : boundedLabelSelector(labelText);
  const fields = fieldText === '' ? [] : boundedFieldSelector(fieldText);
  const selectable = new Set(['metadata.name', 'metadata.namespace']);
  const unknown = fields.find(({ field }) => !selectable.has(field));
  if (unknown !== undefined) throw badRequest(`field label not supported: ${unknown.field}`);
  return ({ metadata }) =>
    labels.matches(metadata.labels) &&
    matchesFields(fields, {
      'metadata.name': metadata.name ?? '',
      'metadata.namespace': metadata.namespace ?? '',
    });
}

function nodeMetrics(objects: ObjectStore, usage: ReadonlyMap<string, NodeUsage>): Metrics[] {
  return objects.list(Nodes).flatMap(({ metadata }) => {
    const own = usage.get(metadata.name)?.node;
    if (own === undefined) return [];
    const metrics: Metrics = {
      kind: 'NodeMetrics',
      apiVersion: API_VERSION,
      metadata: { name: metadata.name, creationTimestamp: own.time, ...labelsOf(metadata) },
      timestamp: own.time,
      window: WINDOW,
    };
    return [{ ...metrics, usage: quantities(own) }];
  });
}

function podMetrics(objects: ObjectStore, usage: ReadonlyMap<string, NodeUsage>, namespace: string): Metrics[] {
  return objects.list(Pods, namespace).flatMap(({ metadata, spec, status }) => {
    if (status?.phase !== 'Running') return [];
    const key = `${metadata.namespace}/${metadata.name}`;
    const containers = usage.get(spec?.nodeName ?? '')?.pods.get(key);
    if (containers === undefined) return [];
    const timestamp = [...containers.values()].map(({ time }) => time).sort()[0] ?? '';
    const metrics: Metrics = {
      kind: 'PodMetrics',
      apiVersion: API_VERSION,
      metadata: {
        name: metadata.name,
        namespace: metadata.namespace,
        creationTimestamp: timestamp,
        ...labelsOf(metadata),
      },
      timestamp,
      window: WINDOW,
    };
    return [{ ...metrics, containers: [...containers].map(([name, own]) => ({ name, usage: quantities(own) })) }];
  });
}

function labelsOf({ labels }: KubernetesObject['metadata']): { labels?: Record<string, string> } {
  return labels === undefined ? {} : { labels };
}

function quantities({ nanoCores, memoryBytes }: Usage): Record<string, string> {
  return {
    cpu: formatQuantity({ nanos: BigInt(Math.round(nanoCores)), format: 'DecimalSI' }),
    memory: formatQuantity({ nanos: BigInt(Math.round(memoryBytes)) * 1_000_000_000n, format: 'BinarySI' }),
  };
}
