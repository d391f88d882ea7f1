/**
 * APIs that other servers serve: reads their APIServices, checks the servers and forwards requests. Upstream:
 * kube-aggregator. An APIService with a service replaces its group version, even one of this server.
 *
 * A remote server is checked when its APIService, service or endpoints change, and every 30 s; discovery then shows
 * its resources.
 */
import { createAvailabilityMetrics, type AvailabilityMetrics } from './availability-metrics.ts';
import { headerNamePart } from '../../base/header-text.ts';
import { APIServices, EndpointSlices, Services } from '../../api/gen/resources.ts';
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import { deepEqual } from '../../base/equal.ts';
import type { ForeignV2 } from '../../api/openapi/merge-v2.ts';
import type { DocumentText } from '../../api/openapi/open-api.ts';
import { isReason, serviceUnavailable, StatusError } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { callEach } from '../../platform/unexpected.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { ForeignVersion } from '../discovery/groups.ts';
import type { RequestScope } from '../request-scope.ts';
import { objectResponse } from '../responses.ts';
import { proxyRequest } from '../streaming/http-proxy.ts';
import { createServiceResolver, type ResolveService } from '../webhook/service-resolver.ts';
import { checkRemote, remoteBase, type AvailabilityDeps } from './availability.ts';
import { plainResourceList, type BuiltInApi } from './built-in-api.ts';
import { forwardedTarget } from './forwarded-target.ts';
import { fetchOpenApi } from './remote-openapi.ts';
import { remoteServiceOf, type RemoteService } from './remote-service.ts';

export interface AggregatorDeps {
  readonly platform: Pick<BasePlatform, 'clock' | 'random' | 'log' | 'metrics'>;
  readonly net: Net;
  readonly objects: ObjectStore;
  /** APIs served here, unless an APIService assigns them to another server. */
  readonly builtIns: readonly BuiltInApi[];
  /** The client certificate for remote servers (front proxy). */
  readonly identity: () => TlsOptions;
  /** The flag `--aggregator-reject-forwarding-redirect`. */
  readonly rejectsRedirects: boolean;
  /** Whether pages of aggregated servers are isolated from this server's origin (`streaming/foreign-page.ts`). */
  readonly isolatesPages?: boolean;
}

const CHECK_PERIOD_MS = 30_000;

/** Remote APIs. */
export class Aggregator {
  readonly #deps: AggregatorDeps;
  readonly #resolve: ResolveService;
  readonly #checks: AvailabilityDeps;
  readonly #metrics: AvailabilityMetrics;
  readonly #remotes = new Map<string, RemoteService>();
  readonly #byGroupVersion = new Map<string, RemoteService>();
  readonly #checking = new Map<string, { again: boolean }>();
  readonly #listeners = new Set<() => void>();
  readonly #stops: (() => void)[] = [];

  constructor(deps: AggregatorDeps) {
    this.#deps = deps;
    this.#resolve = createServiceResolver({
      objects: () => deps.objects,
      random: deps.platform.random.fork('aggregator'),
    });
    this.#metrics = createAvailabilityMetrics(deps.platform.metrics);
    const { objects, net, identity } = deps;
    this.#checks = { objects, net, clock: deps.platform.clock, resolve: this.#resolve, identity };
  }

  /** The aggregated versions, for discovery beside the registry's resources. */
  versions(): ForeignVersion[] {
    const remote = [...this.#byGroupVersion.values()].map(({ group, version, resources, availability }) => {
      return { group, version, resources, stale: availability?.available !== true };
    });
    const own = this.#deps.builtIns.filter(({ group, version }) => !this.#byGroupVersion.has(`${group}/${version}`));
    return [...own.map(({ group, version, resources }) => ({ group, version, resources, stale: false })), ...remote];
  }

  /** The descriptions of what remote servers serve. */
  descriptions(): { readonly v2: readonly ForeignV2[]; readonly v3: ReadonlyMap<string, DocumentText> } {
    const v2: ForeignV2[] = [];
    const v3 = new Map<string, DocumentText>();
    for (const { group, version, openApi } of this.#byGroupVersion.values()) {
      const path = `apis/${group}/${version}`;
      if (openApi.v2 !== undefined) v2.push({ text: openApi.v2.text, under: `/${path}` });
      if (openApi.v3 !== undefined) v3.set(path, openApi.v3);
    }
    return { v2, v3 };
  }

  /** The remote server of a group version. */
  remote(group: string, version: string): RemoteService | undefined {
    return this.#byGroupVersion.get(`${group}/${version}`);
  }

  /** Calls back when the resources of remote servers have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Reads the APIServices and follows them. The caches must be synced. */
  start(): void {
    const { objects, platform } = this.#deps;
    this.#stops.push(
      objects.onChange(APIServices, (service, old) => this.#follow(service, old)),
      objects.onChange(Services, (now, old) => this.#backendChanged(now ?? old)),
      objects.onChange(EndpointSlices, (now, old) => this.#backendChanged(now ?? old)),
      platform.clock.setTicker(CHECK_PERIOD_MS, () => {
        for (const remote of this.#remotes.values()) this.#check(remote.name);
      }),
    );
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** Serves a request for an API outside the registry; undefined when the path belongs to none. */
  serve(scope: RequestScope): ApiResponse | Promise<ApiResponse> | undefined {
    const { path } = scope.request;
    if (!path.startsWith('/apis/')) return undefined;
    const { group, version } = groupVersionOf(scope);
    const remote = this.#byGroupVersion.size === 0 ? undefined : this.#byGroupVersion.get(`${group}/${version}`);
    if (remote !== undefined) return this.proxy(remote, scope);
    const own = this.#deps.builtIns.find((one) => one.group === group && one.version === version);
    if (own === undefined) return undefined;
    if (scope.info.isResourceRequest) return own.serve(scope);
    return objectResponse(scope.request, { object: plainResourceList(own) });
  }

  /** Forwards a request unchanged, with its user in headers. */
  async proxy(remote: RemoteService, scope: RequestScope): Promise<ApiResponse> {
    const { path, query } = forwardedTarget(scope);
    if (remote.availability?.available === false) throw serviceUnavailable('service unavailable');
    const { net, identity, rejectsRedirects, isolatesPages = false } = this.#deps;
    let base: string;
    try {
      base = remoteBase(this.#resolve, remote);
    } catch (error) {
      this.#deps.platform.log.warn('no backend of an aggregated API', { apiService: remote.name, err: error });
      throw serviceUnavailable('service unavailable');
    }
    const { request, user } = scope;
    const host = `${remote.trust.serverName}:${remote.service.port}`;
    const tls = { ...remote.trust, ...identity() };
    const call = { net, base, path, tls, headers: { host, ...remoteUser(user) }, rejectsRedirects, isolatesPages };
    return await proxyRequest(call, query === request.query ? request : { ...request, query });
  }

  #follow(service: Stored<APIService> | undefined, old: Stored<APIService> | undefined): void {
    const name = (service ?? old)?.metadata.name ?? '';
    const remoteService = this.#remotes.get(name);
    const next = service === undefined ? undefined : remoteServiceOf(service);
    if (remoteService !== undefined && next !== undefined && deepEqual(service?.spec, old?.spec)) return;
    if (remoteService !== undefined) {
      this.#remotes.delete(name);
      this.#metrics.gone(name);
      this.#byGroupVersion.delete(`${remoteService.group}/${remoteService.version}`);
    }
    if (next !== undefined) {
      this.#remotes.set(name, next);
      this.#byGroupVersion.set(`${next.group}/${next.version}`, next);
      this.#check(name);
    }
    if (remoteService !== undefined || next !== undefined) this.#notifyListeners();
  }

  #backendChanged(object: KubernetesObject | undefined): void {
    const { namespace, name, labels } = object?.metadata ?? {};
    const serviceName = labels?.['kubernetes.io/service-name'] ?? name;
    for (const remote of this.#remotes.values())
      if (remote.service.namespace === namespace && remote.service.name === serviceName) this.#check(remote.name);
  }

  /** Runs one check at a time; a change during a check causes another one. */
  #check(name: string): void {
    const running = this.#checking.get(name);
    if (running !== undefined) {
      running.again = true;
      return;
    }
    const state = { again: false };
    this.#checking.set(name, state);
    this.#checkAvailability(name)
      .catch((error: unknown) =>
        this.#deps.platform.log.error('cannot report an APIService', { apiService: name, err: error }),
      )
      .finally(() => {
        this.#checking.delete(name);
        if (state.again) this.#check(name);
      });
  }

  async #checkAvailability(name: string): Promise<void> {
    const remote = this.#remotes.get(name);
    if (remote === undefined) return;
    const { availability, resources } = await checkRemote(this.#checks, remote);
    const openApi = availability.available ? await fetchOpenApi(this.#checks, remote) : remote.openApi;
    if (this.#remotes.get(name) !== remote) return; // replaced in the meantime; its successor has its own checks
    this.#metrics.note(name, availability);
    const changed =
      remote.availability?.available !== availability.available || !deepEqual(remote.resources, resources);
    const describedAnew = remote.openApi.v2 !== openApi.v2 || remote.openApi.v3 !== openApi.v3;
    remote.openApi = openApi;
    remote.availability = availability;
    // While a server is unreachable, its resources are listed as stale.
    if (availability.available) remote.resources = resources;
    if (changed || describedAnew) this.#notifyListeners();
    await this.#report(name, remote);
  }

  async #report(name: string, { availability }: RemoteService): Promise<void> {
    if (availability === undefined) return;
    const { objects, platform } = this.#deps;
    const { available, reason, message } = availability;
    const status = available ? 'True' : 'False';
    try {
      await objects.guaranteedUpdate(APIServices, '', name, (current) => {
        const conditions = current.status?.conditions ?? [];
        const old = conditions.find(({ type }) => type === 'Available');
        if (old?.status === status && old.reason === reason && old.message === message) return undefined;
        const lastTransitionTime =
          old?.status === status && old.lastTransitionTime !== undefined
            ? old.lastTransitionTime
            : formatTime(platform.clock.nowMs());
        const next = { type: 'Available', status, reason, message, lastTransitionTime };
        return { ...current, status: { conditions: [...conditions.filter(({ type }) => type !== 'Available'), next] } };
      });
    } catch (error) {
      if (!(error instanceof StatusError) || !isReason(error, 'NotFound')) throw error;
    }
  }

  #notifyListeners(): void {
    callEach({ log: this.#deps.platform.log, what: 'a listener of aggregated APIs threw' }, this.#listeners);
  }
}

/** Group and version in a path below `/apis/`; '' for what the path lacks. */
function groupVersionOf({ info, request }: RequestScope): { readonly group: string; readonly version: string } {
  if (info.isResourceRequest) return { group: info.apiGroup, version: info.apiVersion };
  const [, , group = '', version = ''] = request.path.split('/', 4);
  return { group, version };
}

function remoteUser({ name, uid, groups, extra }: RequestScope['user']): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = { 'x-remote-user': name, 'x-remote-group': groups };
  if (uid !== undefined && uid !== '') headers['x-remote-uid'] = uid;
  for (const [key, values] of Object.entries(extra ?? {}))
    headers[`x-remote-extra-${headerNamePart(key).toLowerCase()}`] = values;
  return headers;
}
