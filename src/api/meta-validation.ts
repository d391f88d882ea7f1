/**
 * Validation of object metadata on create and update. Upstream: apimachinery/pkg/api/validation/objectmeta.go and the stricter
 * finalizer check of apis/core/validation.
 */
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from './gen/meta-v1.ts';
import type { Field } from './field-error.ts';
import { isLabelValue, isQualifiedName } from './names.ts';
import { nameIsDnsLabel, type NameCheck } from './name-checks.ts';

/** The limit for keys and values of all annotations together. */
const TOTAL_ANNOTATION_SIZE_LIMIT_BYTES = 262144;

/** The error text for an immutable field. */
export const FIELD_IMMUTABLE_TEXT = 'field is immutable';

/** Rules that depend on the kind of the object. */
export interface MetaRules {
  readonly namespaced: boolean;
  readonly validateName: NameCheck;
  /** Default: `standard`. */
  readonly finalizers?: FinalizerNames;
}

/**
 * `standard`: a standard name or one with a path (apis/core/validation). `qualified`: any qualified name, checked only on create
 * (apimachinery's check alone).
 */
export type FinalizerNames = 'standard' | 'qualified';

/** Groups whose validation upstream builds on apimachinery's check alone. */
const QUALIFIED_FINALIZERS: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'coordination.k8s.io',
]);

/** The rule for finalizer names in a built-in group. */
export function finalizerNamesOf(group: string): FinalizerNames {
  return QUALIFIED_FINALIZERS.has(group) ? 'qualified' : 'standard';
}

/** Checks metadata of a new object. */
export function validateObjectMeta(meta: ObjectMeta, rules: MetaRules, field: Field): void {
  validateNames(meta, rules, field);
  if ((meta.generation ?? 0) < 0) {
    field.at('generation').invalid(meta.generation, 'must be greater than or equal to 0');
  }
  validateLabels(meta.labels, field.at('labels'));
  validateAnnotations(meta.annotations, field.at('annotations'));
  validateOwnerReferences(meta.ownerReferences ?? [], field.at('ownerReferences'));
  validateFinalizers(meta.finalizers ?? [], field.at('finalizers'), rules.finalizers);
  validateManagedFields(meta.managedFields ?? [], field.at('managedFields'));
}

function validateNames(meta: ObjectMeta, rules: MetaRules, field: Field): void {
  const { name = '', generateName = '', namespace = '' } = meta;
  if (generateName !== '') {
    field.at('generateName').complain(generateName, rules.validateName(generateName, true));
  }
  if (name === '') field.at('name').required('name or generateName is required');
  else field.at('name').complain(name, rules.validateName(name, false));
  if (!rules.namespaced) {
    if (namespace !== '') field.at('namespace').forbidden('not allowed on this type');
  } else if (namespace === '') {
    field.at('namespace').required();
  } else {
    field.at('namespace').complain(namespace, nameIsDnsLabel(namespace, false));
  }
}

/** Checks keys and values of labels. */
export function validateLabels(labels: Readonly<Record<string, string>> | undefined, field: Field): void {
  if (labels === undefined) return;
  for (const [key, value] of Object.entries(labels)) {
    validateLabelName(key, field);
    field.complain(value, isLabelValue(value));
  }
}

/** Checks a label's key. */
export function validateLabelName(key: string, field: Field): void {
  field.complain(key, isQualifiedName(key));
}

/** Checks keys and total size of annotations. */
export function validateAnnotations(annotations: Readonly<Record<string, string>> | undefined, field: Field): void {
  if (annotations === undefined) return;
  let totalBytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    field.complain(key, isQualifiedName(key.toLowerCase()));
    totalBytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (totalBytes > TOTAL_ANNOTATION_SIZE_LIMIT_BYTES) field.tooLong(TOTAL_ANNOTATION_SIZE_LIMIT_BYTES);
}

function validateOwnerReferences(owners: readonly OwnerReference[], field: Field): void {
  let controller: OwnerReference | undefined;
  for (const owner of owners) {
    validateOwnerReference(owner, field);
    if (owner.controller !== true) continue;
    if (controller === undefined) controller = owner;
    else {
      const names = [controller, owner].map(({ kind, name }) => `${kind}/${name}`).join(' and ');
      field.invalid(
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${names}`,
      );
    }
  }
}

function validateOwnerReference(owner: OwnerReference, field: Field): void {
  const parts = owner.apiVersion.split('/');
  // As upstream, a text that is no group and version has neither.
  if (parts.length > 2 || parts.at(-1) === '')
    field.at('apiVersion').invalid(owner.apiVersion, 'version must not be empty');
  for (const name of ['kind', 'name', 'uid'] as const) {
    if ((owner[name] ?? '') === '') field.at(name).invalid(owner[name] ?? '', 'must not be empty');
  }
  if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
    field.invalid(owner, `/v1, Kind=Event is disallowed from being an owner`);
  }
}

const MAX_MANAGER_BYTES = 128;
const MAX_SUBRESOURCE_BYTES = 256;
/** Go's printable characters: letters, marks, numbers, punctuation, symbols and the ASCII space. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

const PRINTABLE_ASCII = /^[ -~]*$/;

/** Checks a field manager's name in options and managed fields. The characters of a name that is too long are not checked. */
export function validateFieldManager(manager: string, field: Field): void {
  if (Buffer.byteLength(manager) > MAX_MANAGER_BYTES) {
    field.tooLong(MAX_MANAGER_BYTES);
    return;
  }
  if (PRINTABLE_ASCII.test(manager)) return;
  for (const { 0: character, index } of manager.matchAll(UNPRINTABLE)) {
    const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    field.invalid(manager, `invalid character U+${code} (at position ${Buffer.byteLength(manager.slice(0, index))})`);
  }
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[], field: Field): void {
  for (const [index, { operation = '', fieldsType = '', manager = '', subresource = '' }] of entries.entries()) {
    const place = field.item(index);
    if (operation !== 'Apply' && operation !== 'Update')
      place.at('operation').invalid(operation, 'must be `Apply` or `Update`');
    if (fieldsType !== '' && fieldsType !== 'FieldsV1')
      place.at('fieldsType').invalid(fieldsType, 'must be `FieldsV1`');
    validateFieldManager(manager, place.at('manager'));
    if (Buffer.byteLength(subresource) > MAX_SUBRESOURCE_BYTES) place.at('subresource').tooLong(MAX_SUBRESOURCE_BYTES);
  }
}

const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** Whether this is one of the finalizers that Kubernetes defines, whose names have no path. */
export function isStandardFinalizer(finalizer: string): boolean {
  return STANDARD_FINALIZERS.has(finalizer);
}

/** Checks finalizers: qualified names, and never orphan and foreground together. */
function validateFinalizers(finalizers: readonly string[], field: Field, names: FinalizerNames = 'standard'): void {
  for (const [index, finalizer] of finalizers.entries()) {
    field.complain(finalizer, isQualifiedName(finalizer));
    if (names === 'standard' && !finalizer.includes('/') && !isStandardFinalizer(finalizer)) {
      field.item(index).invalid(finalizer, 'name is neither a standard finalizer name nor is it fully qualified');
    }
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    field.invalid(finalizers, 'finalizer orphan and foregroundDeletion cannot be both set');
  }
}

const IMMUTABLE = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/** Checks metadata of an update: immutable fields, and the checks on create. The caller has copied system fields. */
export function validateObjectMetaUpdate(
  meta: ObjectMeta,
  { old, finalizers = 'standard' }: { readonly old: ObjectMeta; readonly finalizers?: FinalizerNames },
  field: Field,
): void {
  if (old.deletionTimestamp !== undefined) {
    const existingFinalizers = new Set(old.finalizers ?? []);
    const added = (meta.finalizers ?? []).filter((finalizer) => !existingFinalizers.has(finalizer));
    if (added.length > 0) {
      const shown = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
      field
        .at('finalizers')
        .forbidden(`no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`);
    }
  }
  if ((meta.resourceVersion ?? '') === '')
    field.at('resourceVersion').invalid(meta.resourceVersion ?? '', 'must be specified for an update');
  if ((meta.generation ?? 0) < (old.generation ?? 0))
    field.at('generation').invalid(meta.generation ?? 0, 'must not be decremented');
  if ((meta.generation ?? 0) < 0) field.at('generation').invalid(meta.generation, 'must be greater than or equal to 0');
  for (const name of IMMUTABLE) {
    if (meta[name] !== old[name]) field.at(name).invalid(meta[name] ?? '', FIELD_IMMUTABLE_TEXT);
  }
  validateLabels(meta.labels, field.at('labels'));
  validateAnnotations(meta.annotations, field.at('annotations'));
  validateOwnerReferences(meta.ownerReferences ?? [], field.at('ownerReferences'));
  validateManagedFields(meta.managedFields ?? [], field.at('managedFields'));
  if (finalizers === 'standard') validateFinalizers(meta.finalizers ?? [], field.at('finalizers'));
}
