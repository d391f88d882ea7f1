import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createBridgePorts, withQuietPorts } from './bridge-ports.ts';

const BRIDGE = 'kl1';
const ipv6 = (port: string): string => `/proc/sys/net/ipv6/conf/${port}/disable_ipv6`;

async function withPorts(...names: string[]) {
  const { files, log } = createSimPlatform();
  const plug = async (name: string): Promise<void> => {
    await files.makeDir(`/sys/class/net/${BRIDGE}/brif/${name}`);
    await files.makeDir(`/proc/sys/net/ipv6/conf/${name}`);
    await files.writeFile(ipv6(name), '0');
  };
  const unplug = (name: string): Promise<void> => files.remove(`/sys/class/net/${BRIDGE}/brif/${name}`);
  for (const name of names) await plug(name);
  const written: string[] = [];
  const ports = createBridgePorts(
    {
      log,
      files: {
        ...files,
        readDir: (path) => files.readDir(path),
        async writeFile(path, data) {
          written.push(path);
          await files.writeFile(path, data);
        },
      },
    },
    BRIDGE,
  );
  return { files, ports, plug, unplug, written };
}

describe('ports of the bridge of pods', () => {
  it('lose their IPv6 once each, and again when another link has the name', async () => {
    const { files, ports, plug, unplug, written } = await withPorts('veth1', 'veth2');
    await ports.update();
    assert.deepEqual([await files.readText(ipv6('veth1')), await files.readText(ipv6('veth2'))], ['1', '1']);
    await plug('veth3');
    await ports.update();
    assert.deepEqual(written, [ipv6('veth1'), ipv6('veth2'), ipv6('veth3')]);
    await unplug('veth1');
    await ports.update();
    await plug('veth1');
    await ports.update();
    assert.deepEqual(written.slice(3), [ipv6('veth1')]);
  });

  it('are none before the first pod; a kernel without IPv6 is no trouble', async () => {
    const { ports, plug, files, written } = await withPorts();
    await ports.update();
    assert.deepEqual(written, []);
    await plug('veth1');
    await files.remove('/proc/sys/net/ipv6');
    await ports.update();
    assert.equal(await files.exists(ipv6('veth1')), false);
  });

  it('are treated after each sandbox, which does not wait for it', async () => {
    const { log } = createSimPlatform();
    const updates: string[] = [];
    const never = { update: () => (updates.push('update'), new Promise<void>(() => undefined)) };
    const runtime = { runPodSandbox: async () => ({ podSandboxId: 'a' }) };
    const quiet = withQuietPorts({ runtime } as never, never, log);
    assert.deepEqual(await quiet.runtime.runPodSandbox({}), { podSandboxId: 'a' });
    assert.deepEqual(updates, ['update']);
  });
});
