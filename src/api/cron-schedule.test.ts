import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cronScheduleProblem } from './cron-schedule.ts';

test("valid cron schedules are accepted, and invalid ones have upstream's errors", () => {
  for (const text of [
    '* * * * *',
    '*/5 0-3,7 1 jan mon-fri',
    '@daily',
    '@every 1h30m',
    '0 0 ? * 0',
    '0, 12 * * MON-FRI',
    ',0 1,,2 * * *',
    '*-x * * * *',
  ])
    assert.equal(cronScheduleProblem(text), undefined, text);
  assert.equal(cronScheduleProblem('* * * *'), 'expected exactly 5 fields, found 4: [* * * *]');
  assert.equal(cronScheduleProblem('60 * * * *'), 'end of range (60) above maximum (59): 60');
  const notNumber = (text: string): string =>
    `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  for (const [text, bad] of [
    ['0 9-x * * *', 'x'],
    ['0 x-9 * * *', 'x'],
    ['0 0 * jan-mara *', 'mara'],
    ['1- * * * *', ''],
    ['*/x * * * *', 'x'],
    ['*/-1 * * * *', '-1'],
  ] as const)
    assert.equal(cronScheduleProblem(text), notNumber(bad), text);
  assert.equal(cronScheduleProblem('5-1 * * * *'), 'beginning of range (5) beyond end of range (1): 5-1');
  assert.equal(cronScheduleProblem('*/0 * * * *'), 'step of range should be a positive number: */0');
  assert.equal(cronScheduleProblem('1-2-3 * * * *'), 'too many hyphens: 1-2-3');
  assert.equal(cronScheduleProblem('1/2/3 * * * *'), 'too many slashes: 1/2/3');
  assert.equal(cronScheduleProblem('@never'), 'unrecognized descriptor: @never');
});
