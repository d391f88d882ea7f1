import assert from 'node:assert/strict';
import { test } from 'node:test';
import { humanDuration } from './age.ts';
import { formatDurationMs, parseDurationMs } from './duration.ts';
import { quote } from '../base/go-quote.ts';
import { invalidValue, notSupported, tooMany, Field } from './field-error.ts';
import { scaledValue } from './int-or-string.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from './meta-validation.ts';
import { isConfigMapKey, isDns1123Label, isLabelValue, isQualifiedName } from './names.ts';
import { nameIsDnsSubdomain } from './name-checks.ts';
import { isPortName } from './value-formats.ts';
import { computePodQosClass } from './pod-qos.ts';
import { findUntoleratedTaint } from './taints-tolerations.ts';

test('ages are printed as kubectl prints them', () => {
  const cases: readonly (readonly [number, string])[] = [
    [-5, '<invalid>'],
    [-0.5, '0s'],
    [119, '119s'],
    [120, '2m'],
    [125, '2m5s'],
    [600, '10m'],
    [10799, '179m'],
    [10800, '3h'],
    [3600 * 7 + 60, '7h1m'],
    [3600 * 47, '47h'],
    [3600 * 50, '2d2h'],
    [86400 * 9, '9d'],
    [86400 * 800, '2y70d'],
    [86400 * 3650, '10y'],
  ];
  for (const [seconds, want] of cases) assert.equal(humanDuration(seconds * 1000), want, String(seconds));
});

test('durations are read and written as Go does', () => {
  const cases: readonly (readonly [string, number, string])[] = [
    ['1h30m', 5400000, '1h30m0s'],
    ['100ms', 100, '100ms'],
    ['1.5s', 1500, '1.5s'],
    ['0', 0, '0s'],
    ['-2m', -120000, '-2m0s'],
    ['90s', 90000, '1m30s'],
  ];
  for (const [text, ms, canonical] of cases) {
    assert.equal(parseDurationMs(text), ms, text);
    assert.equal(formatDurationMs(ms), canonical, text);
  }
  for (const text of ['', '5', 'x', '1h ', '1d', '2562048h', '-2562048h', '9223372036855ms'])
    assert.equal(parseDurationMs(text), undefined, text);
});

test('percentages are rounded up or down as the caller requests', () => {
  assert.equal(scaledValue('25%', 10, true), 3);
  assert.equal(scaledValue('25%', 10, false), 2);
  assert.equal(scaledValue(7, 10, false), 7);
  assert.throws(() => scaledValue('7', 10, false), {
    message: 'invalid value for IntOrString: invalid type: string is not a percentage',
  });
});

test("field errors have upstream's texts", () => {
  assert.equal(invalidValue('a', 'x"y', 'bad').text, 'Invalid value: "x\\"y": bad');
  assert.equal(invalidValue('a', 3, 'bad').text, 'Invalid value: 3: bad');
  assert.equal(invalidValue('a', { b: 1 }, 'bad').text, 'Invalid value: {"b":1}: bad');
  assert.equal(notSupported('a', 'x', ['A', 'B']).text, 'Unsupported value: "x": supported values: "A", "B"');
  assert.equal(tooMany('a', 5, 3).text, 'Too many: 5: must have at most 3 items');
  assert.equal(quote('\u0007\u0001\n'), '"\\a\\x01\\n"');
  assert.equal(quote('"\\ü日😀\u007f\u0085\u00a0\u2028\ufeff'), '"\\"\\\\ü日😀\\x7f\\u0085\\u00a0\\u2028\\ufeff"');
  assert.equal(quote('a\ud800b\u{e0001}'), '"a\ufffdb\\U000e0001"');
});

test("names, labels and qualified names are checked with upstream's messages", () => {
  assert.deepEqual(isDns1123Label('a-1'), []);
  assert.deepEqual(isDns1123Label('A'), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
  assert.deepEqual(isQualifiedName('example.com/'), [
    'name part must be non-empty',
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ]);
  assert.deepEqual(isLabelValue('a'.repeat(64)), ['must be no more than 63 bytes']);
  assert.deepEqual(isLabelValue('ä'.repeat(32)).length, 2, 'limits count bytes');
  assert.deepEqual(isDns1123Label('a.b'), ['must not contain dots']);
  assert.match(isDns1123Label('a..b')[0] ?? '', /^a lowercase RFC 1123 label must consist/);
  assert.match(isQualifiedName('a/b/c')[0] ?? '', /^a valid label key must consist/);
  assert.deepEqual(isConfigMapKey('..'), ["must not be '..'"]);
  assert.deepEqual(isPortName('80'), ['must contain at least one letter (a-z)']);
  assert.deepEqual(nameIsDnsSubdomain('web-', true), []);
  assert.equal(nameIsDnsSubdomain('web-', false).length, 1);
});

test('metadata of new objects is validated', () => {
  const rules = { namespaced: true, validateName: nameIsDnsSubdomain };
  const root = Field.root();
  const errors = root.errors;
  validateObjectMeta(
    { labels: { 'a b': 'c' }, finalizers: ['x'], annotations: { Key: 'v' } },
    rules,
    root.at('metadata'),
  );
  assert.deepEqual(
    errors.map((error) => error.field),
    ['metadata.name', 'metadata.namespace', 'metadata.labels', 'metadata.finalizers[0]'],
  );
  assert.equal(errors[0]!.text, 'Required value: name or generateName is required');
});

test('metadata of updates is validated', () => {
  const old = {
    name: 'a',
    uid: 'u',
    resourceVersion: '1',
    generation: 2,
    deletionTimestamp: 't',
    finalizers: ['a.b/c'],
  };
  const root = Field.root();
  const errors = root.errors;
  validateObjectMetaUpdate(
    { ...old, uid: 'w', generation: 1, finalizers: ['a.b/c', 'x.y/z'] },
    { old },
    root.at('metadata'),
  );
  assert.deepEqual(
    errors.map((error) => `${error.field}: ${error.text}`),
    [
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.y/z"}',
      'metadata.generation: Invalid value: 1: must not be decremented',
      'metadata.uid: Invalid value: "w": field is immutable',
    ],
  );
});

test('quality of service classes are those of upstream', () => {
  const full = { cpu: '1', memory: '1Gi' };
  const pod = (...resources: object[]) => ({
    spec: { containers: resources.map((r, i) => ({ name: `c${i}`, resources: r })) },
  });
  assert.equal(computePodQosClass(pod({})), 'BestEffort');
  assert.equal(computePodQosClass(pod({ requests: full, limits: full })), 'Guaranteed');
  assert.equal(computePodQosClass(pod({ requests: full, limits: full }, {})), 'Burstable');
  assert.equal(computePodQosClass(pod({ requests: { cpu: '1' } })), 'Burstable');
  assert.equal(computePodQosClass(pod({ requests: { cpu: '0' } })), 'BestEffort');
});

test("tolerations match taints as upstream's do", () => {
  const taint = { key: 'k', value: 'v', effect: 'NoSchedule' };
  assert.equal(findUntoleratedTaint([taint], []), taint);
  assert.equal(findUntoleratedTaint([taint], [{ key: 'k', operator: 'Exists' }]), undefined);
  assert.equal(findUntoleratedTaint([taint], [{ key: 'k', value: 'v', effect: 'NoExecute' }]), taint);
  assert.equal(findUntoleratedTaint([taint], [{ operator: 'Exists' }]), undefined);
});
