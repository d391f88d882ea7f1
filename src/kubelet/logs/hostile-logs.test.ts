/** Logs of any content, to readers that leave at any time: each reading ends alone and closes its file. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { Files } from '../../platform/files.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import { readContainerLog, type ReadLogOptions } from './read-container-log.ts';

const LINE = '2026-01-01T00:00:00.000000001Z stdout F hello\n';
const contents: Readonly<Record<string, string | Uint8Array>> = {
  nothing: '',
  'bytes of every value': Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256),
  'blank lines': '\n'.repeat(10_000),
  'one line without end': `2026-01-01T00:00:00Z stdout F ${'x'.repeat(2_000_000)}`,
  'a line that breaks off in its time': `${LINE}2026-01-0`,
  'times that are none': 'yesterday stdout F a\n9999-99-99T99:99:99Z stdout F b\n stdout F c\n',
  'partial lines without end': '2026-01-01T00:00:00Z stdout P x\n'.repeat(20_000),
  'unknown streams and tags': '2026-01-01T00:00:00Z constructor F a\n2026-01-01T00:00:00Z stdout __proto__ b\n',
  'many lines': LINE.repeat(20_000),
  'lone surrogates as UTF-8': Uint8Array.from([...Buffer.from(LINE), 0xed, 0xa0, 0x80, 0x0a, 0xff, 0xfe, 0x0a]),
};

const all: readonly ReadLogOptions[] = [
  { follow: false, timestamps: false, stream: 'All' },
  { follow: true, timestamps: true, stream: 'Stderr', sinceMs: 5 },
  { follow: false, timestamps: true, stream: 'Stdout', tailLines: 3, limitBytes: 7 },
];

function counted(files: Files): { readonly files: Files; open: number } {
  const made = {
    open: 0,
    files: new Proxy(files, {
      get(target, name) {
        if (name !== 'open') return (Reflect.get(target, name) as (...args: unknown[]) => unknown).bind(target);
        return async (...args: Parameters<Files['open']>) => {
          const handle = await target.open(...args);
          made.open++;
          return new Proxy(handle, {
            get(of, key) {
              const found: unknown = Reflect.get(of, key);
              if (key === 'close') made.open--;
              return typeof found === 'function' ? (found.bind(of) as unknown) : found;
            },
          });
        };
      },
    }),
  };
  return made;
}

/** Readers: their behaviour at a write. */
const sinks: Readonly<Record<string, (count: number) => unknown>> = {
  'that reads': () => undefined,
  'that throws at once': () => {
    throw new Error('gone');
  },
  'that leaves at its third write': (count) => (count < 3 ? undefined : Promise.reject(new Error('gone'))),
};

for (const [content, bytes] of Object.entries(contents))
  describe(`a log of ${content}`, () => {
    for (const [who, write] of Object.entries(sinks))
      test(`for a reader ${who}`, async () => {
        for (const options of all) {
          const { files, clock } = createSimPlatform();
          await files.makeDir('/log');
          await files.writeFile('/log/0.log', bytes);
          const opened = counted(files);
          let writes = 0;
          const sink: ByteSink = { write: async () => void (await write(++writes)), end: async () => undefined };
          const reading = readContainerLog(
            { path: '/log/0.log', sink, signal: new AbortController().signal },
            options,
            {
              files: opened.files,
              clock,
              isRunning: async () => false,
            },
          );
          const error = await reading.then(
            () => undefined,
            (reason: unknown) => reason,
          );
          assert.ok(error === undefined || (error as Error).message === 'gone', String(error));
          assert.ok(!isProgramError(error));
          assert.equal(opened.open, 0);
        }
      });
  });
