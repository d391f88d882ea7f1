/** Explainers give no causes for unknown values, and do not report objects as missing that they may not read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { allResources, ConfigMaps } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';
import { forbidden } from '../api/status-error.ts';
import { parseTime } from '../api/time.ts';
import type { Client } from '../client/client.ts';
import { firstCauses } from './explanation.ts';
import { explainObject } from './explain.ts';
import { explanationText } from './text.ts';

type Info = ResourceInfo<KubernetesObject>;

const refuse = (): Promise<never> => Promise.reject(forbidden({ group: '', resource: 'things' }, 'x', 'no'));
/** A client whose reads are all forbidden. */
const client = {
  resource: () => ({ get: refuse, list: refuse, create: refuse, getSubresource: refuse }),
  raw: refuse,
} as unknown as Client;

const EXPLAINED: readonly Info[] = (allResources as readonly Info[]).filter(({ kind, verbs }) =>
  [kind !== 'Event', verbs.includes('get'), verbs.includes('list')].every(Boolean),
);
const WIDGETS: Info = {
  ...(ConfigMaps as Info),
  group: 'example.com',
  version: 'v1',
  resource: 'widgets',
  kind: 'Widget',
};

const WORD = fc.stringMatching(/^Odd[A-Z][a-z]{3,8}$/);
const STATUS = fc.constantFrom('True', 'False', 'Unknown', 'Maybe');
const CONDITION = fc.record({ type: WORD, status: STATUS, reason: WORD, message: fc.string({ maxLength: 20 }) });
const PHASE = fc.constantFrom('Pending', 'Running', 'Odd', 'Unknown');

/** Causes that fields of the object itself prove: absent labels, addresses and approvals, counts in the status. */
const CERTAIN = new Set(['NotApproved', 'NotServed', 'NoService', 'NoNodeMatches', 'SelectsNoPods']);

test('unknown conditions, reasons and phases yield no invented cause', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...EXPLAINED, WIDGETS),
      fc.array(CONDITION, { maxLength: 4 }),
      PHASE,
      async (info, conditions, ofPhase) => {
        const object = {
          apiVersion: apiVersionOf(info),
          kind: info.kind,
          metadata: { name: 'x', namespace: 'y', uid: 'u', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
          spec: {},
          status: { conditions, phase: ofPhase, observedGeneration: 1 },
        } as KubernetesObject;
        const explanation = await explainObject(info, object, { client, nowMs: parseTime('2026-01-02T00:00:00Z') });
        const made = firstCauses(explanation.causes).map(({ code }) => code);
        const words = JSON.stringify(object);
        const invented = made.filter((code) => !CERTAIN.has(code) && !words.includes(`"${code}"`));
        assert.deepEqual(invented, [], `${info.kind}:\n${explanationText(explanation)}`);
        if (explanation.state === 'Unknown' && explanation.causes.length === 0)
          assert.notEqual(explanation.lookedAt.length, 0, `${info.kind} says what was looked at`);
      },
    ),
    { numRuns: 3000, seed: 18 },
  );
});

test('custom resources of any shape are unknown, or reported with their own conditions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.option(fc.jsonValue(), { nil: undefined }), async (anything) => {
      for (const ofStatus of [anything, { conditions: anything }, { conditions: [anything, { type: 'Ready' }] }]) {
        const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'x' }, status: ofStatus };
        const { state, causes } = await explainObject(WIDGETS, object as KubernetesObject, { client, nowMs: 0 });
        assert.deepEqual([state, causes], ['Unknown', []]);
      }
    }),
    { numRuns: 1000, seed: 18 },
  );
});

test('a resource without status is unknown; known conditions are reported', async () => {
  const explain = (conditions?: object[]) => {
    const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'x' }, status: { conditions } };
    return explainObject(WIDGETS, object as KubernetesObject, { client, nowMs: 0 });
  };
  const text = explanationText(await explain());
  assert.match(text, /not known: nothing that was looked at says why\n {4}looked at conditions of .*: it has none\n/);
  assert.match(
    explanationText(await explain([{ type: 'Odd', status: 'True', reason: 'So' }])),
    /looked at conditions of .*: Odd=True So\n/,
  );
  assert.equal((await explain([{ type: 'Ready', status: 'True' }])).state, 'Fine');
  assert.equal((await explain([{ type: 'Ready', status: 'Unknown' }])).state, 'Unknown');
  assert.equal((await explain([{ type: 'Ready', status: 'False', reason: 'Why' }])).causes[0]?.code, 'Why');
});
