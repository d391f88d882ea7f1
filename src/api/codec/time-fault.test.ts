/** Errors of times with the texts of Go 1.24 to 1.27. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeFault } from './time-fault.ts';

const TIME = '"2006-01-02T15:04:05Z07:00"';
const MICRO = '"2006-01-02T15:04:05.000000Z07:00"';

const CASES: readonly (readonly [value: string, digits: 0 | 6, fault: string])[] = [
  ['a', 0, `parsing time "a" as ${TIME}: cannot parse "a" as "2006"`],
  ['2020-01-01', 0, `parsing time "2020-01-01" as ${TIME}: cannot parse "" as "T"`],
  ['2020-13-01T00:00:00Z', 0, 'parsing time "2020-13-01T00:00:00Z": month out of range'],
  ['2020-02-30T00:00:00Z', 0, 'parsing time "2020-02-30T00:00:00Z": day out of range'],
  ['2020-02-28T24:00:00Z', 0, 'parsing time "2020-02-28T24:00:00Z": hour out of range'],
  ['2020-01-01T00:00:00.5', 0, `parsing time "2020-01-01T00:00:00.5" as ${TIME}: cannot parse "" as "Z07:00"`],
  ['2020-01-01T00:00:00Zx', 0, 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'],
  ['2020-01-01T00:00:00Z', 6, `parsing time "2020-01-01T00:00:00Z" as ${MICRO}: cannot parse "Z" as ".000000"`],
  [
    '2020-01-01T00:00:00.1234567Z',
    6,
    `parsing time "2020-01-01T00:00:00.1234567Z" as ${MICRO}: cannot parse "7Z" as "Z07:00"`,
  ],
];

test('the error names the first part of the layout that does not match', () => {
  for (const [value, digits, fault] of CASES) assert.equal(timeFault(value, digits), fault);
});
