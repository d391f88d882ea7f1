/** Validation of updates of a pod's status. Upstream: ValidatePodStatusUpdate in apis/core/validation. */
import { parseIp } from '../../base/cidr.ts';
import { firstByName } from '../../base/first-by.ts';
import type { Field } from '../field-error.ts';
import type { Pod } from '../gen/core-v1.ts';
import { isDns1123Subdomain } from '../names.ts';
import { validateImmutable } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validatePodAnnotationUpdates } from './pod-annotations.ts';
import { annotationsAt } from './pod-update.ts';

type Addresses = readonly { readonly ip?: string }[] | undefined;
/** At most one address of each family. An address that was there before may keep its spelling. */
function validateAddresses(addresses: Addresses, before: Addresses, place: Field): void {
  const texts = (addresses ?? []).map(({ ip = '' }) => ip);
  const existing = new Set((before ?? []).map(({ ip }) => ip));
  for (const [index, text] of texts.entries()) if (!existing.has(text)) validateIp(text, place.item(index));
  const families = new Set(texts.map((text) => parseIp(text)?.family));
  if (texts.length > 1 && (texts.length > 2 || families.size !== 2))
    place.invalid(
      texts.map((text) => ({ IP: text })),
      'may specify no more than one IP for each IP family',
    );
}

/** Validates an update of a pod's status. */
export function validatePodStatusUpdate(pod: Pod, old: Pod, field: Field): void {
  validatePodAnnotationUpdates(pod, old, annotationsAt(field));
  const place = field.at('status');
  const { nominatedNodeName = '', qosClass } = pod.status ?? {};
  if (nominatedNodeName !== '' && nominatedNodeName !== old.status?.nominatedNodeName)
    place.at('nominatedNodeName').complain(nominatedNodeName, isDns1123Subdomain(nominatedNodeName));
  if (old.status?.qosClass !== undefined) validateImmutable(qosClass, old.status.qosClass, place.at('qosClass'));
  validateAddresses(pod.status?.podIPs, old.status?.podIPs, place.at('podIPs'));
  const [hostIp] = pod.status?.hostIPs ?? [];
  if (hostIp !== undefined && hostIp.ip !== (pod.status?.hostIP ?? ''))
    place.at('hostIPs').item(0).at('ip').invalid(hostIp.ip, 'must be equal to `hostIP`');
  validateAddresses(pod.status?.hostIPs, old.status?.hostIPs, place.at('hostIPs'));
  if (old.spec?.restartPolicy !== 'Always') validateRestarts(pod, old, place);
}

/** A terminated container must stay terminated, unless the pod's restart policy or the container's own restarts it. */
function validateRestarts(pod: Pod, old: Pod, place: Field): void {
  const containers = [...(old.spec?.initContainers ?? []), ...(old.spec?.containers ?? [])];
  // Sidecars and containers with restart rules restart whatever the pod's policy is.
  const own = containers.filter(({ restartPolicy }) => restartPolicy !== undefined);
  const withOwnPolicy = new Set(own.map(({ name }) => name));
  for (const kind of ['containerStatuses', 'initContainerStatuses'] as const) {
    const byName = firstByName(old.status?.[kind]);
    for (const [index, status] of (pod.status?.[kind] ?? []).entries()) {
      const before = byName.get(status.name);
      const restarts = old.spec?.restartPolicy === 'OnFailure' && before?.state?.terminated?.exitCode !== 0;
      if (
        before?.state?.terminated !== undefined &&
        status.state?.terminated === undefined &&
        !restarts &&
        !withOwnPolicy.has(status.name)
      ) {
        place.at(kind).item(index).at('state').forbidden('may not be transitioned to non-terminated state');
      }
    }
  }
}
