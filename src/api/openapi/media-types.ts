/** The media types that operations produce, as OpenAPI documents list them. */
import type { ProducedFact } from './operation-facts.ts';

/** The media types of objects. */
export const OBJECT_TYPES: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
];

/** The media types of an operation's response. */
export const PRODUCED_TYPES: Readonly<Record<ProducedFact, readonly string[]>> = {
  object: OBJECT_TYPES,
  list: [...OBJECT_TYPES, 'application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'],
  text: ['text/plain', ...OBJECT_TYPES],
  any: ['*/*'],
  json: ['application/json'],
  keys: ['application/jwk-set+json'],
};
