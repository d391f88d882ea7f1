/** The page and the schemas of scenario files are current, and the schemas accept and refuse the same files as the parser. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { parseYaml } from '../src/api/codec/yaml.ts';
import { parseImages, parseScenario } from '../src/testing/scenario.ts';
import { repositoryRoot } from './repository.ts';
import { referenceFiles } from './scenario-reference.ts';

const published = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');

for (const { path, text } of referenceFiles())
  it(`${path} is current (node tools/scenario-reference.ts writes it, npm run format formats it)`, () => {
    if (path.endsWith('.json')) assert.deepEqual(JSON.parse(published(path)), JSON.parse(text));
    else assert.equal(published(path), text);
  });

const schemaOf = (path: string): z.ZodType => z.fromJSONSchema(JSON.parse(published(path)) as never);
const scenarios = schemaOf('docs/scenario.schema.json');
const images = schemaOf('docs/images.schema.json');

const takes = (parse: (text: string) => unknown, value: unknown): boolean => {
  try {
    parse(JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
};

/** Copies of a value, in each of which one key at any depth is misspelt, missing, or has another value. */
function* changed(value: unknown): Generator<{ readonly what: string; readonly value: unknown }> {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const one of changed(item)) yield { what: `${index}.${one.what}`, value: value.with(index, one.value) };
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const others = Object.entries(value).filter(([name]) => name !== key);
    const without = Object.fromEntries(others);
    yield { what: `${key} misspelt`, value: { ...without, [`${key}x`]: item } };
    yield { what: `no ${key}`, value: without };
    for (const other of [{}, [], '', 'nonsense', -3, true, null])
      yield { what: `${key}: ${JSON.stringify(other)}`, value: { ...without, [key]: other } };
    for (const one of changed(item)) yield { what: `${key}.${one.what}`, value: { ...without, [key]: one.value } };
  }
}

const files = globSync(['test/sim/**/*.yaml'], { cwd: repositoryRoot }).sort();

/**
 * All parts of the tests' scenarios except steps, and each form of a step by itself; parts that the API server validates are left
 * out.
 */
function* small(): Generator<readonly [file: string, scenario: object]> {
  const seen = new Set<string>();
  for (const file of files) {
    const { steps, ...scenario } = parseYaml(published(file)).value as { steps: object[] };
    yield [file, { ...scenario, steps: [] }];
    for (const step of steps) {
      const form = JSON.stringify(step, (_, value: unknown) => (typeof value === 'number' ? 0 : value)).replaceAll(
        /"[^"]*"(?!:)/g,
        '""',
      );
      if ('apply' in step || 'patch' in step || seen.has(form)) continue;
      seen.add(form);
      yield [file, { name: 'x', steps: [step] }];
    }
  }
}

describe('the schema of scenarios', () => {
  it('accepts every scenario of the tests', () => {
    assert.ok(files.length > 50, `${files.length} files`);
    for (const file of files) {
      const { success, error } = scenarios.safeParse(parseYaml(published(file)).value);
      assert.ok(success, `${file}: ${error?.message}`);
    }
  });

  it('refuses misspelt words, and accepts all that the parser accepts', () => {
    const misspelt = { refused: 0, taken: 0 };
    for (const [file, scenario] of small())
      for (const { what, value } of changed(scenario)) {
        const bySchema = scenarios.safeParse(value).success;
        const byReader = takes(parseScenario, value);
        if (byReader) assert.ok(bySchema, `${file}: ${what} is taken by the reader alone`);
        if (!what.endsWith(' misspelt')) continue;
        assert.equal(bySchema, byReader, `${file}: ${what}`);
        misspelt[byReader ? 'taken' : 'refused']++;
      }
    assert.ok(misspelt.refused > 300, JSON.stringify(misspelt));
  });

  it('refuses steps that test nothing', () => {
    for (const step of [
      { wait: {} },
      { wait: { pods: { selector: 'a' } } },
      { expect: {} },
      { always: { name: 'a', selector: 'a' } },
      { crash: 'everything' },
      { advance: '1y' },
      { advance: '1s..2y' },
      { rest: '1m', advance: '2m' },
    ]) {
      assert.equal(scenarios.safeParse({ name: 'x', steps: [step] }).success, false, JSON.stringify(step));
      assert.equal(takes(parseScenario, { name: 'x', steps: [step] }), false, JSON.stringify(step));
    }
  });
});

describe('the schema of images', () => {
  it('accepts the example of docs/testing.md, and refuses misspelt words and ranges', () => {
    const [, example = ''] = /```yaml\n(web:1:\n[^]*?)```/.exec(published('docs/testing.md')) ?? [];
    const { value } = parseYaml(example);
    assert.ok(parseImages(example).length > 1);
    assert.ok(images.safeParse(value).success);
    for (const one of changed(value)) {
      const [bySchema, byReader] = [images.safeParse(one.value).success, takes(parseImages, one.value)];
      if (byReader) assert.ok(bySchema, `${one.what} is taken by the reader alone`);
      if (one.what.includes('.') && one.what.endsWith(' misspelt')) assert.equal(bySchema, false, one.what);
    }
    assert.equal(images.safeParse({ a: { start: '1s..2s' } }).success, false);
  });
});
