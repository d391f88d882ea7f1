import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLineReader } from './control-messages.ts';
import { MAX_REPORT_BYTES, readReport } from './data-plane-report.ts';

const PORTS = new Set([80, 443]);
const read = (report: unknown) => readReport(JSON.stringify(report), PORTS);

test('a report has the state of each served port once', () => {
  const report = {
    applied: 3,
    listeners: [{ port: 80 }, { port: 443, problem: 'EADDRINUSE' }],
    problems: ['a certificate'],
  };
  assert.deepEqual(read(report), report);
  assert.deepEqual(read({ ...report, listeners: [{ port: 22 }, { port: 80 }, { port: 80, problem: 'x' }] }).listeners, [
    { port: 80, problem: 'x' },
  ]);
});

test('malformed reports, as of a compromised process, are refused', () => {
  const whole = { applied: 1, listeners: [], problems: [] };
  for (const wrong of [
    null,
    [],
    {},
    { ...whole, applied: '1' },
    { ...whole, listeners: {} },
    { ...whole, listeners: [null] },
    { ...whole, listeners: [{ port: '80' }] },
    { ...whole, listeners: [{ port: 80, problem: {} }] },
    { ...whole, problems: [1] },
  ])
    assert.throws(() => read(wrong), JSON.stringify(wrong));
  assert.equal(read({ ...whole, problems: Array(5000).fill('x'.repeat(5000)) }).problems.join('').length, 100_000);
});

test('a line without an end is refused at the limit', () => {
  const take = createLineReader(() => undefined, MAX_REPORT_BYTES);
  const chunk = 'x'.repeat(64 * 1024);
  assert.throws(() => {
    for (let count = 0; count < 17; count++) take(chunk);
  }, /too long/);
});
