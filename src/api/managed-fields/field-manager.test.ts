import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../codec/own-property.ts';
import { canonicalize } from '../codec/canonical.ts';
import { decodeTyped } from '../codec/typed.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { apply } from './apply.ts';
import { fieldSetOf } from './field-extract.ts';
import { applied, applyAs, common, config, deployment, ownedBy, specOf, updateAs } from './field-manager-fixture.ts';
import { createdEntries, trackUpdate, updatedEntriesSteps } from './field-manager.ts';

test('an applier owns the fields of its configuration', () => {
  const object = applied(
    applyAs(
      'me',
      undefined,
      config(
        {
          replicas: 0,
          template: { spec: { containers: [{ name: 'a', stdin: false, ports: [{ containerPort: 80 }] }] } },
        },
        { labels: { app: 'web' } },
      ),
    ),
  );
  assert.deepEqual(ownedBy(object, 'me').sort(), [
    '.metadata.labels.app',
    '.spec.replicas',
    '.spec.template.spec.containers[name="a"]',
    '.spec.template.spec.containers[name="a"].name',
    '.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"]',
    '.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].containerPort',
    '.spec.template.spec.containers[name="a"].stdin',
  ]);
  const [entry] = (object['metadata'] as { managedFields: ManagedFieldsEntry[] }).managedFields;
  assert.deepEqual(
    [entry?.operation, entry?.apiVersion, entry?.time, entry?.fieldsType],
    ['Apply', 'apps/v1', common.time, 'FieldsV1'],
  );
});

test('a conflict names the owner and the field, and force takes the field over', () => {
  const live = updateAs('kubectl', undefined, config({ replicas: 2 }));
  const result = applyAs('me', live, config({ replicas: 3 }));
  assert.equal(
    result.kind === 'conflict' && result.message,
    'Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas',
  );
  assert.deepEqual(result.kind === 'conflict' && result.causes, [
    {
      reason: 'FieldManagerConflict',
      message: 'conflict with "kubectl" using apps/v1',
      field: '.spec.replicas',
    },
  ]);
  const forced = applied(applyAs('me', live, config({ replicas: 3 }), true));
  assert.equal(specOf(forced)['replicas'], 3);
  assert.deepEqual(ownedBy(forced, 'kubectl').includes('.spec.replicas'), false);
  assert.deepEqual(ownedBy(forced, 'me'), ['.spec.replicas']);
});

test('several conflicts are listed by owner', () => {
  const live = applied(applyAs('other', undefined, config({ replicas: 1, paused: true, minReadySeconds: 5 })));
  const result = applyAs('me', live, config({ replicas: 2, minReadySeconds: 6 }));
  assert.equal(
    result.kind === 'conflict' && result.message,
    'Apply failed with 2 conflicts: conflicts with "other":\n- .spec.minReadySeconds\n- .spec.replicas',
  );
});

test('equal values are shared without conflict', () => {
  const one = applied(applyAs('one', undefined, config({ replicas: 1 })));
  const two = applied(applyAs('two', one, config({ replicas: 1 })));
  assert.deepEqual([ownedBy(two, 'one'), ownedBy(two, 'two')], [['.spec.replicas'], ['.spec.replicas']]);
  const dropped = applied(applyAs('one', two, config({})));
  assert.equal(specOf(dropped)['replicas'], 1);
  assert.deepEqual(ownedBy(dropped, 'one'), ['.spec']);
  assert.equal(Object.hasOwn(specOf(applied(applyAs('two', dropped, config({})))), 'replicas'), false);
});

test('fields that are no longer applied are removed, unless others own them', () => {
  const env = (...names: string[]): object => ({
    template: { spec: { containers: [{ name: 'a', image: 'i', env: names.map((name) => ({ name, value: '1' })) }] } },
  });
  const first = applied(applyAs('me', undefined, config(env('X', 'Y'), { labels: { a: '1', b: '2' } })));
  const other = applied(applyAs('other', first, config(env('Z'), { labels: { c: '3' } })));
  const second = applied(applyAs('me', other, config(env('Y'), { labels: { b: '2' } })));
  const [container] = (specOf(second)['template'] as { spec: { containers: { env: { name: string }[] }[] } }).spec
    .containers;
  assert.deepEqual(container?.env.map((e) => e.name).sort(), ['Y', 'Z']);
  assert.deepEqual((second['metadata'] as { labels: object }).labels, { b: '2', c: '3' });
});

test('removing the last item removes its container, and a list item is removed with its defaults', () => {
  const two = {
    template: {
      spec: {
        containers: [
          { name: 'a', image: 'i' },
          { name: 'b', image: 'i' },
        ],
      },
    },
  };
  const first = applied(applyAs('me', undefined, config(two, { labels: { a: '1' } })));
  // Defaulting fills fields that no manager owns.
  const template = specOf(first)['template'] as { spec: { containers: object[] } };
  const defaulted = {
    ...first,
    spec: {
      ...specOf(first),
      template: {
        ...template,
        spec: {
          ...template.spec,
          containers: template.spec.containers.map((c) => ({ ...c, imagePullPolicy: 'Always' })),
        },
      },
    },
  };
  const second = applied(
    applyAs('me', defaulted, config({ template: { spec: { containers: [{ name: 'a', image: 'i' }] } } })),
  );
  const containers = (specOf(second)['template'] as { spec: { containers: object[] } }).spec.containers;
  assert.deepEqual(containers, [{ name: 'a', image: 'i', imagePullPolicy: 'Always', resources: {} }]);
  assert.equal('labels' in (second['metadata'] as object), false);
});

test('applied items keep their order, and live items their places between them', () => {
  const env = (names: string): object => ({
    template: { spec: { containers: [{ name: 'a', env: [...names].map((name) => ({ name, value: '1' })) }] } },
  });
  const cases: [live: string, applied: string, merged: string][] = [
    ['axb', 'ba', 'xba'],
    ['axb', 'anb', 'axnb'],
    ['xay', 'na', 'xnay'],
    ['ab', 'ab', 'ab'],
    ['x', 'ab', 'xab'],
    ['abc', 'ca', 'bca'],
  ];
  for (const [live, mine, merged] of cases) {
    const first = applied(applyAs('other', undefined, config(env(live))));
    const template = specOf(applied(applyAs('me', first, config(env(mine)))))['template'];
    const [container] = (template as { spec: { containers: { env: { name: string }[] }[] } }).spec.containers;
    assert.equal(container?.env.map((e) => e.name).join(''), merged, `${live} and ${mine}`);
  }
});

test('applying the same configuration again changes nothing', () => {
  const spec = {
    replicas: 1,
    paused: false,
    template: { spec: { containers: [{ name: 'a', resources: { requests: { cpu: '1000m' } } }] } },
  };
  const live = applied(applyAs('me', undefined, config(spec)));
  const again = apply(live, decodeTyped(deployment, config(spec), { shape: 'sparse' }).object, {
    ...common,
    manager: 'me',
    force: false,
    time: '2025-01-01T00:00:00Z',
  });
  assert.equal(applied(again), live);
});

test('kubectl takes over fields from its client-side apply', () => {
  const annotation = JSON.stringify(config({ replicas: 1 }));
  const live = updateAs(
    'kubectl-client-side-apply',
    undefined,
    config({ replicas: 1 }, { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': annotation } }),
  );
  assert.equal(applyAs('other', live, config({ replicas: 2 })).kind, 'conflict');
  const taken = applied(applyAs('kubectl', live, config({ replicas: 2 })));
  assert.equal(specOf(taken)['replicas'], 2);
  const noted = (object: JsonObject): string =>
    (object['metadata'] as { annotations: Record<string, string> }).annotations[
      'kubectl.kubernetes.io/last-applied-configuration'
    ]!;
  assert.deepEqual(JSON.parse(noted(taken)), config({ replicas: 2 }), 'the annotation keeps in step');
  const force = { ...common, manager: 'other', force: true };
  const forced = apply(live, config({ replicas: 3 }), force);
  assert.equal(noted(applied(forced)), annotation, 'for kubectl alone');
  assert.equal(apply(taken, config({ replicas: 2 }), { ...common, manager: 'kubectl', force: false }).kind, 'applied');
});

test('kubectl takes over no fields that its annotation records with another value or version', () => {
  for (const recorded of [config({ replicas: 5 }), { ...config({ replicas: 1 }), apiVersion: 'apps/v1beta1' }]) {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(recorded) };
    const live = updateAs('kubectl-client-side-apply', undefined, config({ replicas: 1 }, { annotations }));
    assert.equal(applyAs('kubectl', live, config({ replicas: 2 })).kind, 'conflict');
  }
});

test('lists that lack keys, or have one key twice, are refused', () => {
  const containers = (list: object[]): object =>
    fieldSetOf(deployment, config({ template: { spec: { containers: list } } })) ?? {};
  assert.match(JSON.stringify(containers([{ image: 'x' }])), /k:\{\\"name\\":\\"\\"\}/, 'a required key has a default');
  assert.throws(() => containers([{ name: 'a' }, { name: 'a' }]), {
    name: 'ListKeyError',
    message: /duplicate entries for key \[name="a"\]/,
  });
});

test('atomic values are owned and replaced whole', () => {
  const first = applied(
    applyAs(
      'me',
      undefined,
      config({
        selector: { matchLabels: { a: '1' } },
        template: { spec: { nodeSelector: { x: 'y' }, containers: [{ name: 'a', args: ['1'] }] } },
      }),
    ),
  );
  assert.ok(ownedBy(first, 'me').includes('.spec.selector'));
  assert.ok(ownedBy(first, 'me').includes('.spec.template.spec.nodeSelector'));
  const second = applied(
    applyAs(
      'me',
      first,
      config({ template: { spec: { nodeSelector: { z: 'y' }, containers: [{ name: 'a', args: ['2'] }] } } }),
    ),
  );
  const spec = (specOf(second)['template'] as { spec: { nodeSelector: object } }).spec;
  assert.deepEqual(spec.nodeSelector, { z: 'y' });
  assert.equal('selector' in specOf(second), false);
});

test('refused configurations have an error, and objects that do not fit the schema can still be updated', () => {
  const bad = config({ template: { spec: { containers: [{ name: 'x' }, { name: 'x' }] } } });
  assert.throws(() => applyAs('me', undefined, bad), {
    name: 'StatusError',
    message:
      'failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="x"]',
  });
  assert.throws(() => applyAs('me', undefined, config({}, { managedFields: [{ manager: 'x' }] })), {
    message: 'metadata.managedFields must be nil',
  });
  const live = updateAs('a', undefined, config({ replicas: 1 }));
  const odd = {
    ...live,
    spec: { ...specOf(live), template: { spec: { volumes: [{ emptyDir: {} }], topologySpreadConstraints: [{}] } } },
  };
  const { managedFields } = trackUpdate(live, odd, { ...common, manager: 'b' })['metadata'] as {
    managedFields: { manager: string; fieldsV1: object }[];
  };
  assert.deepEqual(
    managedFields.map(({ manager }) => manager),
    ['a', 'b'],
  );
  assert.match(JSON.stringify(managedFields[1]!.fieldsV1), /f:volumes.*k:\{\\"name\\":\\"\\"\}/);
});

test('fields without an owner stay when the last owned label is removed', () => {
  const first = applied(applyAs('me', undefined, config({}, { labels: { a: '1' } })));
  const stored = { ...first, metadata: { ...(first['metadata'] as JsonObject), uid: 'u' } };
  const second = applied(applyAs('me', stored, config({})));
  const { name, uid, labels } = second['metadata'] as Record<string, unknown>;
  assert.deepEqual([name, uid, labels], ['web', 'u', undefined]);
});

test('a null removes no items that others own from a list or map, even with force', () => {
  const template = { spec: { containers: [{ name: 'a', image: 'x' }] } };
  const live = applied(applyAs('one', undefined, config({ template }, { labels: { a: '1' } })));
  const nulls = config({ template: { spec: { containers: null } } }, { labels: null });
  const after = applied(applyAs('two', live, nulls, true));
  assert.deepEqual((after['metadata'] as JsonObject)['labels'], { a: '1' });
  const { spec } = specOf(after)['template'] as { spec: { containers: { name: string }[] } };
  assert.deepEqual(
    spec.containers.map(({ name }) => name),
    ['a'],
  );
  assert.ok(ownedBy(after, 'one').includes('.metadata.labels.a'));
});

test('a manager that applies existing values owns them, without a time', () => {
  const first = applied(applyAs('one', undefined, config({ replicas: 1 })));
  const second = applied(applyAs('two', first, config({ replicas: 1 })));
  const times = (second['metadata'] as { managedFields: { manager: string; time?: string }[] }).managedFields;
  assert.deepEqual(
    times.map(({ manager, time }) => [manager, time !== undefined]),
    [
      ['two', false],
      ['one', true],
    ],
  );
});

test('the managed fields of a new object with long lists are the same in steps and at once', () => {
  const ports = Array.from({ length: 3000 }, (_, at) => ({ name: `p${at}`, containerPort: at + 1, protocol: 'TCP' }));
  const containers = Array.from({ length: 1200 }, (_, at) => ({
    name: `c${at}`,
    image: 'i',
    ports: at === 0 ? ports : [],
  }));
  const template = { metadata: { labels: { app: 'a' } }, spec: { containers, initContainers: containers.slice(0, 2) } };
  const next = canonicalize(deployment, config({ replicas: 1, selector: { matchLabels: { app: 'a' } }, template }));
  const request = { ...common, manager: 'm' };
  const steps = updatedEntriesSteps(undefined, next, request);
  let count = 0;
  let result = steps.next();
  for (; result.done !== true; result = steps.next()) count++;
  assert.ok(count >= 10, `${count} steps`);
  const copy = structuredClone(next);
  assert.deepEqual(result.value, createdEntries(copy, request));
});
