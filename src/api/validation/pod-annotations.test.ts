/** Annotations of pods that the API server validates, in all requests that write pods. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Check, validateAll } from './complaints-fixture.ts';
import { Field } from '../field-error.ts';
import type { Pod } from '../gen/core-v1.ts';
import { validatePodResize } from './pod-resize.ts';
import { validatePod, validatePodEphemeralContainersUpdate, validatePodUpdate } from './pod-update.ts';
import { validatePodStatusUpdate } from './pod-status-update.ts';

const pod = (annotations: Record<string, string>, nodeName = 'n'): Pod => ({
  metadata: { name: 'p', namespace: 'a', annotations },
  spec: {
    nodeName,
    restartPolicy: 'Always',
    containers: [{ name: 'c', image: 'i', imagePullPolicy: 'Always', terminationMessagePolicy: 'File' }],
    dnsPolicy: 'Default',
    terminationGracePeriodSeconds: 1,
  },
  status: { phase: 'Running', qosClass: 'BestEffort' },
});

function complaints(check: Check): string[] {
  const field = Field.root();
  validateAll(check(field));
  return field.errors.filter((one) => one.field.startsWith('metadata')).map((one) => `${one.field}: ${one.text}`);
}

const MIRROR = 'kubernetes.io/config.mirror';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/c';
const updates = { validatePodUpdate, validatePodStatusUpdate, validatePodEphemeralContainersUpdate, validatePodResize };

describe('some annotations are immutable', () => {
  for (const [name, validate] of Object.entries(updates))
    for (const [key, what] of [
      [MIRROR, 'mirror pod annotation'],
      [APP_ARMOR, 'AppArmor annotations'],
    ] as const)
      test(`${name} of ${what}`, () => {
        const value = key === MIRROR ? 'hash' : 'runtime/default';
        const other = key === MIRROR ? '' : 'unconfined';
        const about = (now: Record<string, string>, before: Record<string, string>): string[] =>
          complaints((field) => validate(pod(now), pod(before), field));
        assert.deepEqual(about({ [key]: value, a: 'b' }, { [key]: value }), []);
        assert.deepEqual(about({ [key]: value }, {}), [`metadata.annotations[${key}]: Forbidden: may not add ${what}`]);
        for (const now of [{}, { [key]: other }])
          assert.deepEqual(about(now, { [key]: value }), [
            `metadata.annotations[${key}]: Forbidden: may not remove or update ${what}`,
          ]);
      });
});

describe('annotations with a meaning are validated', () => {
  const cost = 'controller.kubernetes.io/pod-deletion-cost';
  const seccomp = 'seccomp.security.alpha.kubernetes.io/pod';
  const wrong: [key: string, value: string, text: string][] = [
    [cost, '+1', 'Invalid value: "+1": must be a 32bit integer'],
    [cost, '2147483648', 'Invalid value: "2147483648": must be a 32bit integer'],
    [seccomp, 'x', 'Invalid value: "x": must be a valid seccomp profile'],
    [seccomp, 'localhost/../x', 'Invalid value: "../x": must not contain \'..\''],
    [APP_ARMOR, 'x', 'Invalid value: "x": invalid AppArmor profile name: "x"'],
    ['container.apparmor.security.beta.kubernetes.io/d', '', 'Invalid value: "d": container not found'],
  ];
  for (const [key, value, text] of wrong)
    test(`${key}=${value} is refused, but may stay`, () => {
      const of = `metadata.annotations[${key}]: ${text}`;
      assert.deepEqual(
        complaints((field) => validatePod(pod({ [key]: value }), field)),
        [of],
      );
      const [now, before] = [pod({ [key]: value }), pod({ [key]: value })];
      assert.deepEqual(
        complaints((field) => validatePodStatusUpdate(now, before, field)),
        [],
      );
    });
  for (const [key, value] of [
    [cost, '-2147483648'],
    [cost, '0'],
    [seccomp, 'localhost/a/b'],
    [APP_ARMOR, 'localhost/x'],
    [MIRROR, ''],
  ] as const)
    test(`${key}=${value} is taken`, () =>
      assert.deepEqual(
        complaints((field) => validatePod(pod({ [key]: value }), field)),
        [],
      ));

  test('a mirror pod must have a node name', () => {
    const text = 'Invalid value: "h": must set spec.nodeName if mirror pod annotation is set';
    assert.deepEqual(
      complaints((field) => validatePod(pod({ [MIRROR]: 'h' }, ''), field)),
      [`metadata.annotations[${MIRROR}]: ${text}`],
    );
  });
});
