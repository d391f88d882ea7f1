/** `keelson/testing`: what tests of operators and platforms import. */
export * from '../api/gen/resources.ts';
export type { KubernetesObject, ObjectList } from '../api/object.ts';
export type { ResourceInfo } from '../api/resource-info.ts';
export { StatusError } from '../api/status-error.ts';
export type { Client, ResourceClient } from '../client/client.ts';
export { image, type SimImage, type SimImageSpec, type SimProcess } from '../cri/sim/sim-image.ts';
export { Cluster, type ClusterOptions, type EventFilter } from './cluster.ts';
export type { Duration } from './duration.ts';
export type { StoreFaults } from './faulty-store.ts';
export type { Part, RestartablePart, TestFaults } from './faults.ts';
export type { Listening, ListenAt } from './listener.ts';
export type { TestNodes } from './nodes.ts';
export type { ObjectReference, ResolvedReference } from './references.ts';
export type { SimNodeSpec } from './sim-node.ts';
export type { ClusterSnapshot } from './snapshot.ts';
export { WaitError, type Expectation, type WaitOptions } from './wait.ts';
export type { WebhookFunction } from './webhooks.ts';
