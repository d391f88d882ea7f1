/**
 * The annotation of client-side apply, which `kubectl apply --server-side` keeps current, so that either kind of apply can
 * continue after the other. Upstream: managedfields/internal lastappliedmanager.go and lastappliedupdater.go.
 */
import { sortKeys } from '../../base/stable-json.ts';
import { parseJson, stringifyJson } from '../codec/json.ts';
import { getOwn, isObject, type JsonObject } from '../codec/own-property.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { compare } from './field-compare.ts';
import { fieldSetOf } from './field-extract.ts';
import { difference, type FieldSet } from './field-set.ts';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
/** The limit of all annotations of an object. An annotation that would exceed it is left out. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

function annotationsOf(object: JsonObject): JsonObject {
  const metadata = getOwn(object, 'metadata');
  const annotations = isObject(metadata) ? getOwn(metadata, 'annotations') : undefined;
  return isObject(annotations) ? annotations : {};
}

/**
 * The fields that the annotation records with their current values; undefined when it is absent or not a configuration of this
 * kind and version.
 */
export function lastAppliedFields(live: JsonObject, schema: StructSchema, apiVersion: string): FieldSet {
  const text = getOwn(annotationsOf(live), ANNOTATION);
  if (typeof text !== 'string') return undefined;
  try {
    const applied = parseJson(text).value;
    if (!isObject(applied) || getOwn(applied, 'apiVersion') !== apiVersion) return undefined;
    const { changed, removed } = compare(schema, applied, live);
    return difference(difference(fieldSetOf(schema, applied), changed), removed);
  } catch {
    return undefined;
  }
}

/** Updates the annotation of an object that has one to the applied configuration. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  if ((getOwn(annotations, ANNOTATION) ?? '') === '') return object;
  const { [ANNOTATION]: before, ...others } = annotations;
  const text = `${stringifyJson(sortKeys(withoutAnnotation(applied)))}\n`;
  if (text === before) return object;
  const next =
    bytesOf({ ...others, [ANNOTATION]: text }) > MAX_ANNOTATION_BYTES ? others : { ...others, [ANNOTATION]: text };
  return { ...object, metadata: { ...(object['metadata'] as JsonObject), annotations: next } };
}

function withoutAnnotation(applied: JsonObject): JsonObject {
  const annotations = annotationsOf(applied);
  if (!Object.hasOwn(annotations, ANNOTATION)) return applied;
  const { [ANNOTATION]: _, ...others } = annotations;
  const { annotations: __, ...metadata } = applied['metadata'] as JsonObject;
  return { ...applied, metadata: Object.keys(others).length > 0 ? { ...metadata, annotations: others } : metadata };
}

function bytesOf(annotations: JsonObject): number {
  return Object.entries(annotations).reduce(
    (total, [key, value]) => total + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
}
