/** Validation of config maps and secrets. Upstream: apis/core/validation. */
import { trimEndOf } from '../../base/trim-end.ts';
import { deepEqual } from '../../base/equal.ts';
import { JsonSyntaxError, parseSlowly } from '../codec/json-parser.ts';
import type { Field } from '../field-error.ts';
import type { ConfigMap, Secret } from '../gen/core-v1.ts';
import { isConfigMapKey } from '../names.ts';
import { FIELD_IMMUTABLE_TEXT } from '../meta-validation.ts';

/** The limit of all values together. */
const MAX_DATA_BYTES = 1024 * 1024;
const LOCKED_TEXT = 'field is immutable when `immutable` is set';

function base64Bytes(text: string): number {
  return Math.floor((trimEndOf(text, '=').length * 3) / 4);
}

export function validateConfigMap(map: ConfigMap, field: Field): void {
  let total = 0;
  for (const [key, value] of Object.entries(map.data ?? {})) {
    field.at('data').key(key).complain(key, isConfigMapKey(key));
    if (map.binaryData !== undefined && Object.hasOwn(map.binaryData, key))
      field.at('data').key(key).invalid(key, 'duplicate of key present in binaryData');
    total += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(map.binaryData ?? {})) {
    field.at('binaryData').key(key).complain(key, isConfigMapKey(key));
    total += base64Bytes(value);
  }
  if (total > MAX_DATA_BYTES) tooLongAtRoot(field);
}

function tooLongAtRoot(field: Field): void {
  field.at('').tooLong(MAX_DATA_BYTES);
}

export function validateConfigMapUpdate(map: ConfigMap, old: ConfigMap, field: Field): void {
  if (old.immutable === true) {
    if (map.immutable !== true) field.at('immutable').forbidden(LOCKED_TEXT);
    if (!deepEqual(map.data, old.data)) field.at('data').forbidden(LOCKED_TEXT);
    if (!deepEqual(map.binaryData, old.binaryData)) field.at('binaryData').forbidden(LOCKED_TEXT);
  }
  validateConfigMap(map, field);
}

function decode(secret: Secret, key: string): string {
  return Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
}

/** The error of Go's decoder for the text; undefined for valid JSON. */
function jsonProblem(text: string): string | undefined {
  try {
    parseSlowly(text);
    return undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message;
    throw error;
  }
}

/** A secret must have the keys that its type requires. */
function validateByType(secret: Secret, field: Field): void {
  const data = field.at('data');
  const has = (key: string) => secret.data?.[key] !== undefined;
  const jsonKey = (key: string) => {
    if (!has(key)) data.key(key).required();
    else if (jsonProblem(decode(secret, key)) !== undefined)
      data.key(key).invalid('<secret contents redacted>', jsonProblem(decode(secret, key))!);
  };
  switch (secret.type) {
    case 'kubernetes.io/service-account-token':
      if ((secret.metadata.annotations?.['kubernetes.io/service-account.name'] ?? '') === '') {
        field.at('metadata').at('annotations').key('kubernetes.io/service-account.name').required();
      }
      return;
    case 'kubernetes.io/dockercfg':
      return jsonKey('.dockercfg');
    case 'kubernetes.io/dockerconfigjson':
      return jsonKey('.dockerconfigjson');
    case 'kubernetes.io/basic-auth':
      if (!has('username') && !has('password')) {
        data.key('username').required();
        data.key('password').required();
      }
      return;
    case 'kubernetes.io/ssh-auth':
      if (decode(secret, 'ssh-privatekey') === '') data.key('ssh-privatekey').required();
      return;
    case 'kubernetes.io/tls':
      if (!has('tls.crt')) data.key('tls.crt').required();
      if (!has('tls.key')) data.key('tls.key').required();
      return;
    default:
  }
}

export function validateSecret(secret: Secret, field: Field): void {
  let total = 0;
  for (const [key, value] of Object.entries(secret.data ?? {})) {
    field.at('data').key(key).complain(key, isConfigMapKey(key));
    total += base64Bytes(value);
  }
  if (total > MAX_DATA_BYTES) field.at('data').tooLong(MAX_DATA_BYTES);
  validateByType(secret, field);
}

export function validateSecretUpdate(secret: Secret, old: Secret, field: Field): void {
  if (secret.type !== old.type) field.at('type').invalid(secret.type, FIELD_IMMUTABLE_TEXT);
  if (old.immutable === true) {
    if (secret.immutable !== true) field.at('immutable').forbidden(LOCKED_TEXT);
    if (!deepEqual(secret.data, old.data)) field.at('data').forbidden(LOCKED_TEXT);
  }
  validateSecret(secret, field);
}
