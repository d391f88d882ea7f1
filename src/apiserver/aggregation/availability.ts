/**
 * Checks whether a remote API is reachable, with the steps and messages of upstream's condition. Upstream:
 * kube-aggregator controllers/status/remote.
 */
import { EndpointSlices, Services } from '../../api/gen/resources.ts';
import type { APIGroupDiscoveryList, APIResourceDiscovery } from '../../api/gen/apidiscovery-v2.ts';
import type { APIResourceList } from '../../api/gen/meta-v1.ts';
import { jsonSteps } from '../../api/codec/json-steps.ts';
import { MAX_PARTS } from '../../api/codec/parts.ts';
import { decodeTyped } from '../../api/codec/typed.ts';
import { typeSchema } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/type-schema.ts';
import { stepByStep } from '../../base/steps.ts';
import { answerText } from '../../platform/answer-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { ResolveService } from '../webhook/service-resolver.ts';
import type { Availability, RemoteService } from './remote-service.ts';

export interface AvailabilityDeps {
  readonly objects: Pick<ObjectStore, 'get' | 'list'>;
  readonly net: Pick<Net, 'http'>;
  readonly clock: Clock;
  readonly resolve: ResolveService;
  /** This server's client certificate for remote servers. */
  readonly identity: () => TlsOptions;
}

export interface DiscoveredGroup {
  readonly availability: Availability;
  readonly resources: readonly APIResourceDiscovery[];
}

const CHECK_TIMEOUT_MS = 5000;
/** The size limit of a discovery document. Kubernetes' own is a twentieth of it. */
const MAX_DISCOVERY_BYTES = 4 * 1024 * 1024;
/** Controllers list and watch every resource. Kubernetes itself serves a fraction of this number. */
const MAX_RESOURCES = 1000;
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Checks the service, its endpoints and the server behind them. Never rejects. */
export async function checkRemote(deps: AvailabilityDeps, remote: RemoteService): Promise<DiscoveredGroup> {
  const missing = missingBackend(deps, remote);
  if (missing !== undefined) return { availability: missing, resources: [] };
  try {
    const resources = await discover(deps, remote);
    return { availability: { available: true, reason: 'Passed', message: 'all checks passed' }, resources };
  } catch (error) {
    const message = `failing or missing response from ${addressOf(deps, remote)}: ${(error as Error).message}`;
    return { availability: { available: false, reason: 'FailedDiscoveryCheck', message }, resources: [] };
  }
}

function missingBackend({ objects }: AvailabilityDeps, { service }: RemoteService): Availability | undefined {
  const { namespace, name, port } = service;
  const quoted = `service/${name} in ${JSON.stringify(namespace)}`;
  const no = (reason: string, message: string): Availability => ({ available: false, reason, message });
  const found = objects.get(Services, namespace, name);
  if (found === undefined) return no('ServiceNotFound', `${quoted} is not present`);
  if (found.spec?.type === 'ExternalName') return undefined;
  const servicePort = found.spec?.ports?.find((one) => one.port === port);
  if (servicePort === undefined) return no('ServicePortError', `${quoted} is not listening on port ${port}`);
  const slices = objects
    .list(EndpointSlices, namespace)
    .filter((slice) => slice.metadata.labels?.['kubernetes.io/service-name'] === name);
  if (slices.length === 0) return no('EndpointsNotFound', `cannot find endpointslices for ${quoted}`);
  const ready = slices.some(
    (slice) =>
      (slice.ports ?? []).some((one) => (one.name ?? '') === (servicePort.name ?? '')) &&
      (slice.endpoints ?? []).some(({ conditions }) => conditions?.ready !== false),
  );
  return ready
    ? undefined
    : no(
        'MissingEndpoints',
        `endpoints for ${quoted} have no addresses with port name ${JSON.stringify(servicePort.name ?? '')}`,
      );
}

/** Base URL of one of the server's endpoints. Throws when there is none. */
export function remoteBase(resolve: ResolveService, { service }: RemoteService): string {
  const { host, port } = resolve(service);
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function addressOf({ resolve }: AvailabilityDeps, remote: RemoteService): string {
  const { group, version } = remote;
  try {
    return `${remoteBase(resolve, remote)}/apis/${group}/${version}`;
  } catch {
    return `/apis/${group}/${version}`;
  }
}

/** The server's resources in this version, from aggregated discovery if supported, otherwise from the resource list. */
async function discover(deps: AvailabilityDeps, remote: RemoteService): Promise<readonly APIResourceDiscovery[]> {
  const { group, version } = remote;
  const path = `/apis/${group}/${version}`;
  const plain = await fetchDiscovery<APIResourceList>(deps, remote, { path, type: 'meta.v1.APIResourceList' });
  const grouped = { path: '/apis', type: 'apidiscovery.v2.APIGroupDiscoveryList' };
  const list = await fetchDiscovery<APIGroupDiscoveryList>(deps, remote, grouped).catch(() => undefined);
  const entry =
    list?.kind === 'APIGroupDiscoveryList' ? list.items?.find(({ metadata }) => metadata.name === group) : undefined;
  const resources = entry?.versions?.find((one) => one.version === version)?.resources ?? fromPlainList(plain, remote);
  if (resources.length > MAX_RESOURCES)
    throw new Error(`discovery of ${path} lists ${resources.length} resources, more than ${MAX_RESOURCES}`);
  return resources;
}

async function fetchDiscovery<T>(
  deps: AvailabilityDeps,
  remote: RemoteService,
  { path, type }: { readonly path: string; readonly type: string },
): Promise<T> {
  const accept = path === '/apis' ? `${AGGREGATED},application/json` : 'application/json';
  const { status, text } = await requestRemote(deps, remote, {
    path,
    headers: { accept },
    maxBytes: MAX_DISCOVERY_BYTES,
  });
  if (status < 200 || status > 299) throw new Error(`bad status from ${path}: ${status}`);
  const value = await stepByStep(jsonSteps(text, { maxParts: MAX_PARTS }), () => deps.clock.yield());
  return decodeTyped(typeSchema(type) as StructSchema, value).object as T;
}

/**
 * Sends a request to a remote server with the aggregator's identity. Rejects when it cannot be reached or answers
 * more than `maxBytes`.
 */
export async function requestRemote(
  deps: AvailabilityDeps,
  remote: RemoteService,
  {
    path,
    headers,
    maxBytes,
  }: { readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly maxBytes: number },
): Promise<{ readonly status: number; readonly etag: string | undefined; readonly text: string }> {
  const answer = await deps.net.http({
    method: 'GET',
    url: `${remoteBase(deps.resolve, remote)}${path}`,
    headers: { ...headers, 'x-remote-user': 'system:kube-aggregator', 'x-remote-group': 'system:masters' },
    tls: { ...remote.trust, ...deps.identity() },
    timeoutMs: CHECK_TIMEOUT_MS,
  });
  const { etag } = answer.headers;
  return { status: answer.status, etag, text: await answerText(answer, maxBytes) };
}

function fromPlainList(
  { resources = [] }: Partial<APIResourceList>,
  { group, version }: RemoteService,
): readonly APIResourceDiscovery[] {
  const subresources = new Map<string, NonNullable<APIResourceDiscovery['subresources']>[number][]>();
  for (const { name, kind, verbs, group: g, version: v } of resources) {
    const [resource = '', subresource] = name.split('/');
    if (subresource === undefined) continue;
    const entry = { subresource, responseKind: { group: g ?? group, version: v ?? version, kind }, verbs };
    const existing = subresources.get(resource);
    if (existing === undefined) subresources.set(resource, [entry]);
    else existing.push(entry);
  }
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, singularName, verbs, shortNames, categories, group: g, version: v }) => ({
      resource: name,
      responseKind: { group: g ?? group, version: v ?? version, kind },
      scope: namespaced ? 'Namespaced' : 'Cluster',
      singularResource: singularName,
      verbs,
      ...(shortNames === undefined ? {} : { shortNames }),
      ...(categories === undefined ? {} : { categories }),
      ...(subresources.has(name) ? { subresources: subresources.get(name)! } : {}),
    }));
}
