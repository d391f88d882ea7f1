// Definitions with hostile schemas, and their custom resources.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { chance, pick, type Random, weighted } from '../draw.ts';
import type { HttpExchange } from '../exchange.ts';
import { mutatedJson } from './bodies.ts';
import { exchangeOf, type Request } from './api-requests.ts';
import { names } from './objects.ts';
import { patchBody } from './patches.ts';

const plurals = ['as', 'bs', 'cs', 'ds'] as const;
const text = { type: 'string' };
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Schemas of properties, each with an error-prone feature. */
const properties: readonly JsonObject[] = [
  { ...text, pattern: '^(a+)+$', maxLength: 5000 },
  { ...text, pattern: '(', format: 'x' },
  { ...text, format: 'date-time', default: 'x' },
  { ...text, enum: ['a', null, { a: 1 }] },
  { ...text, 'x-kubernetes-validations': [{ rule: 'self.matches("(a|a)*$")', message: 'm' }], maxLength: 100 },
  { ...text, 'x-kubernetes-validations': [{ rule: 'self == oldSelf', optionalOldSelf: true }] },
  { type: 'integer', format: 'int32', multipleOf: 0, minimum: 1e308, maximum: -1e308 },
  { type: 'number', multipleOf: 1e-300, default: 1e300 },
  { 'x-kubernetes-int-or-string': true, pattern: '^[0-9]+%?$' },
  { type: 'array', items: text, 'x-kubernetes-list-type': 'set', maxItems: 10_000 },
  {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k', '__proto__'],
    items: { type: 'object', required: ['k'], properties: { k: text, __proto__: text, v: { type: 'integer' } } },
  },
  {
    type: 'array',
    items: { type: 'array', items: { type: 'array', items: text, maxItems: 10 }, maxItems: 10 },
    maxItems: 10,
  },
  { type: 'object', additionalProperties: text, maxProperties: 3 },
  {
    type: 'object',
    properties: { constructor: { ...text, default: 'a' }, toString: { type: 'integer' } },
    required: ['constructor', 'hasOwnProperty'],
  },
  { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'integer' } },
  {
    type: 'object',
    default: { a: { b: 1 } },
    properties: { a: { type: 'object', default: {}, properties: { b: { type: 'integer', default: 7 } } } },
  },
  {
    type: 'object',
    nullable: true,
    allOf: [{ anyOf: [{ required: ['a'] }, { not: { required: ['b'] } }] }],
    properties: { a: text, b: text },
  },
  { type: 'object', oneOf: Array.from({ length: 30 }, (_, at) => ({ properties: { [`p${at}`]: { enum: [at] } } })) },
  {
    ...anything,
    'x-kubernetes-validations': [
      { rule: 'self.a.b.c == dyn(1)', messageExpression: '"a" + string(self)', fieldPath: '.a[' },
    ],
  },
  {
    type: 'object',
    'x-kubernetes-validations': [{ rule: 'self.all(k, self.all(l, self.all(m, k + l + m != "")))' }],
    additionalProperties: text,
  },
  anything,
];

function definition(random: Random, plural: string): JsonObject {
  const spec: JsonObject = {};
  for (const name of ['a', 'b', '__proto__', 'c d'])
    if (chance(random, 0.2))
      Object.defineProperty(spec, name, {
        value: structuredClone(pick(random, properties)),
        enumerable: true,
        configurable: true,
        writable: true,
      });
  const openAPIV3Schema = chance(random, 0.3)
    ? anything
    : { type: 'object', properties: { spec: { type: 'object', properties: spec }, status: anything } };
  const kind = plural.slice(0, 1).toUpperCase();
  const version = (name: string, storage: boolean): JsonObject => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema },
    subresources: {
      status: {},
      ...(chance(random, 0.5) && {
        scale: { specReplicasPath: '.spec.a', statusReplicasPath: '.status.r', labelSelectorPath: '.status.s' },
      }),
    },
    additionalPrinterColumns: [
      {
        name: 'A',
        type: 'string',
        jsonPath: pick(random, ['.spec.a', '.spec.a[0]', '.spec..b', '.metadata.__proto__', '.spec.c[?(@.a==1)]']),
      },
      { name: 'B', type: pick(random, ['date', 'integer', 'number', 'boolean']), jsonPath: '.spec.b' },
    ],
    ...(chance(random, 0.3) && {
      selectableFields: [{ jsonPath: pick(random, ['.spec.a', '.spec.constructor', '.spec.b.c']) }],
    }),
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.fuzz.io` },
    spec: {
      group: 'fuzz.io',
      scope: 'Namespaced',
      names: {
        plural,
        singular: plural.slice(0, 1),
        kind,
        listKind: `${kind}List`,
        shortNames: [`${plural}x`],
        categories: ['all'],
      },
      versions: [version('v1', true), ...(chance(random, 0.4) ? [version('v2', false)] : [])],
    },
  };
}

function customObject(random: Random, plural: string): JsonObject {
  const value = (): unknown =>
    pick(random, [
      'a',
      'a'.repeat(60),
      1,
      2 ** 60,
      true,
      null,
      [],
      ['a', 'a'],
      [[['a']]],
      {},
      { a: 'b' },
      { a: { b: { c: 1 } } },
      [{ k: 'a', v: 1 }, { k: 'a' }],
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } },
      '2026-01-01T00:00:00Z',
      '25%',
    ]);
  const spec = Object.fromEntries(
    ['a', 'b', 'c d', 'other'].filter(() => chance(random, 0.5)).map((name) => [name, value()]),
  );
  return {
    apiVersion: `fuzz.io/${chance(random, 0.8) ? 'v1' : 'v2'}`,
    kind: plural.slice(0, 1).toUpperCase(),
    metadata: { name: pick(random, names), namespace: 'fuzz' },
    spec,
    ...(chance(random, 0.3) && { status: { r: value(), s: value() } }),
  };
}

function request(random: Random): Request {
  const plural = pick(random, plurals);
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const crd = (): JsonObject => definition(random, plural);
  const json = (value: unknown) => ({ contentType: 'application/json', text: mutatedJson(random, value) });
  const object = customObject(random, plural);
  const collection = `/apis/${String(object['apiVersion'])}/namespaces/fuzz/${plural}`;
  const one = `${collection}/${pick(random, names)}`;
  return weighted<() => Request>(random, [
    [4, () => ({ method: 'POST', path: definitions, body: json(crd()) })],
    [2, () => ({ method: 'PATCH', path: `${definitions}/${plural}.fuzz.io`, body: patchBody(random, crd()) })],
    [1, () => ({ method: 'DELETE', path: `${definitions}/${plural}.fuzz.io` })],
    [10, () => ({ method: 'POST', path: collection, body: json(object) })],
    [
      8,
      () => ({
        method: 'PATCH',
        path: `${one}${pick(random, ['', '', '/status', '/scale'])}`,
        body: patchBody(random, object),
      }),
    ],
    [3, () => ({ method: 'GET', path: pick(random, [collection, one, `${one}/scale`, `${one}/constructor`]) })],
    [1, () => ({ method: 'DELETE', path: one })],
    [1, () => ({ method: 'GET', path: collection, query: ['watch=1', 'timeoutSeconds=1'] })],
  ])();
}

/** A definition, or a request for one's resources. */
export function customRequest(random: Random): HttpExchange {
  return exchangeOf(random, request(random));
}
