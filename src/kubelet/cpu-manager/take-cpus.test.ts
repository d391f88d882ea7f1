import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HostCpu } from '../../platform/host.ts';
import { cpuSet, formatCpuSet, parseCpuSet } from './cpu-set.ts';
import { takeCpus, takeCpusDistributed } from './take-cpus.ts';

/** Two sockets, each a NUMA node with four cores of two threads: core n has the processors n and n+8. */
const machine: HostCpu[] = Array.from({ length: 16 }, (_, cpu) => {
  const socket = Math.floor((cpu % 8) / 4);
  return { cpu, core: cpu % 4, socket, node: socket };
});
const set = (text: string) => parseCpuSet(text)!;

describe('sets of processors', () => {
  const texts = ['', '0', '0-3', '0-1,4,6-8'];
  for (const text of texts)
    it(`reads and writes "${text}"`, () => assert.equal(formatCpuSet(parseCpuSet(text)!), text));
  it('refuses texts that are no list', () => {
    for (const text of ['a', '3-1', '1,,2', '-1']) assert.equal(parseCpuSet(text), undefined, text);
  });
});

describe('taking processors', () => {
  const cases: [string, string, number, string][] = [
    ['a whole socket', '0-15', 8, '0-3,8-11'],
    ['whole cores', '0-15', 4, '0-1,8-9'],
    ['the other socket when one is not whole', '1-15', 8, '4-7,12-15'],
    ['where the fewest are free', '2-3,10-11,4-7,12-15', 2, '2,10'],
    ['a thread of a core in use before a free core', '0-7,9-15', 1, '0'],
    ['a whole core and a thread', '0-7,9-15', 3, '0-1,9'],
    ['everything', '0-15', 16, '0-15'],
  ];
  for (const [name, available, count, expected] of cases)
    it(name, () => assert.equal(formatCpuSet(takeCpus(machine, set(available), count)), expected));

  it('reports a lack of CPUs', () => {
    assert.throws(
      () => takeCpus(machine, set('0-1'), 3),
      /^Error: not enough cpus available to satisfy request: requested=3, available=2$/,
    );
  });

  const distributed: [string, string, number, number, string][] = [
    ['one node when one will do', '0-15', 4, 2, '0-1,8-9'],
    ['evenly when it takes two', '0-15', 12, 2, '0-2,4-6,8-10,12-14'],
    ['as evenly as whole cores allow', '0-15', 10, 2, '0-2,4-5,8-10,12-13'],
    ['whatever there is when it cannot be even', '0-1,4-7,12-15', 10, 1, '0-1,4-7,12-15'],
  ];
  for (const [name, available, count, groupSize, expected] of distributed)
    it(`distributed: ${name}`, () =>
      assert.equal(formatCpuSet(cpuSet(takeCpusDistributed(machine, set(available), { count, groupSize }))), expected));
});
