/** A recording is written at intervals, never twice at once, and at the end. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Readable } from 'node:stream';
import type { ApiRequest } from '../../api/transport.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { parseScenario } from '../scenario.ts';
import { ScenarioRecorder } from './scenario-recorder.ts';
import { RecordingFile } from './recording-file.ts';

const PATH = '/recorded.yaml';

/** A disk whose writes end when the test decides. */
function slowDisk() {
  const { clock, files, log } = createSimPlatform();
  const waiting: { finish(): void; fail(error: Error): void }[] = [];
  const written: string[] = [];
  const writeFileAtomic = async (_path: string, data: string | Uint8Array): Promise<void> => {
    await new Promise<void>((finish, fail) => waiting.push({ finish, fail }));
    written.push(String(data));
  };
  return { clock, log, written, waiting, files: { ...files, writeFileAtomic } as typeof files };
}

it('a thousand changes cause one text and one write', async () => {
  const { clock, log, files } = createSimPlatform();
  let texts = 0;
  const file = new RecordingFile({ clock, log, files, path: PATH, text: () => `text ${++texts}` });
  for (let change = 0; change < 1000; change++) file.markChanged();
  assert.equal(texts, 0, 'no request waits for it');
  await clock.advance(1000);
  assert.equal(await files.readText(PATH), 'text 1');
  await clock.advance(10_000);
  assert.equal(texts, 1);
  file.markChanged();
  await file.close();
  assert.equal(await files.readText(PATH), 'text 2');
});

it('changes during a slow write wait for its end and are written together', async () => {
  const { clock, log, files, waiting, written } = slowDisk();
  let state = 0;
  const file = new RecordingFile({ clock, log, files, path: PATH, text: () => `state ${state}` });
  file.markChanged();
  await clock.advance(1000);
  for (state = 1; state < 100; state++) {
    file.markChanged();
    await clock.advance(1000);
  }
  assert.equal(waiting.length, 1, 'one write at a time');
  const closed = file.close();
  waiting.shift()?.finish();
  await clock.advance(0);
  waiting.shift()?.finish();
  await closed;
  assert.deepEqual(written, ['state 0', 'state 100']);
});

it('a failed write is logged once and repeated', async () => {
  const { clock, log, files, waiting, written } = slowDisk();
  const file = new RecordingFile({ clock, log, files, path: PATH, text: () => 'text' });
  file.markChanged();
  for (let round = 0; round < 3; round++) {
    await clock.advance(1000);
    waiting.shift()?.fail(new Error('ENOSPC'));
    await clock.advance(0);
  }
  await clock.advance(1000);
  waiting.shift()?.finish();
  await clock.advance(0);
  assert.deepEqual(written, ['text']);
  assert.equal(log.entries.filter(({ message }) => message.includes('could not be written')).length, 1);
});

it('requests build no text; the final text has them all, in order', async () => {
  const { clock } = createSimPlatform();
  let [changes, texts] = [0, 0];
  const cluster = {
    nodes: 1,
    get images() {
      texts++;
      return undefined;
    },
  };
  const recorder = new ScenarioRecorder({ clock, cluster, find: () => undefined, onChange: () => changes++ });
  const handler = recorder.wrap(async ({ body }) => {
    if (body.kind === 'bytes') await body.read(1000);
    return { kind: 'object', status: 201, headers: {}, object: {} };
  });
  for (const name of ['a', 'b', 'c']) await handler(createOf(name));
  assert.deepEqual([changes, texts], [3, 0]);
  assert.deepEqual(namesIn(recorder.file()), ['a', 'b', 'c']);
  await handler(createOf('d'));
  assert.deepEqual(namesIn(recorder.file()), ['a', 'b', 'c', 'd']);
  assert.equal(recorder.file(), recorder.file());
  assert.match(recorder.file(), /^# Secrets .* plain text/m);
});

function createOf(name: string): ApiRequest {
  const bytes = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
  return {
    method: 'POST',
    path: '/api/v1/namespaces/default/configmaps',
    query: '',
    headers: { 'content-type': 'application/json' },
    remoteAddress: '',
    wantsObjects: false,
    wantsUpgrade: false,
    body: { kind: 'bytes', read: async () => bytes, stream: () => Readable.from([bytes]) },
    signal: new AbortController().signal,
  };
}

function namesIn(text: string): unknown[] {
  return parseScenario(text).steps.map(
    (step) => (step as { apply?: { metadata: { name: string } } }).apply?.metadata.name,
  );
}
