import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizedVersion, readVersion } from './semver-text.ts';

test("invalid versions are refused with upstream's texts", () => {
  const problems: Readonly<Record<string, string>> = {
    '': 'Version string empty',
    '1.2': 'No Major.Minor.Patch elements found',
    'a.2.3': 'Invalid character(s) found in major number "a"',
    '1.b.3': 'Invalid character(s) found in minor number "b"',
    '1.2.c': 'Invalid character(s) found in patch number "c"',
    '1.2.3.4': 'Invalid character(s) found in patch number "3.4"',
    '01.2.3': 'Major number must not contain leading zeroes "01"',
    '1.02.3': 'Minor number must not contain leading zeroes "02"',
    '1.2.03': 'Patch number must not contain leading zeroes "03"',
    '1.2.': 'strconv.ParseUint: parsing "": invalid syntax',
    '18446744073709551616.2.3': 'strconv.ParseUint: parsing "18446744073709551616": value out of range',
    '1.2.3-': 'Prerelease is empty',
    '1.2.3-a..b': 'Prerelease is empty',
    '1.2.3-01': 'Numeric PreRelease version must not contain leading zeroes "01"',
    '1.2.3-a_b': 'Invalid character(s) found in prerelease "a_b"',
    '1.2.3+': 'Build meta data is empty',
    '1.2.3+a_b': 'Invalid character(s) found in build meta data "a_b"',
    ' 1.2.3': 'Invalid character(s) found in major number " 1"',
    'v1.2.3': 'Invalid character(s) found in major number "v1"',
  };
  for (const [text, problem] of Object.entries(problems)) assert.equal(readVersion(text), problem, text);
});

test('versions have numbers, a prerelease and build metadata', () => {
  assert.deepEqual(readVersion('1.22.333'), { numbers: [1n, 22n, 333n], pre: [], build: '' });
  assert.deepEqual(readVersion('0.0.0-rc.1-x+a-b.01'), { numbers: [0n, 0n, 0n], pre: ['rc', '1-x'], build: 'a-b.01' });
  assert.deepEqual(readVersion('1.0.0+a+b'), 'Invalid character(s) found in build meta data "a+b"');
});

test('normalizing removes a leading v and leading zeros and adds missing parts', () => {
  const texts: Readonly<Record<string, string>> = {
    v1: '1.0.0',
    '01.02': '1.2.0',
    'v1.2.003-rc': '1.2.3-rc',
    '1.2.0-rc': '1.2.0-rc',
    '00.0.000': '0.0.0',
    ' 1.2.3': '0 1.2.3',
  };
  for (const [text, normal] of Object.entries(texts)) assert.deepEqual(normalizedVersion(text), { text: normal });
  assert.equal(normalizedVersion('v1.2-rc'), 'short version cannot contain PreRelease/Build meta data');
});
