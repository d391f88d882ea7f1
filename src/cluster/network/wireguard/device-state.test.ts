import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDump, silentPeers, wgChanges } from './device-state.ts';
import type { Peer } from './peers.ts';

const peer = (name: string, change: Partial<Peer> = {}): Peer => ({
  nodeName: name,
  publicKey: `key-${name}`,
  endpoint: `192.0.2.${name}:51820`,
  allowedIps: [`10.42.${name}.0/24`],
  ...change,
});
/** As `wg show DEVICE dump` prints it. */
const line = (name: string, change: { endpoint?: string; allowed?: string; handshake?: number } = {}): string => {
  const { endpoint = `192.0.2.${name}:51820`, allowed = `10.42.${name}.0/24`, handshake = 900 } = change;
  return [`key-${name}`, '(none)', endpoint, allowed, handshake, 1, 2, 25].join('\t');
};
const OWN = 'private\tours\t51820\toff';
const dump = (...lines: string[]): string => `${[OWN, ...lines].join('\n')}\n`;

const NOW = 1000;
const changes = (text: string, peers: readonly Peer[], endpoints: readonly (readonly [string, string])[] = []) =>
  wgChanges(
    parseDump(text),
    { publicKey: 'ours', keyFile: '/k', peers },
    {
      nowSeconds: NOW,
      setEndpoints: new Map(endpoints),
    },
  ).join(' ');

test('a device that is as desired is left alone', () => {
  assert.equal(changes(dump(line('1'), line('2')), [peer('1'), peer('2')]), '');
  const both = { allowedIps: ['10.42.1.0/24', 'fd42::/64'] };
  assert.equal(changes(dump(line('1', { allowed: 'fd42::/64,10.42.1.0/24' })), [peer('1', both)]), '');
});

test('a new device gets key and port, a new peer all it needs', () => {
  assert.equal(
    changes('(none)\t(none)\t0\toff\n', [peer('1')]),
    'listen-port 51820 private-key /k peer key-1 persistent-keepalive 25 endpoint 192.0.2.1:51820 allowed-ips 10.42.1.0/24',
  );
});

test('another key or port of the device is replaced', () => {
  for (const own of ['private\tother\t51820\toff', 'private\tours\t4711\toff'])
    assert.equal(changes(`${own}\n${line('1')}\n`, [peer('1')]), 'listen-port 51820 private-key /k');
});

test('who has left or has another key is removed before the range goes to the next', () => {
  const successor = peer('1', { publicKey: 'key-new' });
  assert.match(
    changes(dump(line('1')), [successor]),
    /^peer key-1 remove peer key-new .* allowed-ips 10\.42\.1\.0\/24$/,
  );
});

test('ranges that another program changed are set again', () => {
  assert.equal(changes(dump(line('1', { allowed: '0.0.0.0/0' })), [peer('1')]), 'peer key-1 allowed-ips 10.42.1.0/24');
  assert.equal(changes(dump(line('1', { allowed: '(none)' })), [peer('1')]), 'peer key-1 allowed-ips 10.42.1.0/24');
});

test('an endpoint that WireGuard learnt stays while the tunnel works and the node has not moved', () => {
  const learnt = line('1', { endpoint: '198.51.100.7:40000' });
  const set = 'peer key-1 endpoint 192.0.2.1:51820';
  assert.equal(changes(dump(learnt), [peer('1')]), '');
  assert.equal(changes(dump(learnt), [peer('1')], [['key-1', '192.0.2.1:51820']]), '');
  assert.equal(changes(dump(learnt), [peer('1')], [['key-1', '192.0.2.99:51820']]), set);
  const silent = line('1', { endpoint: '198.51.100.7:40000', handshake: NOW - 181 });
  assert.equal(changes(dump(silent), [peer('1')]), set);
  assert.equal(changes(dump(line('1', { endpoint: '(none)' })), [peer('1')]), set);
});

test('a peer is silent when a session’s time has passed since its handshake, or since it is a peer', () => {
  const state = parseDump(
    dump(line('1', { handshake: NOW - 181 }), line('2', { handshake: NOW - 180 }), line('3', { handshake: 0 })),
  );
  const peers = ['1', '2', '3', '4'].map((name) => peer(name));
  const since = new Map(peers.map(({ publicKey }) => [publicKey, 0]));
  assert.deepEqual(silentPeers(state, peers, { nowSeconds: NOW, sinceSeconds: since }), ['1', '3', '4']);
  const lately = new Map(peers.map(({ publicKey }) => [publicKey, NOW - 10]));
  assert.deepEqual(silentPeers(state, peers, { nowSeconds: NOW, sinceSeconds: lately }), []);
});
