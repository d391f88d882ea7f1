import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlHost } from './url-host.ts';

const HOSTS: readonly (readonly [string, string])[] = [
  ['10.0.0.1', '10.0.0.1'],
  ['fd00::1', '[fd00::1]'],
  ['::ffff:10.0.0.1', '[::ffff:10.0.0.1]'],
  ['node-1', 'node-1'],
  ['Node_1.Example.com.', 'Node_1.Example.com.'],
  ['1a', '1a'],
];
for (const [address, host] of HOSTS)
  test(`${address} is the host of a URL`, () => {
    assert.equal(urlHost(address), host);
    const url = new URL(`https://${host}:10250/path?query`);
    assert.deepEqual([url.port, url.pathname, url.search, url.username], ['10250', '/path', '?query', '']);
  });

const OTHERS = [
  ...['', '.', '-a', 'a-', 'a..b', 'a'.repeat(254), 'ä', 'a b', 'a\n', 'a\t', '%61', '*.example'],
  ...[
    'user@10.0.0.2:10250/pods?x=',
    '10.0.0.2/pods',
    '10.0.0.2?x',
    '10.0.0.2#',
    '10.0.0.2:80',
    'a\\b',
    '[::1]',
    'fe80::1%eth0',
  ],
  ...['10.1', '10.43.1', '2130706433', '0x7f.1', '0x7f000001', '127.0.0.1.', '010.0.0.1', '10.0.0.256', 'a.1', 'a.0x'],
];
for (const address of OTHERS)
  test(`${JSON.stringify(address.slice(0, 40))} is not the host of a URL`, () =>
    assert.equal(urlHost(address), undefined));
