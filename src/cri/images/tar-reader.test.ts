import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readTar, TarError } from './tar-reader.ts';

const folder = mkdtempSync(join(tmpdir(), 'keelson-tar-'));
after(() => rmSync(folder, { recursive: true }));

const LONG = `${'d'.repeat(90)}/${'e'.repeat(90)}/${'f'.repeat(90)}`;

/** Written by this machine's tar. */
function archive(format: string): Buffer {
  const root = join(folder, format);
  if (existsSync(`${root}.tar`)) return readFileSync(`${root}.tar`);
  mkdirSync(join(root, LONG), { recursive: true });
  writeFileSync(join(root, 'a.txt'), 'hello');
  writeFileSync(join(root, 'empty'), '');
  writeFileSync(join(root, LONG, 'deep'), 'x'.repeat(2000));
  symlinkSync('a.txt', join(root, 'link'));
  execFileSync('tar', [`--format=${format}`, '-C', root, '-cf', `${root}.tar`, '.']);
  return readFileSync(`${root}.tar`);
}

async function* inPieces(data: Uint8Array, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += bytes) yield data.subarray(at, at + bytes);
}

async function members(data: Uint8Array, bytes = 700): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const member of readTar(inPieces(data, bytes))) {
    const parts: Uint8Array[] = [];
    if (member.kind === 'file') for await (const chunk of member.body()) parts.push(chunk);
    if (member.kind !== 'other')
      found[member.name] = member.kind === 'link' ? `-> ${member.linkName}` : Buffer.concat(parts).toString();
  }
  return found;
}

for (const format of ['ustar', 'gnu', 'pax'])
  test(`the ${format} format, in pieces of any size`, async () => {
    const long = format === 'ustar' ? [] : [[`${LONG}/deep`, 'x'.repeat(2000)]];
    const data = format === 'ustar' ? short() : archive(format);
    for (const bytes of [1, 511, 512, 100_000])
      assert.deepEqual(
        await members(data, bytes),
        Object.fromEntries([['a.txt', 'hello'], ['empty', ''], ['link', '-> a.txt'], ...long]),
      );
  });

function short(): Buffer {
  const root = join(folder, 'short');
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'a.txt'), 'hello');
  writeFileSync(join(root, 'empty'), '');
  symlinkSync('a.txt', join(root, 'link'));
  execFileSync('tar', ['--format=ustar', '-C', root, '-cf', `${root}.tar`, '.']);
  return readFileSync(`${root}.tar`);
}

test('an unread body is skipped', async () => {
  const names: string[] = [];
  for await (const { name } of readTar(inPieces(archive('gnu'), 512))) names.push(name);
  assert.ok(names.includes(`${LONG}/deep`) && names.includes('link'));
});

/** A header of another type and size than the archive's first. */
function headerOf(data: Buffer, type: string, octalSize: string): Buffer {
  const header = Buffer.from(data.subarray(0, 512));
  header.write(type, 156);
  header.write(`${octalSize}\0`, 124);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

test('truncated and damaged archives, and other files, are refused', async () => {
  const data = archive('gnu');
  const cut = data.subarray(0, data.indexOf('x'.repeat(100)) + 50);
  const wrongSum = Buffer.from(data);
  wrongSum[0]! ^= 1;
  const huge = headerOf(data, 'L', '77777777777');
  const blank = Buffer.alloc(1024, '\t');
  blank.write('1 ', 1022);
  const blanks = Buffer.concat([headerOf(data, 'x', '00000002000'), blank]);
  for (const [bad, says] of [
    [cut, /cut short/],
    [wrongSum, /no tar archive/],
    [Buffer.from('<html>'.repeat(200)), /no tar archive/],
    [huge, /header of more than 1 MiB/],
    [blanks, /damaged header/],
  ] as const)
    await assert.rejects(members(bad), (error: Error) => error instanceof TarError && says.test(error.message));
});

test('the source is read to its end and ended, also where the archive is bad or the reader leaves', async () => {
  const data = Buffer.concat([archive('gnu'), Buffer.alloc(100_000)]);
  const whole = watched(data);
  for await (const _member of readTar(whole.chunks));
  assert.deepEqual([whole.read(), whole.ended()], [data.length, true]);

  const left = watched(data);
  for await (const _member of readTar(left.chunks)) break;
  assert.equal(left.ended(), true);
  assert.ok(left.read() < data.length);

  const bad = watched(Buffer.from('<html>'.repeat(2000)));
  await assert.rejects(readTar(bad.chunks).next(), TarError);
  assert.equal(bad.ended(), true);
});

function watched(data: Uint8Array): { chunks: AsyncGenerator<Uint8Array>; read(): number; ended(): boolean } {
  let [read, ended] = [0, false];
  const chunks = (async function* () {
    try {
      for await (const piece of inPieces(data, 700)) {
        read += piece.length;
        yield piece;
      }
    } finally {
      ended = true;
    }
  })();
  return { chunks, read: () => read, ended: () => ended };
}
