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
  const found = createDeferred<GatewayApiKinds | undefined>();
  const check = (): void => {
    const kinds = servedGatewayApi(objects);
    if (kinds !== undefined) found.resolve(kinds);
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
