/** An API of another server, as its APIService describes it. Upstream: kube-aggregator's proxyHandlingInfo. */
import type { Stored } from '../../api/object.ts';
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import type { APIResourceDiscovery } from '../../api/gen/apidiscovery-v2.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { DocumentText } from '../../api/openapi/open-api.ts';

export interface RemoteDocument extends DocumentText {
  readonly etag: string | undefined;
}

/** A server's documents; missing ones are absent. */
export interface RemoteOpenApi {
  readonly v2?: RemoteDocument;
  readonly v3?: RemoteDocument;
}

/** One group version behind a service. */
export interface RemoteService {
  /** `<version>.<group>`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  readonly trust: TlsOptions;
  /** Undefined until the first check. */
  availability: Availability | undefined;
  /** The resources at the last check. */
  resources: readonly APIResourceDiscovery[];
  /** The OpenAPI documents at the last check. */
  openApi: RemoteOpenApi;
}

/** The content of the condition `Available`. */
export interface Availability {
  readonly available: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Reads an APIService; undefined for one that this server serves itself. */
export function remoteServiceOf({ metadata, spec }: Stored<APIService>): RemoteService | undefined {
  const { service, group = '', version = '' } = spec ?? {};
  if (spec === undefined || service === undefined || group === '') return undefined;
  const { namespace = '', name = '', port = 443 } = service;
  const caPem = Buffer.from(spec.caBundle ?? '', 'base64').toString('utf8');
  return {
    name: metadata.name,
    group,
    version,
    groupPriorityMinimum: spec.groupPriorityMinimum,
    versionPriority: spec.versionPriority,
    service: { namespace, name, port },
    trust: {
      serverName: `${name}.${namespace}.svc`,
      caPem: caPem === '' ? undefined : caPem,
      insecureSkipVerify: spec.insecureSkipTLSVerify === true ? true : undefined,
    },
    availability: undefined,
    resources: [],
    openApi: {},
  };
}
