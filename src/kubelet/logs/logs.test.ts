import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRuntimeFixture, podOf } from '../runtime/runtime-fixture.ts';
import { image } from '../../cri/sim/sim-image.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { Files } from '../../platform/files.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { createContainerLogManager } from './container-log-manager.ts';
import { parseTime } from '../../api/time.ts';
import { formatLogEntry, parseLogLine } from './cri-log.ts';
import { readLogTail } from './log-tail.ts';
import { readContainerLog, type ReadLogOptions } from './read-container-log.ts';

const PATH = '/log/0.log';
const entry = (
  second: number,
  content: string,
  options: { stream?: 'stdout' | 'stderr'; partial?: boolean } = {},
): string =>
  formatLogEntry({
    timestamp: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000001Z`,
    stream: options.stream ?? 'stdout',
    partial: options.partial ?? false,
    content,
  });

function textSink(): ByteSink & { text: string } {
  return {
    text: '',
    async write(chunk) {
      this.text += Buffer.from(chunk as Uint8Array).toString();
    },
    async end() {},
  };
}

async function read(text: string, options: ReadLogOptions): Promise<string> {
  const { files, clock } = createSimPlatform();
  await files.makeDir('/log');
  await files.writeFile(PATH, text);
  const sink = textSink();
  await readContainerLog({ path: PATH, sink, signal: new AbortController().signal }, options, {
    files,
    clock,
    isRunning: async () => false,
  });
  return sink.text;
}

describe('the CRI log format', () => {
  const cases: { line: string; expected: [string, boolean, string] | undefined }[] = [
    { line: '2026-01-01T00:00:00Z stdout F hello world', expected: ['stdout', false, 'hello world'] },
    { line: '2026-01-01T00:00:00Z stderr P part', expected: ['stderr', true, 'part'] },
    { line: '2026-01-01T00:00:00Z stdout F:x:y tags', expected: ['stdout', false, 'tags'] },
    { line: '2026-01-01T00:00:00Z stdout F', expected: ['stdout', false, ''] },
    { line: '2026-01-01T00:00:00Z other F x', expected: undefined },
    { line: 'nonsense', expected: undefined },
  ];
  for (const { line, expected } of cases) {
    it(JSON.stringify(line), () => {
      const parsed = parseLogLine(Buffer.from(line));
      assert.deepEqual(parsed && [parsed.stream, parsed.partial, Buffer.from(parsed.content).toString()], expected);
    });
  }
});

describe('reading a log', () => {
  const three = entry(1, 'one') + entry(2, 'two', { stream: 'stderr' }) + entry(3, 'three');
  const cases: { about: string; options: ReadLogOptions; text?: string; expected: string }[] = [
    { about: 'everything', options: {}, expected: 'one\ntwo\nthree\n' },
    { about: 'the tail', options: { tailLines: 2 }, expected: 'two\nthree\n' },
    { about: 'no lines', options: { tailLines: 0 }, expected: '' },
    { about: 'more lines than there are', options: { tailLines: 9 }, expected: 'one\ntwo\nthree\n' },
    { about: 'a limit', options: { limitBytes: 6 }, expected: 'one\ntw' },
    { about: 'since', options: { sinceMs: parseTime('2026-01-01T00:00:02Z') }, expected: 'two\nthree\n' },
    { about: 'one stream', options: { stream: 'Stderr' }, expected: 'two\n' },
    {
      about: 'timestamps',
      options: { timestamps: true, tailLines: 1 },
      expected: '2026-01-01T00:00:03.000000001Z three\n',
    },
    {
      about: 'partial lines',
      options: { timestamps: true },
      text: entry(1, 'a', { partial: true }) + entry(1, 'b'),
      expected: '2026-01-01T00:00:01.000000001Z ab\n',
    },
    { about: 'damage', options: {}, text: `garbage\n${entry(1, 'fine')}`, expected: 'fine\n' },
    {
      about: 'a cut last line',
      options: {},
      text: entry(1, 'fine') + entry(2, 'cut').slice(0, -1),
      expected: 'fine\ncut\n',
    },
  ];
  for (const { about, options, text, expected } of cases) {
    it(about, async () => assert.equal(await read(text ?? three, options), expected));
  }

  it('finds the tail across blocks', async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => entry(1, `line ${index}`)).join('');
    assert.equal(
      await read(lines, { tailLines: 1500 }),
      Array.from({ length: 1500 }, (_, index) => `line ${index + 1500}\n`).join(''),
    );
  });

  it('omits lines that are written during the read', async () => {
    const { files, clock } = createSimPlatform();
    await files.makeDir('/log');
    await files.writeFile(PATH, three);
    const open: Files['open'] = async (name, flags) => {
      const handle = await files.open(name, flags);
      const { stat } = handle;
      handle.stat = async () => {
        const found = await stat.call(handle);
        await files.writeFile(PATH, three + entry(4, 'four'));
        return found;
      };
      return handle;
    };
    const writing = Object.assign(Object.create(files) as Files, { open });
    const sink = textSink();
    const deps = { files: writing, clock, isRunning: async () => true };
    await readContainerLog({ path: PATH, sink, signal: new AbortController().signal }, { tailLines: 1 }, deps);
    assert.equal(sink.text, 'three\n');
  });

  it('reads the end of a log as a message', async () => {
    const { files } = createSimPlatform();
    await files.makeDir('/log');
    await files.writeFile(PATH, three);
    assert.equal(await readLogTail({ files, path: PATH, maxLines: 2, maxBytes: 2048 }), 'two\nthree\n');
    assert.equal(await readLogTail({ files, path: PATH, maxLines: 80, maxBytes: 4 }), 'ree\n');
  });
});

describe('following', () => {
  it('forwards written lines, through a rotation, until the container ends', async () => {
    const platform = createSimPlatform();
    const { files, clock } = platform;
    await files.makeDir('/log');
    await files.writeFile(PATH, entry(1, 'old'));
    let running = true;
    const sink = textSink();
    const done = readContainerLog(
      { path: PATH, sink, signal: new AbortController().signal },
      { follow: true, tailLines: 0 },
      { files, clock, isRunning: async () => running },
    );
    await clock.advance(10);
    const append = async (text: string): Promise<void> => {
      const handle = await files.open(PATH, 'a');
      await handle.append(text);
      await handle.close();
    };
    await append(entry(2, 'new'));
    await clock.advance(10);
    assert.equal(sink.text, 'new\n');
    await append(entry(3, 'last of the old file'));
    await files.rename(PATH, `${PATH}.1`);
    await files.writeFile(PATH, entry(4, 'first of the new'));
    await clock.advance(2000);
    running = false;
    await clock.drive(done);
    assert.equal(sink.text, 'new\nlast of the old file\nfirst of the new\n');
  });
});

describe('rotation', () => {
  it('renames by time, reopens, and keeps so many files', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    await fixture.sync(podOf({ containers: [{ name: 'web', image: 'web:1' }] }));
    const { files, clock, log } = fixture.platform;
    const manager = createContainerLogManager(
      { runtime: fixture.cri.runtime, files, clock, log },
      { maxSizeBytes: 10, maxFiles: 3 },
    );
    const directory = '/var/logs/pods/default_web_uid-1/web';
    for (let round = 0; round < 4; round++) {
      await files.writeFile(`${directory}/0.log`, `round ${round}, long enough`);
      await fixture.drive(manager.rotateLogs());
      await clock.advance(1000);
    }
    const names = await files.readDir(directory);
    assert.equal(names.length, 3);
    assert.equal(await files.readText(`${directory}/${names[2]}`), 'round 3, long enough');
    assert.equal(await files.readText(`${directory}/0.log`), '');
  });

  it('works at so many logs at a time', async () => {
    const names = ['a', 'b', 'c'];
    for (const maxWorkers of [1, 2]) {
      const fixture = createRuntimeFixture({ images: [image('web:1')] });
      await fixture.sync(podOf({ containers: names.map((name) => ({ name, image: 'web:1' })) }));
      const { files, clock, log } = fixture.platform;
      for (const name of names) await files.writeFile(`/var/logs/pods/default_web_uid-1/${name}/0.log`, 'long enough');
      let [running, most, reopened] = [0, 0, 0];
      const runtime = {
        ...fixture.cri.runtime,
        async reopenContainerLog() {
          most = Math.max(most, ++running);
          await clock.sleep(100);
          running--;
          reopened++;
          return {};
        },
      };
      const manager = createContainerLogManager({ runtime, files, clock, log }, { maxSizeBytes: 10, maxWorkers });
      await fixture.drive(manager.rotateLogs());
      assert.deepEqual([most, reopened], [maxWorkers, 3]);
    }
  });

  it('packs older files, not the one just rotated', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    await fixture.sync(podOf({ containers: [{ name: 'web', image: 'web:1' }] }));
    const { files, clock, log } = fixture.platform;
    const gzip = async (data: Uint8Array): Promise<Uint8Array> => Buffer.from(`packed ${Buffer.from(data).toString()}`);
    const manager = createContainerLogManager(
      { runtime: fixture.cri.runtime, files, clock, log, gzip },
      { maxSizeBytes: 10, maxFiles: 4 },
    );
    const directory = '/var/logs/pods/default_web_uid-1/web';
    for (let round = 0; round < 5; round++) {
      await files.writeFile(`${directory}/0.log`, `round ${round}, long enough`);
      await fixture.drive(manager.rotateLogs());
      await clock.advance(1000);
    }
    const names = (await files.readDir(directory)).filter((name) => name !== '0.log');
    assert.deepEqual(
      names.map((name) => name.endsWith('.gz')),
      [true, true, false],
    );
    assert.equal(await files.readText(`${directory}/${names[0]}`), 'packed round 2, long enough');
  });

  it('compresses a file of any size in pieces, and removes the temporary files of an earlier process', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    await fixture.sync(podOf({ containers: [{ name: 'web', image: 'web:1' }] }));
    const { files, clock, log } = fixture.platform;
    const pieces: number[] = [];
    const gzip = async (data: Uint8Array): Promise<Uint8Array> => {
      pieces.push(data.length);
      return Buffer.from(data);
    };
    const manager = createContainerLogManager(
      { runtime: fixture.cri.runtime, files, clock, log, gzip },
      { maxSizeBytes: 10 },
    );
    const directory = '/var/logs/pods/default_web_uid-1/web';
    const large = 'x'.repeat(2.5 * 2 ** 20);
    await files.writeFile(`${directory}/0.log.20251231-000000.gz.tmp`, 'cut off');
    for (const text of [large, 'long enough', 'long enough']) {
      await files.writeFile(`${directory}/0.log`, text);
      await fixture.drive(manager.rotateLogs());
      await clock.advance(1000);
    }
    assert.deepEqual(pieces, [2 ** 20, 2 ** 20, 2 ** 19, 'long enough'.length]);
    const names = await files.readDir(directory);
    assert.deepEqual(
      names.filter((name) => name.includes('.gz')).map((name) => name.slice(-3)),
      ['.gz', '.gz'],
    );
    const [packed = ''] = names.filter((name) => name.endsWith('.gz'));
    assert.equal(await files.readText(`${directory}/${packed}`), large);
  });

  it('closes its files when a compressed file cannot be written or read', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    await fixture.sync(podOf({ containers: [{ name: 'web', image: 'web:1' }] }));
    const { files, clock, log } = fixture.platform;
    const directory = '/var/logs/pods/default_web_uid-1/web';
    await files.writeFile(`${directory}/0.log.20251231-000000`, 'rotated before');
    await files.writeFile(`${directory}/0.log`, 'more than ten bytes');
    let [opened, closed] = [0, 0];
    const watched = (failing: string): Files => ({
      ...files,
      async open(of, flags, options) {
        if (flags === failing) throw new Error('no space left on device');
        const handle = await files.open(of, flags, options);
        opened++;
        const read = (): Promise<never> => Promise.reject(new Error('input/output error'));
        return { ...handle, read, close: () => (closed++, handle.close()) };
      },
    });
    for (const failing of ['a', 'none']) {
      const of = {
        runtime: fixture.cri.runtime,
        files: watched(failing),
        clock,
        log,
        gzip: async () => Buffer.from(''),
      };
      await fixture.drive(createContainerLogManager(of, { maxSizeBytes: 10 }).rotateLogs());
    }
    assert.deepEqual([opened, closed], [3, 3]);
  });

  it('is undone when the runtime cannot reopen', async () => {
    const fixture = createRuntimeFixture({ images: [image('web:1')] });
    await fixture.sync(podOf({ containers: [{ name: 'web', image: 'web:1' }] }));
    const { CriError } = await import('../../cri/cri-error.ts');
    fixture.cri.failCalls('reopenContainerLog', new CriError('Unavailable', 'gone'));
    const { files, clock, log } = fixture.platform;
    const manager = createContainerLogManager(
      { runtime: fixture.cri.runtime, files, clock, log },
      { maxSizeBytes: 10 },
    );
    const current = '/var/logs/pods/default_web_uid-1/web/0.log';
    await files.writeFile(current, 'more than ten bytes');
    await fixture.drive(manager.rotateLogs());
    assert.equal(await files.readText(current), 'more than ten bytes');
  });
});
