/**
 * Pods of one class are equal for every plugin that depends on pod and node alone: in practice, pods of one template.
 */
import { stringifyJson } from '../../api/codec/json.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';

/**
 * The parts of a pod that such plugins may read, as text. Names of volumes and mounts differ within a template and
 * are left out.
 */
export function podClassKey({ spec }: Stored<Pod>): string {
  if (spec === undefined) return '';
  const own = [
    spec.nodeName,
    spec.nodeSelector,
    spec.affinity?.nodeAffinity,
    spec.tolerations,
    spec.overhead,
    spec.resources,
    spec.hostNetwork,
    spec.hostUsers,
    spec.containers.map(containerKey),
    spec.initContainers?.map(containerKey),
  ];
  return stringifyJson(own);
}

function containerKey({ image, resources, ports, restartPolicy, restartPolicyRules }: Container): unknown[] {
  return [image, resources, ports, restartPolicy, restartPolicyRules];
}
