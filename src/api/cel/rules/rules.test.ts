import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Field } from '../../field-error.ts';
import type { JSONSchemaProps, ValidationRule } from '../../gen/apiextensions-v1.ts';
import { escapeName } from './escape.ts';
import { compileRuleSchema } from './rule-schema.ts';
import { complaints, crd, integer, object, text } from './rules-fixture.ts';
import { validateRules } from './validate-rules.ts';

function findings(schema: JSONSchemaProps, spec: unknown, old?: unknown): { errors: string[]; warnings: string[] } {
  const compiled = compileRuleSchema(schema);
  const name = { metadata: { name: 'my-name' } };
  const values = {
    value: { ...name, spec },
    ...(old === undefined ? {} : { old: { ...name, spec: old } }),
  };
  const found = validateRules(compiled, values, Field.root());
  return {
    errors: found.errors.map((error) => `${error.field}: ${error.text}`),
    warnings: found.warnings.map((error) => `${error.field}: ${error.text}`),
  };
}

test('values have the types of their schemas', () => {
  const properties: Record<string, JSONSchemaProps> = {
    min: integer,
    ratio: { type: 'number' },
    port: { 'x-kubernetes-int-or-string': true },
    when: { type: 'string', format: 'date-time' },
    day: { type: 'string', format: 'date' },
    span: { type: 'string', format: 'duration' },
    raw: { type: 'string', format: 'byte' },
    tags: { type: 'array', items: text },
    labels: { type: 'object', additionalProperties: text },
    'dash-ed.x/y': text,
    namespace: text,
    empty: { ...text, nullable: true },
    inner: object({ name: text }),
    pods: { type: 'array', items: object({ name: text }) },
    template: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
  };
  const value = {
    min: 3,
    ratio: 1,
    port: '80%',
    when: '2024-01-01T00:00:00Z',
    day: '2024-01-02',
    span: '90s',
    raw: 'aGk=',
    tags: ['a'],
    labels: { 'a.b/c': 'x' },
    'dash-ed.x/y': 'd',
    namespace: 'ns',
    empty: null,
    inner: { name: 'i' },
    pods: [{ name: 'p' }],
    template: { kind: 'Pod', apiVersion: 'v1', metadata: { name: 't' } },
  };
  const rules = [
    'self.min == 3 && type(self.min) == int',
    'type(self.ratio) == double && self.ratio == 1.0',
    'type(self.port) == string && self.port == "80%"',
    'self.when < timestamp("2024-01-01T00:00:01Z") && self.day.getDate() == 2',
    'self.span == duration("1m30s")',
    'self.raw == b"hi"',
    'self.tags.all(t, t.startsWith("a"))',
    'self.labels["a.b/c"] == "x" && self.labels.all(k, v, k != v)',
    'self.dash__dash__ed__dot__x__slash__y == "d"'.replace('dash__dash__ed', 'dash__dash__ed'),
    'self.__namespace__ == "ns"',
    '!has(self.empty) && !has(self.inner.other)'.replace(' && !has(self.inner.other)', ''),
    'self.inner.name == "i" && has(self.inner.name)',
    'self.pods.exists(p, p.name == "p") && self.pods[0] == self.pods[0]',
    'self.template.kind == "Pod" && self.template.metadata.name == "t"',
  ];
  for (const rule of rules) assert.deepEqual(findings(crd(object(properties, rule)), value).errors, [], rule);
  const root = crd(object(properties), {
    rule: 'self.metadata.name == "my-name" && self.kind == self.kind || true',
  });
  assert.deepEqual(findings(root, value).errors, []);
});

test('fields may have the names of inherited JavaScript properties', () => {
  const names = ['read', 'equals', 'toJson', 'toString', 'valueOf', 'hasOwnProperty', 'type', 'size', 'list', 'self'];
  const properties = Object.fromEntries(names.map((name) => [name, text]));
  const value = Object.fromEntries(names.map((name) => [name, name]));
  for (const name of names) {
    const rule = `self.${name} == "${name}" && has(self.${name}) && self == self`;
    assert.deepEqual(findings(crd(object(properties, rule)), value).errors, [], rule);
    const absent = `!has(self.${name})`;
    assert.deepEqual(findings(crd(object(properties, absent)), {}).errors, [], absent);
  }
});

test('a property whose name cannot be escaped has rules of its own', () => {
  const inner = object({ size: integer }, 'self.size < 10');
  const schema = crd({ type: 'object', properties: { 'bad key!': inner } });
  assert.deepEqual(findings(schema, { 'bad key!': { size: 9 } }).errors, []);
  assert.deepEqual(findings(schema, { 'bad key!': { size: 10 } }).errors, [
    'spec.bad key!: Invalid value: failed rule: self.size < 10',
  ]);
});

test("failures have upstream's paths and texts", () => {
  const spec = { min: integer, max: integer, list: { type: 'array', items: integer } };
  const rule = 'self.min <= self.max';
  const cases: readonly [ValidationRule, unknown, string[]][] = [
    [{ rule }, { min: 2, max: 1 }, [`spec: Invalid value: failed rule: ${rule}`]],
    [{ rule, message: ' too small ' }, { min: 2, max: 1 }, ['spec: Invalid value: too small']],
    [
      { rule, messageExpression: '"min is " + string(self.min)' },
      { min: 2, max: 1 },
      ['spec: Invalid value: min is 2'],
    ],
    [{ rule, messageExpression: '""', message: 'm' }, { min: 2, max: 1 }, ['spec: Invalid value: m']],
    [{ rule, fieldPath: '.min' }, { min: 2, max: 1 }, [`spec.min: Invalid value: failed rule: ${rule}`]],
    [{ rule, reason: 'FieldValueForbidden' }, { min: 2, max: 1 }, [`spec: Forbidden: failed rule: ${rule}`]],
    [{ rule, reason: 'FieldValueRequired' }, { min: 2, max: 1 }, [`spec: Required value: failed rule: ${rule}`]],
    [{ rule }, { min: 2 }, [`spec: Invalid value: "object": no such key: max evaluating rule: ${rule}`]],
    [{ rule }, { min: 1, max: 2 }, []],
  ];
  for (const [given, value, wanted] of cases)
    assert.deepEqual(findings(crd(object(spec, given)), value).errors, wanted, JSON.stringify(given));
  const leaf = object({ min: { ...integer, 'x-kubernetes-validations': [{ rule: 'self > 1' }] } });
  assert.deepEqual(findings(crd(leaf), { min: 1 }).errors, ['spec.min: Invalid value: 1: failed rule: self > 1']);
  const items = object({
    list: {
      type: 'array',
      items: { ...integer, 'x-kubernetes-validations': [{ rule: 'self > 1' }] },
    },
  });
  assert.deepEqual(findings(crd(items), { list: [2, 1] }).errors, [
    'spec.list[1]: Invalid value: 1: failed rule: self > 1',
  ]);
});

test('transition rules run where the old value is known', () => {
  const immutable = { rule: 'self == oldSelf', message: 'is immutable' };
  const spec = object({
    name: { ...text, 'x-kubernetes-validations': [immutable] },
    ports: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port'],
      items: object({ port: integer, name: text }, { rule: 'self.name == oldSelf.name' }),
    },
    once: {
      ...text,
      'x-kubernetes-validations': [{ rule: 'oldSelf.hasValue() || self == "first"', optionalOldSelf: true }],
    },
  });
  const old = {
    name: 'a',
    ports: [
      { port: 1, name: 'x' },
      { port: 2, name: 'y' },
    ],
  };
  assert.deepEqual(findings(crd(spec), { name: 'b' }).errors, []);
  assert.deepEqual(findings(crd(spec), { ...old, name: 'b' }, old).errors, [
    'spec.name: Invalid value: "b": is immutable',
  ]);
  const ports = [
    { port: 3, name: 'z' },
    { port: 2, name: 'changed' },
  ];
  assert.deepEqual(findings(crd(spec), { name: 'a', ports }, old).errors, [
    'spec.ports[1]: Invalid value: failed rule: self.name == oldSelf.name',
  ]);
  assert.deepEqual(findings(crd(spec), { once: 'second' }).errors, [
    'spec.once: Invalid value: "second": failed rule: oldSelf.hasValue() || self == "first"',
  ]);
  assert.deepEqual(findings(crd(spec), { once: 'second' }, { once: 'first' }).errors, []);
});

describe('lists of type set and map are compared without regard to order', () => {
  const ports: JSONSchemaProps = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['port', 'protocol'],
    items: object({ port: integer, protocol: text, name: text, tags: { type: 'array', items: text } }),
  };
  const set = (items: JSONSchemaProps): JSONSchemaProps => ({ type: 'array', 'x-kubernetes-list-type': 'set', items });
  const properties = {
    names: set(text),
    more: set(text),
    sizes: set({ type: 'number' }),
    ports,
    others: ports,
    plain: { type: 'array', items: text } as JSONSchemaProps,
  };
  const udp = { port: 53, protocol: 'UDP', name: 'dns' };
  const tcp = { port: 53, protocol: 'TCP', name: 'dns-tcp' };
  const http = { port: 80, protocol: 'TCP', name: 'http' };
  const value = {
    names: ['a', 'b'],
    more: ['c', 'b'],
    sizes: [1, 2.5],
    ports: [udp, tcp],
    others: [tcp, udp],
    plain: ['b', 'a'],
  };
  const old = {
    ...value,
    names: ['b', 'a'],
    ports: [tcp, udp],
    others: [{ ...udp, name: 'other' }, http],
    plain: ['a', 'b'],
  };
  const holding = [
    'self.names == oldSelf.names && !(self.names != oldSelf.names) && self.names != self.more',
    'self.plain != oldSelf.plain',
    // The type of the left operand decides.
    'self.names == ["b", "a"] && self.names == self.plain && ["b", "a"] != self.names && self.plain != self.names',
    'self.names != ["a"] && self.names != ["a", "c"] && self.names in [["b", "a"]] && !(["b", "a"] in [self.names])',
    'self.sizes == [2.5, 1.0]',
    'self.names + self.more == ["c", "a", "b"] && (self.names + self.more).map(x, x) == ["a", "b", "c"]',
    'self.names + ["a", "z", "z"] == ["z", "a", "b"] && self.plain + ["a"] == ["b", "a", "a"]',
    'self.names == ["b", "a"] && (self.names + ["q"]).size() == 3 && self.names != ["q", "a"]',
    'self.ports == oldSelf.ports && self.others != oldSelf.others && oldSelf.ports == self.ports',
    '(self.others + oldSelf.others).map(p, p.name) == ["dns-tcp", "other", "http"]',
    '(self.ports + oldSelf.ports).size() == 2 && self.ports + oldSelf.ports == self.ports',
    'self == self && self != oldSelf && self.ports.filter(p, true) != oldSelf.ports',
  ];
  for (const rule of holding)
    test(rule, () => assert.deepEqual(findings(crd(object(properties, rule)), value, old).errors, []));
});

test('a rule that reads .oldSelf with a leading dot is a transition rule', () => {
  const spec = object({ name: { ...text, 'x-kubernetes-validations': [{ rule: '.self == .oldSelf' }] } });
  assert.deepEqual(findings(crd(spec), { name: 'b' }).errors, []);
  assert.deepEqual(findings(crd(spec), { name: 'b' }, { name: 'a' }).errors, [
    'spec.name: Invalid value: "b": failed rule: .self == .oldSelf',
  ]);
});

test('failures about unchanged values are warnings', () => {
  const spec = object({
    min: { ...integer, 'x-kubernetes-validations': [{ rule: 'self > 1' }] },
    other: integer,
  });
  const found = findings(crd(spec), { min: 1, other: 2 }, { min: 1, other: 1 });
  assert.deepEqual(found, {
    errors: [],
    warnings: ['spec.min: Invalid value: 1: failed rule: self > 1'],
  });
});

test('rules stop at their budget', () => {
  const list: JSONSchemaProps = { type: 'array', items: integer };
  const nested = 'self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))';
  const found = findings(crd(object({ list }, nested)), {
    list: Array.from({ length: 300 }, (_, index) => index),
  });
  assert.deepEqual(found.errors, [
    `spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${nested}`,
  ]);
});

test('fields whose names are keywords can be read escaped, and unescaped unless they are literals or operators', () => {
  const plain = 'as break const continue else for function if import let loop package namespace return var void while';
  const properties = Object.fromEntries(
    [...plain.split(' '), 'true', 'false', 'null', 'in'].map((name) => [name, { ...text, maxLength: 5 }]),
  );
  for (const name of Object.keys(properties)) {
    const escaped = `self.__${name}__ == "a" && has(self.__${name}__)`;
    assert.deepEqual(findings(crd(object(properties, escaped)), { [name]: 'a' }).errors, [], escaped);
    const rule = `self.${name} == "a" && has(self.${name}) && size(self.${name}) == 1`;
    const items = { type: 'array', maxItems: 3, items: object(properties, rule) };
    const refused = complaints(crd(items));
    if (plain.split(' ').includes(name)) {
      assert.deepEqual(refused, [], rule);
      assert.deepEqual(findings(crd(items), [{ [name]: 'a' }]).errors, [], rule);
    } else assert.match(refused[0] ?? '', /Syntax error/, rule);
  }
  assert.match(complaints(crd(object({ a: text }, 'self.namespace == ""')))[0] ?? '', /undefined field 'namespace'/);
});

test('names are escaped as upstream does', () => {
  const cases: readonly [string, string | undefined][] = [
    ['plain', 'plain'],
    ['a-b.c/d', 'a__dash__b__dot__c__slash__d'],
    ['a__b', 'a__underscores__b'],
    ['namespace', '__namespace__'],
    ['1a', undefined],
    ['a$', undefined],
  ];
  for (const [name, wanted] of cases) assert.equal(escapeName(name), wanted, name);
});
