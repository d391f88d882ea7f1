import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../gen/core-v1.ts';
import { validatePodTemplateSpec } from './pod-template.ts';
import { validatePod } from './pod-update.ts';
import { complaints } from './complaints-fixture.ts';

test('templates of pods in the host network may lack a host port, pods may not', () => {
  const specOf = (hostPort: number | undefined): PodSpec =>
    ({
      hostNetwork: true,
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: 'a',
          image: 'a',
          imagePullPolicy: 'Always',
          terminationMessagePolicy: 'File',
          ports: [{ containerPort: 9120, protocol: 'TCP', ...(hostPort === undefined ? {} : { hostPort }) }],
        },
      ],
    }) as PodSpec;
  const mismatch = (at: string, hostPort: number): string[] => [
    `${at}.containers[0].ports[0].hostPort: Invalid value: ${hostPort}: must match \`containerPort\` when \`hostNetwork\` is true`,
  ];
  const inTemplate = (hostPort?: number): string[] =>
    complaints((field) => validatePodTemplateSpec({ spec: specOf(hostPort) }, field.at('template')));
  const inPod = (hostPort?: number): string[] =>
    complaints((field) => validatePod({ metadata: { name: 'p' }, spec: specOf(hostPort) }, field));
  assert.deepEqual([inTemplate(), inTemplate(9120), inTemplate(1)], [[], [], mismatch('template.spec', 1)]);
  assert.deepEqual([inPod(), inPod(9120), inPod(1)], [mismatch('spec', 0), [], mismatch('spec', 1)]);
});
