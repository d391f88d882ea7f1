/** RuntimeClass: a pod takes overhead, node selector and tolerations from its runtime class. Upstream: plugin/pkg/admission/runtimeclass. */
import type { Pod, PodSpec } from '../../../api/gen/core-v1.ts';
import type { RuntimeClass } from '../../../api/gen/node-v1.ts';
import { RuntimeClasses } from '../../../api/gen/resources.ts';
import { stableStringify } from '../../../base/stable-json.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { podsCreated, refusal } from '../refusal.ts';

export function createRuntimeClass(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'RuntimeClass',
    handles: podsCreated,
    mutate(attributes) {
      const { spec } = attributes.object as Pod;
      if (spec === undefined) return undefined;
      return withClass(attributes, objects(), (runtimeClass) => {
        setOverhead(attributes, spec, runtimeClass);
        setScheduling(attributes, spec, runtimeClass);
      });
    },
    validate(attributes) {
      const { spec } = attributes.object as Pod;
      if (spec?.overhead === undefined) return undefined;
      return withClass(attributes, objects(), (runtimeClass) => {
        if (runtimeClass?.overhead?.podFixed === undefined)
          throw refusal(
            attributes,
            'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
          );
      });
    },
  };
}

/**
 * Calls `work` with the pod's class, or without one when it names none. Another server may have just created the
 * class.
 */
function withClass(
  attributes: AdmissionAttributes,
  objects: ObjectStore,
  use: (found: RuntimeClass | undefined) => void,
): void | Promise<void> {
  const name = (attributes.object as Pod).spec?.runtimeClassName ?? '';
  if (name === '') return use(undefined);
  const cached = objects.get(RuntimeClasses, '', name);
  if (cached !== undefined) return use(cached);
  return objects.getFresh(RuntimeClasses, '', name).then((fresh) => {
    if (fresh === undefined) throw refusal(attributes, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
    use(fresh);
  });
}

type Amounts = Readonly<Record<string, string>>;

function sameAmounts(a: Amounts, b: Amounts): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => compareQuantities(a[key]!, b[key] ?? '-1') === 0);
}

function setOverhead(attributes: AdmissionAttributes, spec: PodSpec, runtimeClass: RuntimeClass | undefined): void {
  const fixed = runtimeClass?.overhead?.podFixed;
  if (fixed === undefined) return;
  if (spec.overhead !== undefined && Object.keys(spec.overhead).length > 0 && !sameAmounts(spec.overhead, fixed))
    throw refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  spec.overhead = { ...fixed };
}

function setScheduling(attributes: AdmissionAttributes, spec: PodSpec, found: RuntimeClass | undefined): void {
  const { nodeSelector = {}, tolerations = [] } = found?.scheduling ?? {};
  const own = spec.nodeSelector ?? {};
  for (const [key, value] of Object.entries(nodeSelector)) {
    if (own[key] !== undefined && own[key] !== value)
      throw refusal(
        attributes,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own[key]}`,
      );
  }
  if (Object.keys(nodeSelector).length > 0) spec.nodeSelector = { ...own, ...nodeSelector };
  if (tolerations.length === 0) return;
  const present = new Set((spec.tolerations ?? []).map(stableStringify));
  const missing = tolerations.filter((toleration) => !present.has(stableStringify(toleration)));
  if (missing.length > 0) spec.tolerations = [...(spec.tolerations ?? []), ...missing.map((one) => ({ ...one }))];
}
