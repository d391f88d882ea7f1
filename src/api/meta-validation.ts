/**
 * Validation of object metadata, on create and on update. Upstream: apimachinery/pkg/api/validation/objectmeta.go and
 * the stricter finalizer check of apis/core/validation.
 */
import type { ObjectMeta, OwnerReference } from './gen/meta-v1.ts';
import { at, forbiddenField, invalidValue, item, required, tooLong, type FieldErrors } from './field-error.ts';
import { isLabelValue, isQualifiedName, nameIsDnsLabel, type NameCheck } from './names.ts';

/** All annotations of an object together, keys and values, in bytes. */
export const TOTAL_ANNOTATION_SIZE_LIMIT_BYTES = 262144;

/** What a field that may not change is told. */
export const FIELD_IMMUTABLE_TEXT = 'field is immutable';

/** What kind of object the metadata belongs to. */
export interface MetaRules {
  readonly namespaced: boolean;
  readonly validateName: NameCheck;
}

/** Checks metadata of a new object. */
export function validateObjectMeta(meta: ObjectMeta, rules: MetaRules, path: string, errors: FieldErrors): void {
  validateNames(meta, rules, path, errors);
  if ((meta.generation ?? 0) < 0) {
    errors.push(invalidValue(at(path, 'generation'), meta.generation, 'must be greater than or equal to 0'));
  }
  validateLabels(meta.labels, at(path, 'labels'), errors);
  validateAnnotations(meta.annotations, at(path, 'annotations'), errors);
  validateOwnerReferences(meta.ownerReferences ?? [], at(path, 'ownerReferences'), errors);
  validateFinalizers(meta.finalizers ?? [], at(path, 'finalizers'), errors);
}

function validateNames(meta: ObjectMeta, rules: MetaRules, path: string, errors: FieldErrors): void {
  const { name = '', generateName = '', namespace = '' } = meta;
  if (generateName !== '') {
    for (const text of rules.validateName(generateName, true)) errors.push(invalidValue(at(path, 'generateName'), generateName, text));
  }
  if (name === '') errors.push(required(at(path, 'name'), 'name or generateName is required'));
  else for (const text of rules.validateName(name, false)) errors.push(invalidValue(at(path, 'name'), name, text));
  if (!rules.namespaced) {
    if (namespace !== '') errors.push(forbiddenField(at(path, 'namespace'), 'not allowed on this type'));
  } else if (namespace === '') {
    errors.push(required(at(path, 'namespace')));
  } else {
    for (const text of nameIsDnsLabel(namespace, false)) errors.push(invalidValue(at(path, 'namespace'), namespace, text));
  }
}

/** Checks keys and values of labels. */
export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: string, errors: FieldErrors): void {
  if (labels === undefined) return;
  for (const [key, value] of Object.entries(labels)) {
    validateLabelName(key, path, errors);
    for (const text of isLabelValue(value)) errors.push(invalidValue(path, value, text));
  }
}

/** Checks a label's key. */
export function validateLabelName(key: string, path: string, errors: FieldErrors): void {
  for (const text of isQualifiedName(key)) errors.push(invalidValue(path, key, text));
}

/** Checks keys and total size of annotations. */
export function validateAnnotations(annotations: Readonly<Record<string, string>> | undefined, path: string, errors: FieldErrors): void {
  if (annotations === undefined) return;
  let totalBytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    for (const text of isQualifiedName(key.toLowerCase())) errors.push(invalidValue(path, key, text));
    totalBytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (totalBytes > TOTAL_ANNOTATION_SIZE_LIMIT_BYTES) errors.push(tooLong(path, TOTAL_ANNOTATION_SIZE_LIMIT_BYTES));
}

function validateOwnerReferences(owners: readonly OwnerReference[], path: string, errors: FieldErrors): void {
  let controller: OwnerReference | undefined;
  for (const owner of owners) {
    validateOwnerReference(owner, path, errors);
    if (owner.controller !== true) continue;
    if (controller === undefined) controller = owner;
    else {
      const names = `${controller.name} and ${owner.name}`;
      errors.push(invalidValue(path, owners, `Only one reference can have Controller set to true. Found "true" in references for ${names}`));
    }
  }
}

function validateOwnerReference(owner: OwnerReference, path: string, errors: FieldErrors): void {
  const version = owner.apiVersion.split('/').at(-1) ?? '';
  if (version === '') errors.push(invalidValue(at(path, 'apiVersion'), owner.apiVersion, 'version must not be empty'));
  for (const field of ['kind', 'name', 'uid'] as const) {
    if ((owner[field] ?? '') === '') errors.push(invalidValue(at(path, field), owner[field] ?? '', 'must not be empty'));
  }
  if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
    errors.push(invalidValue(path, owner, `/v1, Kind=Event is disallowed from being an owner`));
  }
}

const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** Checks finalizers: qualified names, never orphan and foreground at once. */
export function validateFinalizers(finalizers: readonly string[], path: string, errors: FieldErrors): void {
  for (const [index, finalizer] of finalizers.entries()) {
    for (const text of isQualifiedName(finalizer)) errors.push(invalidValue(path, finalizer, text));
    if (!finalizer.includes('/') && !STANDARD_FINALIZERS.has(finalizer)) {
      errors.push(invalidValue(item(path, index), finalizer, 'name is neither a standard finalizer name nor is it fully qualified'));
    }
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(invalidValue(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  }
}

const IMMUTABLE = ['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const;

/** Checks metadata of an update: what may not change, and what is checked on create too. The caller has copied system fields. */
export function validateObjectMetaUpdate(meta: ObjectMeta, old: ObjectMeta, path: string, errors: FieldErrors): void {
  if (old.deletionTimestamp !== undefined) {
    const known = new Set(old.finalizers ?? []);
    const added = (meta.finalizers ?? []).filter((finalizer) => !known.has(finalizer));
    if (added.length > 0) {
      const shown = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
      errors.push(forbiddenField(at(path, 'finalizers'), `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`));
    }
  }
  if ((meta.resourceVersion ?? '') === '') errors.push(invalidValue(at(path, 'resourceVersion'), meta.resourceVersion ?? '', 'must be specified for an update'));
  if ((meta.generation ?? 0) < (old.generation ?? 0)) errors.push(invalidValue(at(path, 'generation'), meta.generation ?? 0, 'must not be decremented'));
  for (const field of IMMUTABLE) {
    if (meta[field] !== old[field]) errors.push(invalidValue(at(path, field), meta[field] ?? '', FIELD_IMMUTABLE_TEXT));
  }
  validateLabels(meta.labels, at(path, 'labels'), errors);
  validateAnnotations(meta.annotations, at(path, 'annotations'), errors);
  validateOwnerReferences(meta.ownerReferences ?? [], at(path, 'ownerReferences'), errors);
  validateFinalizers(meta.finalizers ?? [], at(path, 'finalizers'), errors);
}
