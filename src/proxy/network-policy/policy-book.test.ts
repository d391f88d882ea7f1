import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { allSteps } from '../../base/steps.ts';
import { PolicyBook } from './policy-book.ts';
import type { PodView } from './policy-pods.ts';
import { readPolicy } from './policy-rules.ts';
import { policyChangeScript, policyRewriteScript } from './policy-script.ts';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const table = { family: 4, name: 'kt' } as const;
const pod = (address: string, labels: Record<string, string>, more: Partial<PodView> = {}): PodView => ({
  namespace: 'ns',
  labels,
  address,
  here: true,
  ports: [],
  ...more,
});
const fromWeb = readPolicy(
  {
    metadata: { namespace: 'ns', name: 'db' },
    spec: {
      podSelector: { matchLabels: { app: 'db' } },
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }],
    },
  },
  { family: 4, sha256Hex },
);

function bookWith(pods: number): PolicyBook {
  const book = new PolicyBook(() => ({}), sha256Hex);
  allSteps(book.setPolicy('ns/db', fromWeb));
  allSteps(book.setPod('ns/db', pod('10.0.0.1', { app: 'db' })));
  for (let i = 0; i < pods; i++)
    allSteps(book.setPod(`ns/web-${i}`, pod(`10.1.${i >> 8}.${i & 255}`, { app: 'web' }, { here: false })));
  return book;
}

test('a new pod changes only its own elements, however many there are', () => {
  for (const count of [2, 500]) {
    const book = bookWith(count);
    const before = book.state();
    allSteps(book.setPod('ns/web-new', pod('10.9.9.9', { app: 'web' }, { here: false })));
    const script = policyChangeScript(table, before, book.state());
    assert.match(script, /^add element ip kt pods-\w+ \{ 10\.9\.9\.9 \}\n$/);
  }
});

test('a pod that no longer matches leaves the set; an equal one changes nothing', () => {
  const book = bookWith(2);
  const before = book.state();
  allSteps(book.setPod('ns/web-0', pod('10.1.0.0', { app: 'web' }, { here: false })));
  assert.equal(policyChangeScript(table, before, book.state()), '');
  allSteps(book.setPod('ns/web-0', pod('10.1.0.0', { app: 'batch' }, { here: false })));
  assert.match(policyChangeScript(table, before, book.state()), /^delete element ip kt pods-\w+ \{ 10\.1\.0\.0 \}\n$/);
});

test('two pods with one address, as when an address is reused: it stays until both are gone', () => {
  const book = bookWith(0);
  allSteps(book.setPod('ns/old', pod('10.5.0.1', { app: 'web' }, { here: false })));
  allSteps(book.setPod('ns/new', pod('10.5.0.1', { app: 'web' }, { here: false })));
  const before = book.state();
  allSteps(book.setPod('ns/old', undefined));
  assert.equal(policyChangeScript(table, before, book.state()), '');
});

test('pods of other nodes are peers, not isolated here', () => {
  const book = bookWith(1);
  allSteps(book.setPod('ns/db-2', pod('10.0.0.2', { app: 'db' }, { here: false })));
  assert.deepEqual([...book.state().verdicts.ingress.keys()], ['10.0.0.1']);
});

test('without policies there is no table', () => {
  const book = bookWith(1);
  allSteps(book.setPolicy('ns/db', undefined));
  assert.equal(policyRewriteScript(table, book.state()), 'add table ip kt\ndelete table ip kt\n');
});

const policyOf = (namespace: string, name: string, more: object = {}) =>
  readPolicy(
    {
      metadata: { namespace, name },
      spec: { podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { to: name } }, ...more }] }] },
    },
    { family: 4, sha256Hex },
  );

function stepsOf(steps: Generator<undefined, void, undefined>): number {
  let count = 1;
  while (steps.next().done !== true) count++;
  return count;
}

test('policies of one namespace are not held against pods of others', () => {
  const book = new PolicyBook(() => ({}), sha256Hex);
  for (let at = 0; at < 20_000; at++)
    allSteps(
      book.setPod(`many/${at}`, pod(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, {}, { namespace: 'many' })),
    );
  for (let at = 0; at < 10; at++) assert.equal(stepsOf(book.setPolicy(`few/${at}`, policyOf('few', `${at}`))), 1);
  allSteps(book.setPod('few/a', pod('10.9.9.9', { to: '3' }, { namespace: 'few' })));
  assert.equal(book.state().verdicts.ingress.size, 1);
  assert.deepEqual(
    [...book.state().sets.values()].map(({ elements }) => elements.size).toSorted(),
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  );
  allSteps(book.setPod('few/a', undefined));
  assert.ok([...book.state().sets.values()].every(({ elements }) => elements.size === 0));
});

test('a policy for many pods is computed in steps, and a pod of many policies too', () => {
  const book = new PolicyBook(() => ({}), sha256Hex);
  for (let at = 0; at < 20_000; at++)
    allSteps(book.setPod(`ns/${at}`, pod(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, {}, { here: false })));
  assert.ok(stepsOf(book.setPolicy('ns/a', policyOf('ns', 'a'))) > 6);
  assert.ok(stepsOf(book.setPolicy('ns/b', policyOf('ns', 'b', { namespaceSelector: {} }))) > 6);
  for (let at = 0; at < 12_000; at++) allSteps(book.setPolicy(`other/${at}`, policyOf('other', `${at}`)));
  assert.ok(stepsOf(book.setPod('other/p', pod('10.9.9.9', {}, { namespace: 'other' }))) > 3);
});
