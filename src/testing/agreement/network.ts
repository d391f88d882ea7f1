/** Endpoints are the ready pods, and no two pods of a cluster have the same address. */
import { EndpointSlices, Pods, Services } from '../../api/gen/resources.ts';
import { compileLabelMap } from '../../api/label-selector.ts';
import { isPodActive, isPodReady, isPodTerminal } from '../../component-helpers/pods.ts';
import { hasManagedEndpoints } from '../../controllers/service-endpoints.ts';
import type { Cluster } from '../cluster.ts';
import { nameOf } from './comparisons.ts';

export function endpoints(cluster: Cluster): string[] {
  return cluster.peek(Services).flatMap((service) => {
    const { selector, publishNotReadyAddresses } = service.spec ?? {};
    if (!hasManagedEndpoints(service) || publishNotReadyAddresses === true) return [];
    const { namespace, name } = service.metadata;
    const matcher = compileLabelMap(selector ?? {});
    const wanted = cluster
      .peek(Pods)
      .filter(
        (pod) =>
          pod.metadata.namespace === namespace &&
          matcher.matches(pod.metadata.labels) &&
          isPodActive(pod) &&
          isPodReady(pod),
      )
      .map(({ status }) => status?.podIP);
    const listed = cluster
      .peek(EndpointSlices)
      .filter(
        ({ metadata }) => metadata.namespace === namespace && metadata.labels?.['kubernetes.io/service-name'] === name,
      )
      .flatMap((slice) => slice.endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses: endpointAddresses }) => endpointAddresses);
    const [is, should] = [listed.toSorted().join(), wanted.toSorted().join()];
    return is === should ? [] : [`${nameOf(service)} has the endpoints ${is || 'none'}, ready are ${should || 'none'}`];
  });
}

/** No two running pods have the same address. */
export function addresses(cluster: Cluster): string[] {
  const seen = new Map<string, string>();
  return cluster.peek(Pods).flatMap((pod) => {
    const { podIP } = pod.status ?? {};
    if (podIP === undefined || pod.spec?.hostNetwork === true || isPodTerminal(pod)) return [];
    const other = seen.get(podIP);
    seen.set(podIP, nameOf(pod));
    return other === undefined ? [] : [`${other} and ${nameOf(pod)} both have the address ${podIP}`];
  });
}
