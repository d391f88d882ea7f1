/**
 * PodTolerationRestriction: pods get the default tolerations of their namespace, and may have only those it allows. Upstream:
 * plugin/pkg/admission/podtolerationrestriction.
 *
 * Annotations of the namespace take precedence over the configuration. Pods that are not BestEffort tolerate nodes short of
 * memory.
 */
import type { Stored } from '../../../api/object.ts';
import { scanJsonIn } from '../../../api/codec/parts.ts';
import { DecodeError, decodeTyped } from '../../../api/codec/typed.ts';
import type { Namespace, Pod, Toleration } from '../../../api/gen/core-v1.ts';
import { Namespaces } from '../../../api/gen/resources.ts';
import { computePodQosClass } from '../../../api/pod-qos.ts';
import { typeSchema } from '../../../api/schema/schema.ts';
import type { StructSchema } from '../../../api/schema/type-schema.ts';
import { notFound } from '../../../api/status-error.ts';
import { type Steps, stepByStep } from '../../../base/steps.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { refusal, podsCreatedOrUpdated } from '../refusal.ts';
import { areCovered, mergeTolerations } from './tolerations.ts';

const schema = typeSchema('core.v1.Toleration') as StructSchema;

const DEFAULT_ANNOTATION = 'scheduler.alpha.kubernetes.io/defaultTolerations';
const ALLOWED_ANNOTATION = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';

/** Defaults for namespaces without the annotations. */
export interface TolerationConfig {
  readonly default: readonly Toleration[];
  readonly whitelist: readonly Toleration[];
}

export function createPodTolerationRestriction(
  objects: () => ObjectStore,
  config: TolerationConfig = { default: [], whitelist: [] },
): AdmissionPlugin {
  const namespaceOf = async ({ namespace }: AdmissionAttributes): Promise<Stored<Namespace>> => {
    const namespaceObject =
      objects().get(Namespaces, '', namespace) ?? (await objects().getFresh(Namespaces, '', namespace));
    if (namespaceObject === undefined) throw notFound({ group: '', resource: 'namespaces' }, namespace);
    return namespaceObject;
  };
  return {
    name: 'PodTolerationRestriction',
    handles: podsCreatedOrUpdated,
    async mutate(attributes) {
      const pod = attributes.object as Pod;
      const { spec } = pod;
      if (spec === undefined) return;
      let tolerations: readonly Toleration[] = spec.tolerations ?? [];
      if (attributes.operation === 'CREATE') {
        const own = readTolerations(attributes, await namespaceOf(attributes), DEFAULT_ANNOTATION) ?? config.default;
        tolerations = await inSteps(attributes, mergeTolerations(own, tolerations));
      }
      if (computePodQosClass(pod) !== 'BestEffort')
        tolerations = await inSteps(attributes, mergeTolerations(tolerations, [MEMORY_PRESSURE]));
      if (tolerations.length > 0) spec.tolerations = [...tolerations];
    },
    async validate(attributes) {
      const tolerations = (attributes.object as Pod).spec?.tolerations ?? [];
      if (tolerations.length === 0) return;
      const allowed =
        readTolerations(attributes, await namespaceOf(attributes), ALLOWED_ANNOTATION) ?? config.whitelist;
      if (allowed.length === 0) return;
      if (!(await inSteps(attributes, areCovered(tolerations, allowed))))
        throw refusal(
          attributes,
          'pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist',
        );
    },
  };
}

const MEMORY_PRESSURE: Toleration = {
  key: 'node.kubernetes.io/memory-pressure',
  operator: 'Exists',
  effect: 'NoSchedule',
};

/** Runs the steps and yields the event loop between them. */
function inSteps<T>({ context }: AdmissionAttributes, steps: Steps<T>): T | Promise<T> {
  return stepByStep(steps, () => context.pause?.());
}

/** Undefined when the namespace has no such annotation. */
function readTolerations(
  attributes: AdmissionAttributes,
  { metadata }: Stored<Namespace>,
  annotation: string,
): readonly Toleration[] | undefined {
  const text = metadata.annotations?.[annotation];
  if (text === undefined) return undefined;
  if (text === '') return [];
  try {
    const value: unknown = scanJsonIn(`the annotation ${annotation}`, text) ? undefined : JSON.parse(text);
    if (Array.isArray(value)) return value.map((item) => decodeTyped(schema, item ?? {}).object as Toleration);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof DecodeError)) throw error;
  }
  throw refusal(attributes, `annotation ${annotation} of namespace ${metadata.name} is no list of tolerations`);
}
