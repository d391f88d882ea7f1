/** What a pod asks of a node in all. Pure. Upstream: k8s.io/component-helpers/resource PodRequests. */
import type { Container, Pod } from '../api/gen/core-v1.ts';
import { addQuantities, compareQuantities } from '../api/quantity.ts';

type Resources = Record<string, string>;

function add(a: Readonly<Resources>, b: Readonly<Resources>): Resources {
  const sum: Resources = { ...a };
  for (const [name, quantity] of Object.entries(b))
    sum[name] = sum[name] === undefined ? quantity : addQuantities(sum[name], quantity);
  return sum;
}

function max(a: Readonly<Resources>, b: Readonly<Resources>): Resources {
  const larger: Resources = { ...a };
  for (const [name, quantity] of Object.entries(b)) {
    if (larger[name] === undefined || compareQuantities(quantity, larger[name]) > 0) larger[name] = quantity;
  }
  return larger;
}

/** Requests of a container; a limit without a request counts as one. */
function containerRequests(container: Container): Readonly<Resources> {
  return { ...container.resources?.limits, ...container.resources?.requests };
}

/** Sum of the containers and sidecars, or the largest step of initialization if that is more, plus overhead. */
export function podRequests(pod: Pod): Readonly<Resources> {
  let running: Resources = {};
  for (const container of pod.spec?.containers ?? []) running = add(running, containerRequests(container));
  let sidecars: Resources = {};
  let initializing: Resources = {};
  for (const container of pod.spec?.initContainers ?? []) {
    const requests = containerRequests(container);
    if (container.restartPolicy === 'Always') {
      sidecars = add(sidecars, requests);
      running = add(running, requests);
      initializing = max(initializing, sidecars);
    } else initializing = max(initializing, add(requests, sidecars));
  }
  const all = { ...max(running, initializing), ...pod.spec?.resources?.requests };
  return add(all, pod.spec?.overhead ?? {});
}
