// Small valid objects and parts of objects.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { address, times } from './load.ts';

export const labels = { app: 'a' };
export const container = { name: 'c', image: 'i' };
export const meta = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  namespace: 'default',
  labels,
  ...more,
});
export const pod = (name: string, spec: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: meta(name, more),
  spec: { containers: [container], terminationGracePeriodSeconds: 0, ...spec },
});
export const workload = (kind: string, spec: JsonObject, podSpec: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: meta(kind.toLowerCase()),
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [container], ...podSpec } },
    ...spec,
  },
});
export const claimTemplate = (at: number): JsonObject => ({
  metadata: { name: `v${at}` },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});
export const service = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: meta(name),
  spec,
});
export const slice = (name: string, owner: string, endpoints: number, ports: number): JsonObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: meta(name, { labels: { 'kubernetes.io/service-name': owner } }),
  addressType: 'IPv4',
  endpoints: times(endpoints, (at) => ({ addresses: [address(at)], conditions: { ready: true } })),
  ports: times(ports, (at) => ({ name: `p${at}`, port: at + 1, protocol: 'TCP' })),
});
export const term = (at: number, selector: JsonObject): JsonObject => ({
  topologyKey: 'kubernetes.io/hostname',
  labelSelector: { matchExpressions: [{ key: `k${at}`, ...selector }] },
});
export const requirement = (at: number, operator = 'NotIn'): JsonObject => ({ key: `k${at}`, operator, values: ['x'] });
export const expressionOf = (at: number): string => `object.metadata.name != "n${at}"`;
export const matchConstraints = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'], scope: '*' },
  ],
};
export const configMap = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: meta(name, more),
});

/** Limits the objects that workloads create, which could be endless. */
export const quota = (hard: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'bounds-what-workloads-make', namespace: 'default' },
  spec: { hard },
});
