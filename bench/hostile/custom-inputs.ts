// Custom resources: large objects with expensive schemas.
import { fill, list, type HostileInput, type HostileRequest } from './bodies.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const columns = ['..*', '.spec.items[*].a', '.spec.text', '.spec.items[*]']
  .map((jsonPath, i) => `{"name":"C${i}","type":"string","jsonPath":${JSON.stringify(jsonPath)}}`)
  .join(',');

/** A definition of `plural` whose objects have this `spec`, which replaces an existing one. */
function define(plural: string, spec: string): readonly HostileRequest[] {
  const kind = plural[0]!.toUpperCase() + plural.slice(1);
  const schema = `{"type":"object","properties":{"spec":${spec}}}`;
  const body = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"${plural}.halts.example"},"spec":{"group":"halts.example","scope":"Namespaced","names":{"plural":"${plural}","singular":"${plural}x","kind":"${kind}","listKind":"${kind}List"},"versions":[{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[${columns}],"schema":{"openAPIV3Schema":${schema}}}]}}`;
  return [{ method: 'POST', path: DEFINITIONS, body }];
}

interface CustomCase {
  readonly spec: string | (() => string);
  /** The value of `spec`. */
  readonly value: () => string;
}

const listOf = (items: string, more = ''): string =>
  `{"type":"object","properties":{"items":{"type":"array","items":${items}${more}}}}`;
const textOf = (more: string): string => `{"type":"object","properties":{"text":{"type":"string",${more}}}}`;
const many = (item: (i: number) => string) => (): string => list(item, ['{"items":[', ']}'], 3_000_000);
const fields = (part: (i: number) => string, count: number): string =>
  `{"type":"object","properties":{${Array.from({ length: count }, (_, i) => part(i)).join(',')}}}`;

const cases: Readonly<Record<string, CustomCase>> = {
  pruning: { spec: listOf('{"type":"object"}'), value: many((i) => `{"k${i}":1}`) },
  'pruned keys': {
    spec: '{"type":"object","properties":{"a":{"type":"string"}}}',
    value: () => list((i) => `"k${i}":1`, ['{', '}'], 3_000_000),
  },
  'preserved keys': {
    spec: '{"type":"object","x-kubernetes-preserve-unknown-fields":true}',
    value: () => list((i) => `"k${i}":1`, ['{', '}'], 3_000_000),
  },
  'defaults of items': {
    spec: listOf(fields((i) => `"p${i}":{"type":"string","default":"d"}`, 100)),
    value: many(() => '{}'),
  },
  'a pattern': { spec: textOf('"pattern":"^(a|b|ab)*c$"'), value: () => `{"text":"${fill('ab', 2_900_000)}"}` },
  'a large pattern': {
    spec: textOf('"pattern":"(a?){900}c"'),
    value: () => `{"text":"${fill('a', 2_900_000)}"}`,
  },
  'a pattern of items': {
    spec: listOf('{"type":"string","pattern":"^(x+x+)+y$"}'),
    value: many(() => '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"'),
  },
  'items of a large enumeration': {
    spec: () => listOf(`{"type":"string","enum":[${Array.from({ length: 5000 }, (_, i) => `"e${i}"`).join(',')}]}`),
    value: many(() => '"none"'),
  },
  'items of many alternatives': {
    spec: listOf(
      `{"type":"string","anyOf":[${Array.from({ length: 200 }, (_, i) => `{"enum":["e${i}"]}`).join(',')}]}`,
    ),
    value: many(() => '"none"'),
  },
  'a set': { spec: listOf('{"type":"string"}', ',"x-kubernetes-list-type":"set"'), value: many((i) => `"i${i}"`) },
  'a set of objects': {
    spec: listOf(
      '{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"}}}',
      ',"x-kubernetes-list-type":"set"',
    ),
    value: many((i) => `{"a":"${i}"}`),
  },
  'a map list': {
    spec: listOf(
      '{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}',
      ',"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]',
    ),
    value: many((i) => `{"a":"${i}"}`),
  },
  'items of wrong type': { spec: listOf('{"type":"integer"}'), value: many((i) => `"${i}"`) },
  'formats of items': {
    spec: listOf('{"type":"string","format":"ipv6"}'),
    value: many((i) => `"::${(i % 60_000).toString(16)}"`),
  },
  'a date of digits': { spec: textOf('"format":"date-time"'), value: () => `{"text":"${fill('9', 2_900_000)}"}` },
  'an email of dots': { spec: textOf('"format":"email"'), value: () => `{"text":"${fill('a.', 2_900_000)}"}` },
  'a hostname of dots': { spec: textOf('"format":"hostname"'), value: () => `{"text":"${fill('a.', 2_900_000)}"}` },
  'a uri': { spec: textOf('"format":"uri"'), value: () => `{"text":"http://${fill('a/', 2_900_000)}"}` },
  'a byte text': { spec: textOf('"format":"byte"'), value: () => `{"text":"${fill('AAAA', 2_900_000)}"}` },
  'a rule of items': {
    spec: '{"type":"object","properties":{"items":{"type":"array","maxItems":30000,"items":{"type":"string","maxLength":20}}},"x-kubernetes-validations":[{"rule":"self.items.all(x, x != \'none\')"}]}',
    value: many((i) => `"i${i}"`),
  },
  'a rule of matches': {
    spec: '{"type":"object","properties":{"text":{"type":"string","maxLength":100000}},"x-kubernetes-validations":[{"rule":"self.text.matches(\'(a?){90}c\')"}]}',
    value: () => `{"text":"${fill('a', 100_000)}"}`,
  },
  'a rule of matches of items': {
    spec: '{"type":"object","properties":{"items":{"type":"array","maxItems":20,"items":{"type":"string","maxLength":10000}}},"x-kubernetes-validations":[{"rule":"self.items.all(x, !x.matches(\'(a?){90}c\'))"}]}',
    value: () => `{"items":[${Array.from({ length: 20 }, () => `"${fill('a', 10_000)}"`).join(',')}]}`,
  },
  'rules of properties': {
    spec: fields(
      (i) =>
        `"p${i}":{"type":"array","maxItems":1000,"items":{"type":"string","maxLength":10},"x-kubernetes-validations":[{"rule":"self.all(x, self.exists(y, y == x))"}]}`,
      3,
    ),
    value: () =>
      `{${[0, 1, 2].map((i) => `"p${i}":[${Array.from({ length: 1000 }, (_, k) => `"i${k}"`).join(',')}]`).join(',')}}`,
  },
};

/** Creates of custom resources, and their tables. */
export function customInputs(): HostileInput[] {
  return Object.entries(cases).map(([name, { spec, value }], i): HostileInput => {
    const plural = `halt${String.fromCharCode(97 + i)}s`;
    const kind = plural[0]!.toUpperCase() + plural.slice(1);
    return {
      name: `custom resource: ${name}`,
      before: () => define(plural, typeof spec === 'string' ? spec : spec()),
      request: () => ({
        method: 'POST',
        path: `/apis/halts.example/v1/namespaces/{}/${plural}?dryRun=All`,
        headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json' },
        body: `{"apiVersion":"halts.example/v1","kind":"${kind}","metadata":{"name":"a"},"spec":${value()}}`,
      }),
    };
  });
}
