/**
 * Writes what a cluster is born with and repairs it at later starts. Runs after the watch cache is filled, before the
 * server is ready. Idempotent; a second server doing the same at once does no harm.
 */
import { deepEqual } from '../../base/equal.ts';
import {
  ClusterRoleBindings,
  ClusterRoles,
  EndpointSlices,
  IngressClasses,
  Endpoints,
  Namespaces,
  PriorityClasses,
  RoleBindings,
  Roles,
  ServiceCIDRs,
  Services,
} from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import {
  kubernetesEndpointSlice,
  kubernetesEndpoints,
  kubernetesService,
  type AdvertisedAddress,
} from './kubernetes-service.ts';
import { ensureFlowObjects } from './flow-objects.ts';
import { ensureTokenTracking } from './legacy-token-tracking.ts';
import { bootstrapNamespaces, bootstrapPriorityClasses } from './objects.ts';
import { bootstrapClusterRoleBindings, bootstrapClusterRoles, bootstrapNamespacedRoles } from './policy.ts';
import { gatewayIngressClass } from '../../component-helpers/gateway-class.ts';
import { bootstrapLocalPath, type LocalPath } from './local-path-class.ts';
import { reconcileBootstrap } from './reconcile-policy.ts';

/** Addresses the bootstrap objects carry. */
export interface BootstrapConfig {
  /** First address of the service range. */
  readonly kubernetesServiceIp: string;
  /** Ranges of service addresses, stored as the ServiceCIDR `kubernetes`. */
  readonly serviceCidrs?: readonly string[];
  /** Addresses of all servers there are. */
  readonly advertised: () => Promise<readonly AdvertisedAddress[]>;
  readonly nowMs: () => number;
  /** Whether the cluster has the default storage class `local-path`. Default: left as it is. */
  readonly localPath?: LocalPath;
  /** True: the cluster has the default ingress class, which Keelson's gateway serves. Default false. */
  readonly gatewayClass?: boolean;
}

/** The RBAC objects, the same for all servers of this process: `reconcileBootstrap` remembers results by them. */
let bootstrapPolicy: ReturnType<typeof createPolicy> | undefined;

function createPolicy() {
  return {
    clusterRoles: bootstrapClusterRoles(),
    clusterRoleBindings: bootstrapClusterRoleBindings(),
    ...bootstrapNamespacedRoles(),
  };
}

/** Creates and reconciles all bootstrap objects. */
export async function bootstrapCluster(objects: ObjectStore, config: BootstrapConfig): Promise<void> {
  const recordLocalPath = await bootstrapLocalPath(objects, config.localPath ?? 'unknown');
  if (config.gatewayClass === true) await objects.ensure(IngressClasses, gatewayIngressClass());
  bootstrapPolicy ??= createPolicy();
  const { clusterRoles, clusterRoleBindings, roles, bindings } = bootstrapPolicy;
  // All at once: they share a few writes to the disk.
  await Promise.all([
    ...bootstrapNamespaces().map((n) => objects.ensure(Namespaces, n)),
    ...clusterRoles.map((o) => reconcile(objects, ClusterRoles, o)),
    ...clusterRoleBindings.map((o) => reconcile(objects, ClusterRoleBindings, o)),
    ...roles.map((o) => reconcile(objects, Roles, o)),
    ...bindings.map((o) => reconcile(objects, RoleBindings, o)),
    ...bootstrapPriorityClasses().map((o) => objects.ensure(PriorityClasses, o)),
    ensureFlowObjects(objects, config.nowMs()),
    ensureTokenTracking(objects, config.nowMs()),
    ensureServiceCidr(objects, config.serviceCidrs),
    publishKubernetesService(objects, config),
  ]);
  await recordLocalPath();
}

async function ensureServiceCidr(objects: ObjectStore, cidrs: BootstrapConfig['serviceCidrs']): Promise<void> {
  if (cidrs === undefined) return;
  await objects.ensure(ServiceCIDRs, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: [...cidrs] },
  });
}

/** Keeps the `kubernetes` Service as it should be. */
export interface KubernetesServiceKeeper {
  /** Looks again: servers may have come or gone. */
  check(): void;
  stop(): void;
}

/**
 * Restores the `kubernetes` Service and its endpoints when they are deleted or changed. Upstream: the
 * kubernetesservice controller's loop.
 */
export function keepKubernetesService(
  objects: ObjectStore,
  config: BootstrapConfig,
  onError: (error: unknown) => void,
): KubernetesServiceKeeper {
  let running: Promise<void> | undefined;
  const check = (): void => {
    running ??= publishKubernetesService(objects, config)
      .catch(onError)
      .finally(() => {
        running = undefined;
      });
  };
  const restore = (now: KubernetesObject | undefined, old: KubernetesObject | undefined): void => {
    const { name, namespace } = (now ?? old)?.metadata ?? {};
    if (name === 'kubernetes' && namespace === 'default' && now !== old) check();
  };
  const stops = [
    objects.onChange(Services, restore),
    objects.onChange(Endpoints, restore),
    objects.onChange(EndpointSlices, restore),
  ];
  return {
    check,
    stop() {
      for (const stop of stops) stop();
    },
  };
}

async function reconcile<T extends KubernetesObject>(
  objects: ObjectStore,
  info: ResourceInfo<T>,
  wanted: T,
): Promise<void> {
  const { name = '', namespace = '' } = wanted.metadata;
  const current = await objects.ensure(info, wanted, { isCanonical: true });
  if (reconcileBootstrap(current, wanted) === undefined) return;
  await objects.guaranteedUpdate(info, namespace, name, (now) => reconcileBootstrap(now, wanted));
}

async function publishKubernetesService(objects: ObjectStore, config: BootstrapConfig): Promise<void> {
  const advertised = await config.advertised();
  const targetPort = advertised[0]?.port ?? 443;
  const service = kubernetesService(config.kubernetesServiceIp, targetPort);
  const endpoints = kubernetesEndpoints(advertised);
  const slice = kubernetesEndpointSlice(advertised);
  await Promise.all([
    replace(objects, Services, {
      wanted: service,
      merge: (now) => ({ ...now, spec: { ...now.spec, ...service.spec } }),
    }),
    replace(objects, Endpoints, {
      wanted: endpoints,
      merge: (now) => ({ ...now, subsets: endpoints.subsets ?? [] }),
    }),
    replace(objects, EndpointSlices, {
      wanted: slice,
      merge: (now) => ({ ...now, endpoints: slice.endpoints, ports: slice.ports ?? [] }),
    }),
  ]);
}

async function replace<T extends KubernetesObject>(
  objects: ObjectStore,
  info: ResourceInfo<T>,
  { wanted, merge }: { wanted: T; merge: (now: T) => T },
): Promise<void> {
  await objects.ensure(info, wanted);
  await objects.guaranteedUpdate(info, wanted.metadata.namespace ?? '', wanted.metadata.name ?? '', (now) => {
    const next = merge(now);
    return deepEqual(next, now) ? undefined : next;
  });
}
