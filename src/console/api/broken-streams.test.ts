/**
 * Streams that break, as a browser's do when an address of its machine is added or removed, continue where they ended without a
 * visible error.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ContainerLog, type LogState } from '../views/logs/container-log.ts';
import type { Kind } from './kinds.ts';
import { followObject } from './live-object.ts';
import { readYaml } from './objects.ts';
import { followTable, type ListSink } from './table-list.ts';

const { fetch: own } = globalThis;
beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => {
  mock.timers.reset();
  globalThis.fetch = own;
});

const PODS = {
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  singular: 'pod',
  namespaced: true,
  verbs: ['watch'],
} as unknown as Kind;

/** A response that breaks off after these lines. */
function broken(...lines: readonly string[]): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const line of lines) controller.enqueue(new TextEncoder().encode(`${line}\n`));
      },
      // Called when all lines have been read.
      pull(controller) {
        controller.error(new TypeError('network error'));
      },
    }),
  );
}

const lost = (): Promise<Response> => Promise.reject(new TypeError('Failed to fetch'));

/** A server with these responses, one per request, and none after them. Returns the requested URLs. */
function answering(...answers: readonly (() => Response | Promise<Response>)[]): URL[] {
  const asked: URL[] = [];
  globalThis.fetch = (path) => {
    asked.push(new URL(path as string, 'https://host'));
    const answer = answers[asked.length - 1];
    return answer === undefined ? new Promise(() => undefined) : Promise.resolve(answer());
  };
  return asked;
}

/** Advances time, a little in each turn. */
async function until(check: () => boolean): Promise<void> {
  while (!check()) {
    mock.timers.tick(5);
    await turn();
  }
}

const row = (name: string, resourceVersion: string): object => ({
  cells: [name],
  object: { metadata: { name, uid: name, namespace: 'default', resourceVersion } },
});
const table = (): Response =>
  Response.json({ columnDefinitions: [{ name: 'Name' }], metadata: { resourceVersion: '10' }, rows: [row('a', '5')] });
const event = (name: string, revision: string): string =>
  JSON.stringify({ type: 'ADDED', object: { metadata: {}, rows: [row(name, revision)] } });

function listSink(): { readonly sink: ListSink; readonly states: string[]; readonly names: string[] } {
  const states: string[] = [];
  const names: string[] = [];
  const sink: ListSink = {
    columns: () => undefined,
    change: (changes) => names.push(...changes.map((change) => change.row.name)),
    complete: () => undefined,
    remaining: () => undefined,
    state: ({ kind }) => states.push(kind),
  };
  return { sink, states, names };
}

const QUERY = { kind: PODS, namespace: 'default', labelSelector: '', fieldSelector: '' };

test('a watch continues from the last revision that was shown, and a short loss shows no error', async () => {
  const life = new AbortController();
  const asked = answering(
    table,
    () => broken(event('b', '12')),
    () => broken(event('c', '13')),
  );
  const { sink, states, names } = listSink();
  const following = followTable(QUERY, sink, life.signal);
  await until(() => asked.length === 4);
  assert.deepEqual(
    asked.slice(1).map(({ searchParams }) => [searchParams.get('watch'), searchParams.get('resourceVersion')]),
    [
      ['1', '10'],
      ['1', '12'],
      ['1', '13'],
    ],
  );
  assert.deepEqual(names, ['a', 'b', 'c']);
  assert.ok(!states.includes('retrying'), states.join());
  life.abort();
  void following;
});

test('a list whose server stays unreachable shows it', async () => {
  const life = new AbortController();
  // Reads are repeated once before they fail.
  answering(table, () => broken(), lost, lost);
  const { sink, states } = listSink();
  void followTable(QUERY, sink, life.signal);
  await until(() => states.includes('retrying'));
  life.abort();
});

test('an object is read again after a loss, without a visible error', async () => {
  const life = new AbortController();
  const object = (resourceVersion: string) => () => Response.json({ metadata: { name: 'a', resourceVersion } });
  answering(object('1'), () => broken(), object('2'));
  const seen: string[] = [];
  const sink = {
    put: (found: { metadata: { resourceVersion?: string } }) => void seen.push(found.metadata.resourceVersion ?? ''),
    gone: () => void seen.push('gone'),
    failed: () => void seen.push('failed'),
  };
  void followObject({ ref: { kind: PODS, namespace: 'default', name: 'a' } }, sink, life.signal);
  await until(() => seen.length === 2);
  assert.deepEqual(seen, ['1', '2']);
  life.abort();
});

test('a log continues after its last line: none is missing and none is repeated', async () => {
  const life = new AbortController();
  const at = (second: number): string => `2026-01-01T00:00:0${second}.000000001Z tick ${second}`;
  const asked = answering(
    () => broken(at(1), at(2)),
    () => broken(at(2), at(3)),
  );
  const lines: string[] = [];
  const states: LogState['kind'][] = [];
  const sink = {
    lines: (found: readonly { text: string }[]) => void lines.push(...found.map(({ text }) => text)),
    state: ({ kind }: LogState) => void states.push(kind),
  };
  const pod = { kind: PODS, namespace: 'default', name: 'a' };
  const order = { pod, container: 'c', previous: false, tailLines: 100, source: 0 };
  new ContainerLog(order, sink, life.signal).update({ id: 'one', running: true, waiting: '' });
  await until(() => asked.length === 3);
  assert.deepEqual(lines, ['tick 1', 'tick 2', 'tick 3']);
  assert.equal(asked[1]?.searchParams.get('sinceTime'), '2026-01-01T00:00:02.000000001Z');
  assert.ok(!states.includes('refused'), states.join());
  life.abort();
});

test('YAML is requested again when its response broke off or did not arrive, and a refusal is final', async () => {
  const life = new AbortController();
  const ref = { kind: PODS, namespace: 'default', name: 'a' };
  const heard: string[] = [];
  const sink = {
    put: (yaml: string) => void heard.push(yaml),
    failed: ({ message }: Error) => void heard.push(message),
  };
  const busy = (): Response => Response.json({ code: 503, message: 'busy' }, { status: 503 });
  const asked = answering(
    () => broken('kind:'),
    busy,
    () => new Response('kind: Pod\n'),
  );
  const reading = readYaml(ref, '12', sink, life.signal);
  await until(() => heard.length === 2);
  await reading;
  assert.deepEqual(heard, ['busy', 'kind: Pod\n']);
  assert.equal(asked[2]!.searchParams.get('resourceVersion'), '12');
  const refused = answering(() => Response.json({ code: 410, message: 'not known any more' }, { status: 410 }));
  await readYaml(ref, '12', sink, life.signal);
  assert.deepEqual([heard.at(-1), refused.length], ['not known any more', 1]);
});
