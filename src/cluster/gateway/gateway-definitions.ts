/** Detects whether a cluster has the kinds of the Gateway API, whoever defined them. */
import { CustomResourceDefinitions } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { firstDefined, servesVersion } from '../served-definition.ts';

const GROUP = 'gateway.networking.k8s.io';
const KINDS = ['gatewayclasses', 'gateways', 'httproutes', 'grpcroutes', 'referencegrants'];

/** The served kinds, with the version of ReferenceGrant, whose v1 was added late. */
export interface GatewayApiKinds {
  readonly grantVersion: 'v1' | 'v1beta1';
}

/** Undefined while some kind is not served. */
export function servedGatewayApi(objects: Pick<ObjectStore, 'get'>): GatewayApiKinds | undefined {
  const definitions = KINDS.map((kind) => objects.get(CustomResourceDefinitions, '', `${kind}.${GROUP}`));
  const isWhole = definitions.every(
    (one, at) => servesVersion(one, 'v1') || (KINDS[at] === 'referencegrants' && servesVersion(one, 'v1beta1')),
  );
  return isWhole ? { grantVersion: servesVersion(definitions.at(-1), 'v1') ? 'v1' : 'v1beta1' } : undefined;
}

/** Resolves once all kinds are served; to undefined when the signal aborts first. */
export async function gatewayApiDefined(
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<GatewayApiKinds | undefined> {
  return firstDefined(objects, () => servedGatewayApi(objects), signal);
}

/** Kinds without which the others are served all the same. */
export type OptionalKind = 'tlsroutes' | 'backendtlspolicies';

/** Whether v1 of the kind is served. */
export function servesKind(objects: Pick<ObjectStore, 'get'>, kind: OptionalKind): boolean {
  return servesVersion(objects.get(CustomResourceDefinitions, '', `${kind}.${GROUP}`), 'v1');
}

/** Resolves to true once v1 of the kind is served; to false when the signal aborts first. */
export async function whenServed(objects: ObjectStore, kind: OptionalKind, signal: AbortSignal): Promise<boolean> {
  const found = await firstDefined(objects, () => servesKind(objects, kind) || undefined, signal);
  return found === true;
}
