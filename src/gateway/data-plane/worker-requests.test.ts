/** Requests of a compromised serving process to the process that opens ports, over the channel of Node's cluster module. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAllowedRequest } from './worker-requests.ts';

const CONTROL = '/run/keelson/0123/gateway/control';
const asked = (request: object): boolean => isAllowedRequest({ act: 'queryServer', ...request }, CONTROL);

test('ports on all addresses and the control socket are opened', () => {
  assert.equal(asked({ address: null, port: 80, addressType: 4 }), true);
  assert.equal(asked({ address: null, port: 65_535, addressType: 6, fd: null }), true);
  assert.equal(asked({ address: CONTROL, port: -1, addressType: -1 }), true);
  assert.equal(isAllowedRequest({ act: 'online' }, CONTROL), true);
});

test('other unix sockets, descriptors, addresses and datagram sockets are refused', () => {
  for (const request of [
    { address: '/var/lib/kubelet/plugins_registry/x.sock', port: -1, addressType: -1 },
    { address: CONTROL, port: 80, addressType: -1 },
    { address: `${CONTROL}/../x`, port: -1, addressType: -1 },
    { address: null, port: 80, addressType: 4, fd: 3 },
    { address: CONTROL, port: -1, addressType: -1, fd: 0 },
    { address: '/run/x.sock', port: 80, addressType: 4 },
    { address: '127.0.0.1', port: 80, addressType: 4 },
    { address: null, port: 0, addressType: 4 },
    { address: null, port: -1, addressType: 4 },
    { address: null, port: '80', addressType: 4 },
    { address: null, port: 53, addressType: 'udp4' },
    {},
    { act: ['queryServer'], address: '/run/x.sock', port: -1, addressType: -1 },
    { act: [['queryServer']], address: null, port: 80, addressType: 4 },
  ])
    assert.equal(asked(request), false, JSON.stringify(request));
});
