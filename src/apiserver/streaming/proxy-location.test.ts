/** Which addresses are proxied to, however they are written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podLocation, resolveLocation } from './proxy-location.ts';

/** Names as a machine's resolver resolves them; it accepts numbers as addresses too. */
const names: Readonly<Record<string, readonly string[]>> = {
  'node.example': ['10.0.0.2'],
  'both.example': ['fd00::2', '10.0.0.2'],
  'inside.example': ['10.0.0.2', '169.254.169.254'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'scoped.example': ['fe80::1%eth0'],
  'none.example': [],
  localhost: ['::1', '127.0.0.1'],
  'localhost.': ['127.0.0.1'],
  '2130706433': ['127.0.0.1'],
  '0x7f000001': ['127.0.0.1'],
  '0177.0.0.1': ['127.0.0.1'],
};
const net = {
  lookup: async (host: string) => {
    const found = names[host];
    if (found === undefined) throw new Error(`getaddrinfo ENOTFOUND ${host}`);
    return found;
  },
};

const locate = async (podIP: string): Promise<string> => {
  try {
    const location = podLocation({ metadata: {}, status: { podIP } }, { scheme: 'https', port: '8443' });
    const { base, named } = await resolveLocation(net, location);
    return named === undefined ? base : `${base} as ${named.host} of ${named.serverName}`;
  } catch (error) {
    return (error as Error).message;
  }
};

const NO = 'address not allowed';
const cases: readonly (readonly [address: string, outcome: string])[] = [
  ['10.0.0.2', 'https://10.0.0.2:8443'],
  ['fd00::1', 'https://[fd00::1]:8443'],
  ['::ffff:10.0.0.2', 'https://[::ffff:10.0.0.2]:8443'],
  ['', NO],
  ['0.0.0.0', NO],
  ['127.0.0.1', NO],
  ['169.254.169.254', NO],
  ['224.0.0.1', NO],
  ['239.1.2.3', NO],
  ['255.255.255.255', NO],
  ['::', NO],
  ['::1', NO],
  ['0:0:0:0:0:0:0:1', NO],
  ['fe80::1', NO],
  ['FEBF::1', NO],
  ['ff02::1', NO],
  ['ff0e::1', NO],
  ['::ffff:169.254.169.254', NO],
  ['::ffff:127.0.0.1', NO],
  ['::FFFF:7f00:1', NO],
  ['0:0:0:0:0:ffff:a9fe:a9fe', NO],
  ['localhost', NO],
  ['localhost.', NO],
  ['2130706433', NO],
  ['0x7f000001', NO],
  ['0177.0.0.1', NO],
  ['inside.example', NO],
  ['mapped.example', NO],
  ['scoped.example', NO],
  ['none.example', 'lookup none.example: no such host'],
  ['nowhere.example', 'lookup nowhere.example: getaddrinfo ENOTFOUND nowhere.example'],
  ['user@127.0.0.1', 'address not allowed'],
  ['node.example', 'https://10.0.0.2:8443 as node.example:8443 of node.example'],
  ['both.example', 'https://[fd00::2]:8443 as both.example:8443 of both.example'],
];
for (const [address, outcome] of cases)
  test(`${address || 'none'}: ${outcome}`, async () => assert.equal(await locate(address), outcome));
