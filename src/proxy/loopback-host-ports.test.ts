import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/gen/core-v1.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createLoopbackHostPorts } from './loopback-host-ports.ts';

const pod = (hostIP: string): Pod => ({
  metadata: { namespace: 'ns', name: 'p' },
  spec: { containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 8000, hostIP }] }] },
});

function setUp(route?: () => Promise<void>, portals = false) {
  const { log } = createSimPlatform();
  const told = (): string[] => log.entries.map(({ message }) => message);
  return { told, ports: createLoopbackHostPorts(log, { route, portals }) };
}
const REFUSED = 'a host port with a loopback hostIP is not served';

describe('host ports of loopback addresses', () => {
  it('of IPv6 are refused, once per pod; of IPv4 where loopback addresses are not routed', async () => {
    const routed: string[] = [];
    const { told, ports } = setUp(async () => void routed.push('routed'));
    for (const key of ['ns/a', 'ns/a', 'ns/b']) ports.observe(key, pod('::1'));
    assert.deepEqual(told(), [REFUSED, REFUSED]);
    await ports.routed();
    assert.deepEqual(routed, []);
    const alone = setUp();
    alone.ports.observe('ns/a', pod('127.0.0.1'));
    await alone.ports.routed();
    assert.deepEqual(alone.told(), [REFUSED]);
  });

  it('are routed with the first pod that needs one; a failure is retried', async () => {
    let [tries, failures] = [0, 1];
    const { told, ports } = setUp(async () => {
      tries++;
      if (failures-- > 0) throw new Error('no bridge');
    });
    ports.observe('ns/a', pod(''));
    ports.observe('ns/b', pod('192.0.2.1'));
    await ports.routed();
    assert.equal(tries, 0);
    ports.observe('ns/c', pod('127.0.0.1'));
    await ports.routed();
    assert.deepEqual(told(), ['host ports with a loopback hostIP do not answer']);
    for (let time = 0; time < 2; time++) await ports.routed();
    assert.deepEqual([tries, told().length], [2, 1]);
  });

  it('that this machine serves itself are warned of, once per pod', () => {
    const { log } = createSimPlatform();
    const ports = createLoopbackHostPorts(log, { route: undefined, portals: false, ownTcpPorts: [8000] });
    for (const key of ['ns/a', 'ns/a', 'ns/b']) ports.observe(key, pod(''));
    const message = 'a host port is not served: the API, the kubelet or the registry of this machine is served there';
    assert.deepEqual(
      log.entries.map((entry) => entry.message),
      [message, message],
    );
  });

  it('need no routes in the userspace mode', async () => {
    const { told, ports } = setUp(() => Promise.reject(new Error('asked')), true);
    ports.observe('ns/a', pod('127.0.0.1'));
    await ports.routed();
    assert.deepEqual(told(), []);
  });
});
