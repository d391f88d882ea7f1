import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { containersOf, probeWords, resourceWords, stateWords } from './container-facts.ts';

test('containers are listed in the order in which they start, each with its status', () => {
  const pod = {
    metadata: { name: 'p' },
    spec: {
      containers: [{ name: 'main' }],
      initContainers: [{ name: 'prepare' }, { name: 'mesh', restartPolicy: 'Always' }],
      ephemeralContainers: [{ name: 'debug' }],
    },
    status: { initContainerStatuses: [{ name: 'mesh', restartCount: 2 }] },
  } as unknown as Pod;
  assert.deepEqual(
    containersOf(pod).map(({ role, spec, status }) => [role, spec.name, status?.restartCount]),
    [
      ['init', 'prepare', undefined],
      ['sidecar', 'mesh', 2],
      ['main', 'main', undefined],
      ['ephemeral', 'debug', undefined],
    ],
  );
});

test('states, probes and resources are formatted', () => {
  assert.equal(stateWords({ running: { startedAt: '2026-01-01T00:00:00Z' } }).word, 'Running');
  assert.deepEqual(stateWords({ terminated: { exitCode: 137, reason: 'OOMKilled' } }), {
    word: 'OOMKilled',
    sinceMs: 0,
    detail: 'exit code 137',
  });
  assert.equal(stateWords({ waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } }).detail, 'back-off 10s');
  assert.equal(stateWords(undefined).word, 'Waiting');
  assert.equal(
    probeWords({ httpGet: { port: 8080, path: '/healthz' }, periodSeconds: 5 }),
    'GET :8080/healthz, every 5 s (1 s at most), 3 in a row count',
  );
  assert.match(probeWords({ exec: { command: ['cat', '/ready'] }, initialDelaySeconds: 7 }), /^cat \/ready, .*7 s/);
  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } };
  assert.deepEqual(resourceWords({ name: 'c', resources }), ['cpu 100m', 'memory 64Mi, at most 128Mi']);
});
