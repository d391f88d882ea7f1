/**
 * Hosts of requests: valid names and addresses and their maximum length. Paths in the form in which they are matched and
 * forwarded.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostOf, parseTarget } from './request-path.ts';

const label = (length: number): string => 'a'.repeat(length);
const longest = [label(63), label(63), label(63), label(61)].join('.');

const cases: readonly (readonly [authority: string, host: string | undefined])[] = [
  ['Web.Example:8080', 'web.example'],
  ['web.example.', 'web.example'],
  ['[2001:DB8::1]:80', '[2001:db8::1]'],
  ['[::ffff:192.0.2.1]', '[::ffff:192.0.2.1]'],
  [longest, longest],
  [`${longest}.:65535`, longest],
  [`${longest}a`, undefined],
  [`${longest}a.`, undefined],
  [`${label(63)}.example`, `${label(63)}.example`],
  [`${label(64)}.example`, undefined],
  [`example.${label(64)}:80`, undefined],
  [Array.from({ length: 128 }, () => 'a').join('.'), undefined],
  [`[${'1.'.repeat(100)}1]`, undefined],
  ['[1:2]', undefined],
  ['a/b', undefined],
  ['user@web.example', undefined],
];
for (const [authority, host] of cases)
  test(`${authority.slice(0, 40)} (${authority.length}): ${host?.slice(0, 40) ?? 'malformed'}`, () =>
    assert.equal(hostOf(authority), host));

const paths: readonly (readonly [target: string, path: string | undefined])[] = [
  ['/%61dmin', '/admin'],
  ['/%41%5A%30%2d%5F%7e', '/AZ0-_~'],
  ['/a/%2e%2E/b', '/b'],
  ['/%2e%2e/b', undefined],
  ['/a%2Fb%20c%3f', '/a%2Fb%20c%3f'],
  ['/%2561', '/%2561'],
  ['/%%361dmin', '/%%361dmin'],
  ['/%6%31dmin', '/%6%31dmin'],
  ['/%61%64min', '/admin'],
  ['/%c3%a4', '/%c3%a4'],
];
for (const [target, path] of paths)
  test(`${target} is matched as ${path ?? 'nothing'}`, () =>
    assert.equal(parseTarget(`${target}?%61`, 'GET')?.path, path));
