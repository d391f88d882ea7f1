/** Small facts computed from a pod's spec alone. Upstream: pkg/kubelet/util/format, kuberuntime/util. */
import type { Container, EphemeralContainer, Pod, PodSpec, Volume } from '../../api/gen/core-v1.ts';
import { firstByName } from '../../base/first-by.ts';

/** `name_namespace(uid)`, as upstream writes pods in messages. */
export function podFullText(pod: Pod): string {
  const { name, namespace, uid } = pod.metadata;
  return `${name}_${namespace}(${uid})`;
}

/** An ephemeral container with the fields every container has. */
export function asContainer(container: EphemeralContainer): Container {
  return container as Container;
}

/** All containers in start order: init, normal, ephemeral. */
function allContainers(pod: Pod): readonly Container[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers.map(asContainer)];
}

/** The spec of a container by name, of any kind. */
export function findContainer(pod: Pod, name: string): Container | undefined {
  const { spec } = pod;
  if (spec === undefined) return undefined;
  let byName = containersByName.get(spec);
  if (byName === undefined) containersByName.set(spec, (byName = firstByName(allContainers(pod))));
  return byName.get(name);
}

/** An index, since each of the thousands of containers of a terminating pod is looked up. */
const containersByName = new WeakMap<PodSpec, ReadonlyMap<string, Container>>();

/** The pod's volume of that name. */
export function podVolume(pod: Pod, name: string): Volume | undefined {
  const { volumes } = pod.spec ?? {};
  if (volumes === undefined) return undefined;
  let byName = volumesByName.get(volumes);
  if (byName === undefined) volumesByName.set(volumes, (byName = firstByName(volumes)));
  return byName.get(name);
}

/** An index, since each of a pod's thousands of volumes is looked up. */
const volumesByName = new WeakMap<readonly Volume[], ReadonlyMap<string, Volume>>();

/** `spec.containers{web}`, the event's field path of a container. */
export function containerFieldPath(pod: Pod, name: string): string {
  const spec = pod.spec;
  if (spec?.initContainers?.some((container) => container.name === name)) return `spec.initContainers{${name}}`;
  if (spec?.ephemeralContainers?.some((container) => container.name === name))
    return `spec.ephemeralContainers{${name}}`;
  return `spec.containers{${name}}`;
}
