import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../gen/core-v1.ts';
import { volumePathWarnings } from './pod-paths.ts';

const volume = (paths: readonly string[]): Volume => ({
  name: 'v',
  configMap: { name: 'm', items: paths.map((path) => ({ key: 'k', path })) },
});
const HEAD = 'volume "v" (ConfigMap "m"): overlapping paths:';

test('files that replace each other are reported in pairs, whatever slashes their paths end with', () => {
  assert.deepEqual(volumePathWarnings([volume(['a', 'ab', 'a/b///', '', '/'])]), [`${HEAD} "a/b" with "a"`]);
});

test('the number of warnings of all volumes, and the length of their paths, is limited', () => {
  const paths = Array.from({ length: 100 }, (_, at) => 'a/'.repeat(100 * (at + 1)));
  const warnings = volumePathWarnings(Array.from({ length: 5 }, () => volume(paths)));
  assert.equal(warnings.length, 100);
  assert.ok(warnings.every((text) => text.length < 3_000));
});

test('the time for a path of many slashes is linear in its length', () => {
  const path = `a${'/'.repeat(100_000)}a`;
  const startUs = process.cpuUsage().user;
  assert.equal(volumePathWarnings([volume([path, 'a'])]).length, 1);
  const tookMs = (process.cpuUsage().user - startUs) / 1000;
  assert.ok(tookMs < 1000, `${tookMs} ms`);
});
