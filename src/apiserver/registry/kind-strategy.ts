/**
 * Builds strategies from a kind's rules: the parts that are the same for every kind (status cleared on create and
 * kept on update, generation increased when the spec changes) exist only here. Upstream: the
 * rest.RESTCreateUpdateStrategy of each registry package.
 */
import { addInt64 } from '../../api/int64.ts';
import { deepEqual } from '../../base/equal.ts';
import { allSteps, type Steps } from '../../base/steps.ts';
import type { FieldCause } from '../../api/status-error.ts';
import { Field } from '../../api/field-error.ts';
import type { NameCheck } from '../../api/name-checks.ts';
import { type FieldNode, leaf } from '../../api/managed-fields/field-set.ts';
import { type KubernetesObject, jsonOf } from '../../api/object.ts';
import type { RequestContext } from '../request-context.ts';
import type { Strategy } from './resource-definition.ts';

/** In steps when it may take long. */
export type Validation = Steps<void> | void;

export interface KindRules<T extends KubernetesObject> {
  defaults?(draft: T): void;
  /** Runs after status and generation were set. */
  prepareForCreate?(draft: T, context: RequestContext): void;
  prepareForUpdate?(draft: T, old: T, context: RequestContext): void;
  validate?(object: T, field: Field): Validation;
  /** Computes in steps what the validation needs and takes long. */
  prepareValidation?(object: T, old: T | undefined): Steps<void>;
  /** Default: `validate`. */
  validateUpdate?(object: T, old: T, field: Field): Validation;
  /** The status of a new object; absent: the kind has none. */
  readonly emptyStatus?: object;
  /** The part whose change increases metadata.generation; absent: the kind has no generation. */
  generationOf?(object: T): unknown;
  /** Whether a new object gets generation 1. Default true; false: none, or the client's. */
  readonly countsCreation?: boolean;
  readonly validateName?: NameCheck;
  readonly resetFields?: FieldNode;
  readonly allowCreateOnUpdate?: boolean;
  /** Default true. */
  readonly allowUnconditionalUpdate?: boolean;
  warnings?(object: T, old: T | undefined): string[];
}

/** The usual {@link KindRules.generationOf}. */
export function specOf(object: KubernetesObject): unknown {
  return (object as { spec?: unknown }).spec;
}

type WithStatus = KubernetesObject & { status?: unknown; spec?: unknown };

function setStatus(draft: KubernetesObject, status: unknown): void {
  (draft as WithStatus).status = status;
}

function statusOf(object: KubernetesObject): unknown {
  return (object as WithStatus).status;
}

/** For {@link KindRules.prepareForUpdate} of kinds whose status is written on create: an update does not change it. */
export function keepStatus<T extends { status?: unknown }>(draft: T, old: T): void {
  if (old.status === undefined) delete draft.status;
  else draft.status = old.status;
}

/** The strategy of the main resource. */
export function kindStrategy<T extends KubernetesObject>(rules: KindRules<T>): Strategy<T> {
  // Parsing text is much faster than structuredClone.
  const emptyStatus = rules.emptyStatus && JSON.stringify(rules.emptyStatus);
  return {
    ...commonParts(rules),
    prepareForCreate(draft, context) {
      if (emptyStatus !== undefined) setStatus(draft, JSON.parse(emptyStatus));
      if (rules.generationOf !== undefined && rules.countsCreation !== false) draft.metadata.generation = 1;
      rules.prepareForCreate?.(draft, context);
    },
    ...validationOf(rules),
    prepareForUpdate(draft, old, context) {
      if (rules.emptyStatus !== undefined) setStatus(draft, statusOf(old));
      rules.prepareForUpdate?.(draft, old, context);
      raiseGeneration(rules, draft, old);
    },
  };
}

function validationOf<T extends KubernetesObject>(rules: KindRules<T>): ValidatingParts<T> {
  return validationParts(
    (object, old, field) =>
      old === undefined || rules.validateUpdate === undefined
        ? rules.validate?.(object, field)
        : rules.validateUpdate(object, old, field),
    rules.prepareValidation,
  );
}

type ValidatingParts<T extends KubernetesObject> = Pick<Strategy<T>, 'validate' | 'validateUpdate' | 'validationSteps'>;

/** The validation as one call and in steps. */
export function validationParts<T extends KubernetesObject>(
  begin: (object: T, old: T | undefined, field: Field) => Validation,
  prepare?: KindRules<T>['prepareValidation'],
): ValidatingParts<T> {
  const atOnce = (object: T, old: T | undefined): FieldCause[] => {
    const field = Field.root(old);
    const validation = begin(object, old, field);
    if (validation !== undefined) allSteps(validation);
    return field.errors;
  };
  return {
    *validationSteps(object, old) {
      if (prepare !== undefined) yield* prepare(object, old);
      const field = Field.root(old);
      const validation = begin(object, old, field);
      if (validation !== undefined) yield* validation;
      return field.errors;
    },
    validate: (object) => atOnce(object, undefined),
    validateUpdate: atOnce,
  };
}

function raiseGeneration<T extends KubernetesObject>(rules: KindRules<T>, draft: T, old: T): void {
  if (rules.generationOf === undefined) return;
  const generation = old.metadata.generation ?? 0;
  const changed = !deepEqual(rules.generationOf(draft), rules.generationOf(old));
  if (changed || generation > 0) draft.metadata.generation = changed ? addInt64(generation, 1) : generation;
}

function commonParts<T extends KubernetesObject>(rules: KindRules<T>): Partial<Strategy<T>> {
  const parts: { -readonly [K in keyof Strategy<T>]?: Strategy<T>[K] } = {
    allowUnconditionalUpdate: rules.allowUnconditionalUpdate ?? true,
    allowCreateOnUpdate: rules.allowCreateOnUpdate ?? false,
  };
  if (rules.resetFields !== undefined) parts.resetFields = rules.resetFields;
  if (rules.defaults !== undefined) parts.applyDefaults = (draft) => rules.defaults!(draft);
  if (rules.warnings !== undefined) parts.warnings = (object, old) => rules.warnings!(object, old);
  if (rules.validateName !== undefined) parts.validateName = rules.validateName;
  return parts;
}

/** The rules of a status sub-resource. */
export interface StatusRules<T extends KubernetesObject> {
  /**
   * Whether a status write changes nothing else, labels and annotations included. Upstream: ResetObjectMetaForStatus.
   */
  readonly keepsMetadata?: boolean;
  /** Default: the spec, and the metadata if they are kept. */
  readonly resetFields?: FieldNode;
  /** Replaces the kind's warnings, since the writer of a status did not write the spec. */
  warnings?(object: T): string[];
  prepareForUpdate?(draft: T, old: T, context: RequestContext): void;
  validateUpdate?(object: T, old: T, field: Field): void;
}

/** The fields that a status sub-resource resets when it accepts only the status. */
export const SPEC_AND_METADATA: FieldNode = { 'f:metadata': leaf, 'f:spec': leaf };

/** The strategy of `status`: everything but the status and, if allowed, metadata stays unchanged. */
export function statusStrategy<T extends KubernetesObject>(
  rules: KindRules<T>,
  status: StatusRules<T> = {},
): Strategy<T> {
  const { keepsMetadata = false, resetFields = keepsMetadata ? SPEC_AND_METADATA : undefined } = status;
  return {
    ...commonParts({ ...rules, resetFields, warnings: status.warnings }),
    validate: () => [],
    prepareForUpdate(draft, old, context) {
      keepAllBut(draft, old, 'status');
      draft.metadata.generation = old.metadata.generation;
      if (keepsMetadata) keepMetadata(draft, old);
      status.prepareForUpdate?.(draft, old, context);
    },
    validateUpdate(object, old) {
      const field = Field.root(old);
      status.validateUpdate?.(object, old, field);
      return field.errors;
    },
  };
}

/** Restores the metadata that every writer may change. */
function keepMetadata({ metadata }: KubernetesObject, old: KubernetesObject): void {
  const { deletionTimestamp, labels, annotations, finalizers, ownerReferences } = old.metadata;
  Object.assign(metadata, { deletionTimestamp, labels, annotations, finalizers, ownerReferences });
}

/** Restores every top-level field but metadata and `changing` from the old object. */
export function keepAllBut(draft: KubernetesObject, old: KubernetesObject, changing: string): void {
  const target = jsonOf(draft);
  const source = jsonOf(old);
  for (const key of new Set([...Object.keys(target), ...Object.keys(source)])) {
    if (key === 'apiVersion' || key === 'kind' || key === 'metadata' || key === changing) continue;
    if (source[key] === undefined) delete target[key];
    else target[key] = source[key];
  }
}
