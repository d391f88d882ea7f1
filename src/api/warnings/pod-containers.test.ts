import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnvVar, PodSpec } from '../gen/core-v1.ts';
import { containerWarnings, placedContainers } from './pod-containers.ts';

function warningsOf(env: EnvVar[]): string[] {
  const spec: PodSpec = { containers: [{ name: 'c', env }] };
  const pod = { spec, metadata: {}, specPath: 'spec', metadataPath: 'metadata', isTemplate: false };
  return containerWarnings(pod, placedContainers(spec, 'spec'));
}

test('a repeated variable hides the earlier one unless it refers to it', () => {
  const hidden = ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'];
  const later: readonly (readonly [EnvVar, string[]])[] = [
    [{ name: 'A', value: 'x' }, hidden],
    [{ name: 'A', value: '$(A):x' }, []],
    [{ name: 'A', value: '$(A)' }, hidden],
    [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }, hidden],
    [{ name: 'B', value: 'x' }, []],
  ];
  for (const [variable, expected] of later)
    assert.deepEqual(warningsOf([{ name: 'A', value: 'a' }, variable]), expected);
});

test('the time for a long name in a long value is the sum of both lengths, not their product', () => {
  const name = ')'.repeat(50_000);
  const value = `$(${name.slice(1)}`.repeat(40);
  const startUs = process.cpuUsage().user;
  assert.equal(warningsOf([{ name }, { name, value }]).length, 1);
  const tookMs = (process.cpuUsage().user - startUs) / 1000;
  assert.ok(tookMs < 1000, `${tookMs} ms`);
});
