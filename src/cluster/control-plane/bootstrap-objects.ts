/** The objects that a control plane writes at its start. */
import { type BootstrapConfig, bootstrapCluster } from '../../apiserver/bootstrap/bootstrap.ts';
import { ConfigMaps } from '../../api/gen/resources.ts';
import { bootstrapNodeJoin, CLUSTER_CONFIG } from '../../apiserver/bootstrap/node-join.ts';
import { bootstrapServerJoin } from '../../apiserver/bootstrap/server-join.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { clusterInfoYaml } from '../kubeconfig.ts';
import { parseIp } from '../../base/cidr.ts';
import { criticalDifferences } from '../join/critical-settings.ts';
import type { ControlPlaneDeps } from './control-plane-deps.ts';

/**
 * Creates the initial objects of a cluster. `bootstrapCluster` is called first, as it reads whether the cluster is
 * new.
 */
export async function bootstrapAll(
  { deps, authorities }: { readonly deps: ControlPlaneDeps; readonly authorities: { publish(): Promise<void> } },
  objects: ObjectStore,
  config: BootstrapConfig,
): Promise<void> {
  const { settings, serverJoin } = deps;
  await Promise.all([
    bootstrapCluster(objects, config),
    authorities.publish(),
    settings?.servesJoin === false ? undefined : publishJoin(deps, objects),
    serverJoin && bootstrapServerJoin(objects),
  ]);
}

/** Creates the objects that joining machines read. */
async function publishJoin(deps: ControlPlaneDeps, objects: ObjectStore): Promise<void> {
  const { pki, instance } = deps;
  const clusterConfig = {
    clusterCidr: instance.clusterCidr,
    serviceCidr: instance.serviceCidr,
    clusterDomain: instance.clusterDomain,
    cni: instance.cni ?? 'keelson',
    dns: instance.dns ?? 'keelson',
    flannelBackend: instance.flannelBackend ?? 'vxlan',
    ...deps.settings?.publishedParts,
  };
  await warnOfDifferences(deps, objects, clusterConfig);
  const clusterInfoKubeconfig = clusterInfoYaml({ server: serverUrl(deps), caPem: pki.ca.certPem });
  await bootstrapNodeJoin(objects, { clusterInfoKubeconfig, clusterConfig });
}

/** A changed setting takes effect server by server, so a start is not refused; the log names what the others need. */
async function warnOfDifferences(
  { platform, store }: ControlPlaneDeps,
  objects: ObjectStore,
  own: Readonly<Record<string, string>>,
): Promise<void> {
  const isShared = store.latestRevision !== undefined;
  if (!isShared) return;
  const published = await objects.getFresh(ConfigMaps, 'kube-system', CLUSTER_CONFIG);
  const differing = criticalDifferences(own, published?.data ?? {});
  if (differing.length > 0)
    platform.log.warn('this server was started with settings that all servers of a cluster must share', {
      changed: differing.map((each) => `--${each.flag} ${each.published} → ${each.own}`),
    });
}

/** The URL at which other machines reach the API server. `name` may include a port. */
export function serverUrl({ hostAddress, instance }: ControlPlaneDeps, name = hostAddress): string {
  const host = parseIp(name)?.family === 6 ? `[${name}]` : name;
  return /[^\]]:\d+$/.test(host) ? `https://${host}` : `https://${host}:${instance.httpsPort}`;
}
