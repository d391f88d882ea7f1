// JSON of the maximum size in the forms that are most expensive for parser, decoder and printers.
import { BODY_LIMIT, fill, list, type HostileInput, type HostileRequest } from './bodies.ts';

const head = (kind: string, apiVersion: string): string => `{"apiVersion":"${apiVersion}","kind":"${kind}",`;
const map = head('ConfigMap', 'v1');

const configMaps: Readonly<Record<string, () => string>> = {
  'empty lists in an unknown field': () => list(() => '[]', [`${map}"x":[`, ']}']),
  'numbers in an unknown field': () => list(() => '1', [`${map}"x":[`, ']}']),
  'large integers': () => list(() => '99999999999999999999', [`${map}"x":[`, ']}']),
  'a number of 3 million digits': () => `${map}"x":${'9'.repeat(BODY_LIMIT - 100)}}`,
  'keys in an unknown field': () => list((i) => `"k${i}":1`, [`${map}"x":{`, '}}']),
  'unknown fields': () => list((i) => `"k${i}":1`, [`${map}`, '}']),
  'equal keys': () => list(() => '"a":1', [`${map}"x":{`, '}}']),
  'equal keys in the deep': () => list(() => '"a":1', [`${map}${'"x":{'.repeat(900)}`, `${'}'.repeat(901)}`]),
  depth: () => `${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}`,
  'data of small keys': () => list((i) => `"k${i}":""`, [`${map}"metadata":{"name":"a"},"data":{`, '}}']),
  'data of wrong type': () => list((i) => `"k${i}":1`, [`${map}"metadata":{"name":"a"},"data":{`, '}}']),
  labels: () => list((i) => `"k${i}":""`, [`${map}"metadata":{"name":"a","labels":{`, '}}}']),
  'bad label names': () => list((i) => `"/${i}":"_"`, [`${map}"metadata":{"name":"a","labels":{`, '}}}']),
  finalizers: () => list((i) => `"a/${i}"`, [`${map}"metadata":{"name":"a","finalizers":[`, ']}}']),
  'owner references': () =>
    list(
      (i) => `{"apiVersion":"v1","kind":"A","name":"a","uid":"${i}"}`,
      [`${map}"metadata":{"name":"a","ownerReferences":[`, ']}}'],
    ),
  'managed fields': () =>
    list(
      (i) =>
        `{"manager":"m${i}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}`,
      [`${map}"metadata":{"name":"a","managedFields":[`, ']}}'],
    ),
  'one large fieldsV1': () =>
    list(
      (i) => `"f:k${i}":{}`,
      [
        `${map}"metadata":{"name":"a","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{`,
        '}}}]}}',
      ],
    ),
  escapes: () => `${map}"x":"${fill('\\u0041', BODY_LIMIT - 200)}"}`,
  'trailing blanks': () => `${map}"x":1}`.padEnd(BODY_LIMIT - 10),
};

const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

const create = (name: string): HostileRequest => ({
  method: 'POST',
  path: 'configmaps',
  type: 'application/json',
  body: `${map}"metadata":{"name":"${name}"},"data":{"a":"1"}}`,
});

const patchBodies: Readonly<Record<string, readonly [keyof typeof patchTypes, () => string]>> = {
  'merge patch: keys': ['merge', () => list((i) => `"k${i}":""`, ['{"data":{', '}}'])],
  'merge patch: nulls': ['merge', () => list((i) => `"k${i}":null`, ['{"data":{', '}}'])],
  'merge patch: empty lists': ['merge', () => list(() => '[]', ['{"x":[', ']}'])],
  'strategic patch: keys': ['strategic', () => list((i) => `"k${i}":""`, ['{"data":{', '}}'])],
  'strategic patch: owner references': [
    'strategic',
    () => list((i) => `{"uid":"${i}"}`, ['{"metadata":{"ownerReferences":[', ']}}']),
  ],
  'strategic patch: finalizers': ['strategic', () => list((i) => `"a/${i}"`, ['{"metadata":{"finalizers":[', ']}}'])],
  'strategic patch: order': [
    'strategic',
    () => list((i) => `{"uid":"${i}"}`, ['{"metadata":{"$setElementOrder/ownerReferences":[', ']}}']),
  ],
  'strategic patch: deletions': [
    'strategic',
    () => list((i) => `{"uid":"${i}","$patch":"delete"}`, ['{"metadata":{"ownerReferences":[', ']}}']),
  ],
  'JSON patch: doubling copies': [
    'json',
    () => list((i) => `{"op":"copy","from":"/data","path":"/data/k${i}"}`, ['[', ']'], 4000),
  ],
  'JSON patch: a long path': ['json', () => `[{"op":"add","path":"${fill('/a', BODY_LIMIT - 100)}","value":1}]`],
  'JSON patch: insertions at the front': [
    'json',
    () =>
      `[{"op":"add","path":"/x","value":[${'1,'.repeat(1_200_000)}1]},${Array.from({ length: 9000 }, () => '{"op":"add","path":"/x/0","value":1}').join(',')}]`,
  ],
  'JSON patch: too many operations': ['json', () => list(() => '{}', ['[', ']'])],
  'apply: keys': ['merge', () => list((i) => `"k${i}":""`, ['{"data":{', '}}'])],
};

/** Config maps as bodies, and patches of one. */
export function jsonInputs(): HostileInput[] {
  return [
    ...Object.entries(configMaps).map(([name, body]): HostileInput => ({
      name: `JSON body: ${name}`,
      request: () => ({ method: 'POST', path: 'configmaps?dryRun=All', type: 'application/json', body: body() }),
    })),
    ...Object.entries(configMaps).map(([name, body]): HostileInput => ({
      name: `apply of JSON: ${name}`,
      request: () => ({
        method: 'PATCH',
        path: 'configmaps/a?fieldManager=h&force=true&dryRun=All',
        type: 'application/apply-patch+yaml',
        body: body(),
      }),
    })),
    ...Object.entries(patchBodies).map(([name, [type, body]]): HostileInput => ({
      name,
      before: () => [create('patched')],
      request: () => ({
        method: 'PATCH',
        path: 'configmaps/patched?dryRun=All',
        type: patchTypes[type],
        body: body(),
      }),
    })),
  ];
}
