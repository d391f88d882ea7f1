/** Whether a cluster has the kinds of the Gateway API, whoever defined them. */
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { onAbort } from '../../base/abort.ts';
import { createDeferred } from '../../base/deferred.ts';

const GROUP = 'gateway.networking.k8s.io';
const KINDS = ['gatewayclasses', 'gateways', 'httproutes', 'grpcroutes', 'referencegrants'];

/** Those that are served, with the version of ReferenceGrant: v1 came late. */
export interface GatewayApiKinds {
  readonly grantVersion: 'v1' | 'v1beta1';
}

/** Undefined while not all kinds are served. */
export function servedGatewayApi(objects: Pick<ObjectStore, 'get'>): GatewayApiKinds | undefined {
  const definitions = KINDS.map((kind) => objects.get(CustomResourceDefinitions, '', `${kind}.${GROUP}`));
  const isWhole = definitions.every(
    (one, at) => serves(one, 'v1') || (KINDS[at] === 'referencegrants' && serves(one, 'v1beta1')),
  );
  return isWhole ? { grantVersion: serves(definitions.at(-1), 'v1') ? 'v1' : 'v1beta1' } : undefined;
}

/** Resolves once all kinds are served; to undefined when the signal aborts first. */
export async function gatewayApiDefined(
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<GatewayApiKinds | undefined> {
  return firstDefined(objects, () => servedGatewayApi(objects), signal);
}

/** Kinds that are served where they are defined. */
export type OptionalKind = 'tlsroutes' | 'backendtlspolicies';

/** Whether v1 of the kind is served. */
export function servesKind(objects: Pick<ObjectStore, 'get'>, kind: OptionalKind): boolean {
  return serves(objects.get(CustomResourceDefinitions, '', `${kind}.${GROUP}`), 'v1');
}

/** Resolves to true once v1 of the kind is served; to false when the signal aborts first. */
export async function whenServed(objects: ObjectStore, kind: OptionalKind, signal: AbortSignal): Promise<boolean> {
  const found = await firstDefined(objects, () => servesKind(objects, kind) || undefined, signal);
  return found === true;
}

/** Asks with what is there and at each change of a definition; undefined when the signal aborts first. */
async function firstDefined<T>(
  objects: ObjectStore,
  find: () => T | undefined,
  signal: AbortSignal,
): Promise<T | undefined> {
  const found = createDeferred<T | undefined>();
  const check = (): void => {
    const value = find();
    if (value !== undefined) found.resolve(value);
  };
  const unhook = onAbort(signal, () => found.resolve(undefined));
  const stop = objects.onChange(CustomResourceDefinitions, check);
  try {
    return await found.promise;
  } finally {
    stop();
    unhook();
  }
}

function serves(definition: CustomResourceDefinition | undefined, version: string): boolean {
  const isEstablished = definition?.status?.conditions?.some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );
  return (
    isEstablished === true && definition!.spec.versions.some(({ name, served }) => name === version && served === true)
  );
}
