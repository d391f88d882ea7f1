import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Files } from './files.ts';
import { ownProcess, recordedProcess, startTimeIn } from './process-identity.ts';

const stat = (startTime: number, state = 'S'): string =>
  `7 (a) b) ${[state, ...Array.from({ length: 18 }, (_, at) => at), startTime, 99].join(' ')}\n`;
const status = (user: number): string => `Name:\ta\nUid:\t${user}\t${user}\t${user}\t${user}\n`;

function proc(content: Readonly<Record<string, string>>): Files {
  const all: Readonly<Record<string, string>> = { '/proc/self/status': status(1000), ...content };
  const readText = async (path: string): Promise<string> => {
    const text = all[path];
    if (text === undefined) throw Object.assign(new Error(`ENOENT ${path}`), { code: 'ENOENT' });
    return text;
  };
  return { readText } as unknown as Files;
}

const machine = (user: number, startTime: number): Files =>
  proc({ '/proc/7/stat': stat(startTime), '/proc/7/status': status(user), '/proc/7/cmdline': 'etcd\0--a\0b\0' });

test('a process is read with its start time and its command', async () => {
  assert.deepEqual(await ownProcess(machine(1000, 4242), 7), { startTime: '4242', command: ['etcd', '--a', 'b'] });
});

test("another user's process with the same command line is not ours", async () => {
  assert.equal(await ownProcess(machine(1001, 4242), 7), undefined);
  assert.equal(await recordedProcess(machine(1001, 4242), { pid: 7, startTime: '4242' }), undefined);
});

test('a later process with the recorded id is not the recorded one; records of earlier versions name no start', async () => {
  assert.equal(await recordedProcess(machine(1000, 4243), { pid: 7, startTime: '4242' }), undefined);
  assert.equal((await recordedProcess(machine(1000, 4242), { pid: 7, startTime: '4242' }))?.startTime, '4242');
  assert.equal((await recordedProcess(machine(1000, 4242), { pid: 7 }))?.startTime, '4242');
});

test('a process that has ended, or never was, is none', async () => {
  assert.equal(startTimeIn(stat(4242, 'Z')), '');
  assert.equal(startTimeIn(''), '');
  assert.equal(await ownProcess(proc({}), 7), undefined);
  assert.equal(await ownProcess(machine(1000, 1), 0), undefined);
});
