/** The CustomResourceDefinitions of the Gateway API, built from facts about its standard channel, with our own descriptions. */
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { GATEWAY_CONTROLLER } from '../../component-helpers/gateway-class.ts';
import { GATEWAY_API_VERSION, gatewayApiFacts } from './gen/definitions.ts';

const GATEWAY_API_GROUP = 'gateway.networking.k8s.io';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  GatewayClass: 'Names the controller that serves the Gateways of the class.',
  Gateway: 'Ports, host names and certificates at which requests come in.',
  HTTPRoute: 'Leads HTTP requests that come in at Gateways to backends.',
  GRPCRoute: 'Leads gRPC calls that come in at Gateways to backends.',
  TLSRoute: 'Leads TLS connections that come in at Gateways to backends, as they are, by the name that is asked for.',
  BackendTLSPolicy: 'Says how Gateways verify the TLS of the backends of a Service.',
  ReferenceGrant: 'Lets objects of other namespaces refer to Services or Secrets of its own namespace.',
};

/** The definitions and the class that Keelson serves, ready to be applied. */
export function gatewayApiObjects(): object[] {
  const gatewayClass = {
    apiVersion: `${GATEWAY_API_GROUP}/v1`,
    kind: 'GatewayClass',
    metadata: { name: 'keelson' },
    spec: { controllerName: GATEWAY_CONTROLLER },
  };
  return [...gatewayApiDefinitions(), gatewayClass];
}

export function gatewayApiDefinitions(): CustomResourceDefinition[] {
  return gatewayApiFacts.map(({ names, scope, versions, schema }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${names.plural}.${GATEWAY_API_GROUP}`,
      labels: names.kind.endsWith('Policy') ? { [`${GATEWAY_API_GROUP}/policy`]: 'Direct' } : undefined,
      annotations: {
        // The API server requires this annotation for groups in *.k8s.io.
        'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api',
        [`${GATEWAY_API_GROUP}/bundle-version`]: GATEWAY_API_VERSION,
        [`${GATEWAY_API_GROUP}/channel`]: 'standard',
      },
    },
    spec: {
      group: GATEWAY_API_GROUP,
      names: names as CustomResourceDefinition['spec']['names'],
      scope,
      versions: versions.map((version) => ({
        ...version,
        schema: { openAPIV3Schema: { ...schema, description: DESCRIPTIONS[names.kind] } },
      })) as CustomResourceDefinition['spec']['versions'],
    },
  }));
}
