/** YAML whose aliases expand to hundreds of times its length in JSON. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonOfYaml } from './json-of-yaml.ts';
import { MAX_JSON_LENGTH } from './max-json-length.ts';

test('of JSON beyond the limit no more is handed on than shows that it is', () => {
  const yaml = `a: &a "${'x'.repeat(200_000)}"\nb: [${'*a,'.repeat(99)}]\n`;
  assert.equal(jsonOfYaml(yaml).length, MAX_JSON_LENGTH + 1);
  assert.equal(jsonOfYaml('a: 1'), '{"value":{"a":1},"duplicates":[]}');
});
