// Pods with long lists, whose validation took minutes when each element was compared with every other; these tests then did not
// end in time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Steps } from '../../base/steps.ts';
import { Field } from '../field-error.ts';
import { validateAll } from './complaints-fixture.ts';
import { validateAffinity } from './pod-affinity.ts';
import { validatePodAnnotations } from './pod-annotations.ts';
import { validatePodEphemeralContainersUpdate, validatePodUpdate } from './pod-update.ts';
import { validatePodStatusUpdate } from './pod-status-update.ts';

const COUNT = 30_000;
const numbered = <T>(make: (index: number) => T): T[] => Array.from({ length: COUNT }, (_, at) => make(at));
const container = { name: 'a', image: 'a', imagePullPolicy: 'Always', terminationMessagePolicy: 'File' };

function podOf(parts: { spec?: object; status?: object }): object {
  const spec = { containers: [container], restartPolicy: 'Never', dnsPolicy: 'Default', ...parts.spec };
  return { metadata: { name: 'a' }, spec, status: parts.status };
}

function causes(
  validate: (pod: never, old: never, field: Field) => Steps<void> | void,
  pod: object,
  old: object,
): string {
  const root = Field.root();
  validateAll(validate(pod as never, old as never, root));
  return root.errors.map(({ field, text }) => `${field}: ${text.slice(0, 200)}`).join('\n');
}

test('an update may only add tolerations and change their seconds', () => {
  const pod = (seconds: number, ...more: object[]): object => {
    const given = numbered((at) => ({
      key: `k${at}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: seconds,
    }));
    return podOf({ spec: { tolerations: [...given, ...more] } });
  };
  const added = { key: 'x', operator: 'Exists' };
  assert.doesNotMatch(causes(validatePodUpdate, pod(2, added), pod(1)), /tolerations/);
  assert.match(
    causes(validatePodUpdate, pod(2), pod(1, added)),
    /^spec\.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds$/m,
  );
});

test('terminated containers stay terminated unless a policy restarts them', () => {
  const ended = { terminated: { exitCode: 1 } };
  const pod = (state: object, ips: string[] = []): object =>
    podOf({
      spec: { initContainers: numbered((at) => ({ name: `c${at}`, ...(at === 0 && { restartPolicy: 'Always' }) })) },
      status: { containerStatuses: numbered((at) => ({ name: `c${at}`, state })), podIPs: ips.map((ip) => ({ ip })) },
    });
  const found = causes(validatePodStatusUpdate, pod({ running: {} }), pod(ended)).split('\n');
  assert.equal(
    found[0],
    'status.containerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state',
  );
  const ips = numbered((at) => `bad${at}`);
  assert.doesNotMatch(causes(validatePodStatusUpdate, pod(ended, ips), pod(ended, ips)), /valid IP/);
});

test('ephemeral containers may only be added', () => {
  const pod = (image: string): object =>
    podOf({
      spec: {
        ephemeralContainers: numbered((at) => ({ ...container, name: `c${at}`, image: at === 7 ? image : 'a' })),
      },
    });
  const found = causes(validatePodEphemeralContainersUpdate, pod('b'), pod('a'));
  assert.match(found, /ephemeralContainers\[7\]: Forbidden: existing ephemeral containers "c7" may not be changed/);
  assert.doesNotMatch(causes(validatePodEphemeralContainersUpdate, pod('a'), pod('a')), /existing/);
});

test('AppArmor annotations must name containers of the pod', () => {
  const prefix = 'container.apparmor.security.beta.kubernetes.io/';
  const annotations = Object.fromEntries(numbered((at) => [`${prefix}c${at}`, 'unconfined']));
  const spec = { containers: [], initContainers: numbered((at) => ({ name: `c${at + 1}` })) };
  const root = Field.root();
  validatePodAnnotations(annotations, spec as never, { field: root });
  assert.deepEqual(
    root.errors.map(({ field, text }) => `${field}: ${text}`),
    [`[${prefix}c0]: Invalid value: "c0": container not found`],
  );
});

test('keys of labels are not in the selector beside them', () => {
  // Texts that differ at their end alone take longest to compare.
  const key = (at: number): string => `${'k'.repeat(500)}${at}`;
  const term = {
    topologyKey: 'zone',
    matchLabelKeys: numbered(key),
    labelSelector: { matchExpressions: numbered((at) => ({ key: key(at + COUNT - 1), operator: 'Exists' })) },
  };
  const selector = { ...term.labelSelector, matchLabels: { [key(COUNT - 1)]: 'v' } };
  const root = Field.root();
  const terms = [{ ...term, labelSelector: selector }];
  validateAffinity({ podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } }, root);
  const texts = root.errors.map(({ text }) => text);
  assert.equal(texts.length, 1000, 'names are too long');
  const short = Field.root();
  const few = [
    {
      topologyKey: 'zone',
      matchLabelKeys: ['a'],
      labelSelector: { matchLabels: { a: 'v' }, matchExpressions: [{ key: 'a', operator: 'Exists' }] },
    },
  ];
  validateAffinity({ podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: few } }, short);
  assert.match(short.errors[0]?.text ?? '', /exists in both matchLabelKeys and labelSelector/);
});
