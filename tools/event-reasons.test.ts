/** docs/events.md explains every reason of an event that the product records, and no other. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, test } from 'node:test';
import { recordedReasons } from './event-reasons.ts';
import { plantTree } from './planted-tree.ts';
import { repositoryRoot } from './repository.ts';

/** The types of each `SOURCE REASON` in the page. */
function documented(page: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  let source = '';
  for (const line of page.split('\n')) {
    source = /^<!-- source: (\S+) -->$/.exec(line)?.[1] ?? source;
    const [, reason, types, about, meaning, cure] =
      /^\| ([A-Z]\S+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/.exec(line) ?? [];
    if (reason === undefined || types === undefined) continue;
    assert.ok(![about, meaning, cure].some((text) => text?.trim() === ''), `${reason} lacks its text`);
    assert.ok(!found.has(`${source} ${reason}`), `${source} ${reason} stands twice`);
    found.set(`${source} ${reason}`, types.split(', '));
  }
  return found;
}

describe('docs/events.md', () => {
  let recorded: ReturnType<typeof recordedReasons>;
  before(() => {
    recorded = recordedReasons();
  });

  it('has every recorded reason, and no other', () => {
    const page = documented(readFileSync(join(repositoryRoot, 'docs/events.md'), 'utf8'));
    const inCode = new Set(recorded.reasons.map(({ source, reason }) => `${source} ${reason}`));
    assert.deepEqual(
      [...inCode].filter((key) => !page.has(key)),
      [],
      'recorded, and not in the page',
    );
    assert.deepEqual(
      [...page.keys()].filter((key) => !inCode.has(key)),
      [],
      'in the page, and not recorded',
    );
    const types = new Set(recorded.reasons.map(({ source, reason, type }) => `${source} ${reason} ${type}`));
    const wrong = [...page]
      .flatMap(([key, list]) => list.map((type) => `${key} ${type}`))
      .filter((one) => !types.has(one));
    assert.deepEqual(wrong, [], 'types that the code never records');
  });

  it('can be checked against the code: no call passes an arbitrary text as a reason', () => {
    assert.deepEqual(recorded.untyped, []);
  });
});

test('reasons are found in literals, constants, unions and templates, for both recorders; arbitrary texts are reported', () => {
  using tree = plantTree({
    'tsconfig.json': JSON.stringify({
      compilerOptions: { strict: true, noEmit: true, allowImportingTsExtensions: true, module: 'nodenext' },
      include: ['src'],
    }),
    'package.json': '{"type":"module"}',
    'src/client/recorder.ts': `
      export interface EventRecorder { event(target: object, type: 'Normal' | 'Warning', reason: string, message: string): void }
      export interface SeriesEventRecorder { eventf(event: { type: 'Normal' | 'Warning'; reason: string }): void }`,
    'src/controllers/job/a.ts': [
      "import type { EventRecorder, SeriesEventRecorder } from '../../client/recorder.ts';",
      'declare const r: EventRecorder; declare const s: SeriesEventRecorder; declare const text: string;',
      'declare const other: { event(a: object, b: string, c: string): void };',
      "r.event({}, 'Normal', 'One', '');",
      "const TWO = 'Two'; r.event({}, 'Warning', TWO, '');",
      "declare const x: 'A' | `B${string}`; r.event({}, 'Normal', x, '');",
      "s.eventf({ type: 'Normal', reason: 'Three' });",
      "other.event({}, 'Normal', 'Four');",
      "r.event({}, 'Normal', text, '');",
    ].join('\n'),
  });
  const { reasons, untyped } = recordedReasons(tree.root);
  assert.deepEqual(
    reasons.map(({ source, reason, type }) => `${source} ${reason} ${type}`),
    ['A Normal', 'B* Normal', 'One Normal', 'Three Normal', 'Two Warning'].map((one) => `controllers/job ${one}`),
  );
  assert.deepEqual(
    untyped.map(({ place }) => place),
    ['src/controllers/job/a.ts:9'],
  );
});
