/** The namespaces of a further node: which processes end with them, and which never do. Needs root. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NamespacePin } from '../../src/cluster/nodes/namespace-pin.ts';
import { NodeNamespaces } from '../../src/cluster/nodes/namespaces.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';

const NO_CGROUP = '/keelson-test-of-namespaces';

describe('namespaces of a node', () => {
  let platform: NodePlatform;
  let folder: string;
  const started: ChildProcess[] = [];
  before(() => {
    platform = createNodePlatform();
    folder = mkdtempSync(join(tmpdir(), 'keelson-test-namespaces-'));
  });
  after(() => {
    for (const child of started) child.kill('SIGKILL');
    platform.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const namespacesOf = (name: string): NodeNamespaces =>
    new NodeNamespaces(platform, {
      ...{ name, address: '', device: '' },
      ...{ dataDir: `${folder}/${name}`, recordDir: `${folder}/run/${name}` },
    });
  /** Starts a process in a new UTS namespace; resolves once it has entered it. */
  const foreign = async (): Promise<ChildProcess> => {
    const child = spawn('unshare', ['--uts', 'sh', '-c', 'echo in; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    started.push(child);
    await once(child.stdout!, 'data');
    return child;
  };
  const inNode = async (holder: number): Promise<ChildProcess> => {
    const [program = '', ...args] = NodeNamespaces.inside(holder, ['sh', '-c', 'echo in; exec sleep 600']);
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    started.push(child);
    await once(child.stdout!, 'data');
    return child;
  };
  const mounts = (): string[] =>
    readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(folder));

  it('end with all processes in them', async () => {
    const node = namespacesOf('a');
    const child = await inNode(await node.ensure());
    const ended = once(child, 'exit');
    await namespacesOf('a').kill(NO_CGROUP);
    await ended;
    assert.deepEqual(mounts(), []);
    assert.equal(await node.holder(), undefined);
  });

  it('are never confused with those of other processes, although the kernel may reuse inode numbers', async () => {
    const node = namespacesOf('b');
    const holder = await node.ensure();
    const number = readlinkSync(`/proc/${holder}/ns/uts`);
    process.kill(holder, 'SIGKILL');
    while (await node.isHeld()) await platform.clock.sleep(5);
    const others = await Promise.all([foreign(), foreign(), foreign()]);
    assert.ok(
      others.every(({ pid }) => readlinkSync(`/proc/${pid}/ns/uts`) !== number),
      'the number is not given out while the node is believed to have it',
    );
    await namespacesOf('b').kill(NO_CGROUP);
    assert.deepEqual(
      others.map(({ signalCode, exitCode }) => [signalCode, exitCode]),
      others.map(() => [null, null]),
    );
    assert.deepEqual(mounts(), []);
  });

  it('are forgotten with the mount that keeps them, as after a restart of the machine', async () => {
    const node = namespacesOf('c');
    const holder = await node.ensure();
    await platform.mounter.unmount(`${folder}/run/c/uts`);
    process.kill(holder, 'SIGKILL');
    while (await node.isHeld()) await platform.clock.sleep(5);
    const others = await Promise.all([foreign(), foreign(), foreign()]);
    await namespacesOf('c').kill(NO_CGROUP);
    assert.ok(others.every(({ signalCode, exitCode }) => signalCode === null && exitCode === null));
  });

  it('are never those of the machine, whatever process a record names', async () => {
    const pin = new NamespacePin(platform, `${folder}/uts-of-machine`);
    try {
      await assert.rejects(pin.set(process.pid), /the machine's/);
      assert.equal((await pin.members([process.pid])).size, 0);
    } finally {
      await pin.remove();
    }
  });

  it('end with their holder also when a start was interrupted before it recorded them', async () => {
    const node = namespacesOf('f');
    const child = await inNode(await node.ensure());
    const ended = once(child, 'exit');
    await platform.mounter.unmount(`${folder}/run/f/uts`);
    rmSync(`${folder}/run/f/holder.json`);
    await namespacesOf('f').kill(NO_CGROUP);
    assert.equal(await node.isHeld(), false);
    await ended;
  });

  it('keep neither those of other nodes nor the mounts of the machine', async () => {
    const [first, second] = [namespacesOf('d'), namespacesOf('e')];
    await first.ensure();
    const holder = await second.ensure();
    const seen = readFileSync(`/proc/${holder}/mountinfo`, 'utf8').split('\n');
    assert.deepEqual(
      seen.filter((line) => line.includes(' - nsfs ') && line.includes(`${folder}/run/d`)),
      [],
    );
    await first.kill(NO_CGROUP);
    await second.kill(NO_CGROUP);
    assert.deepEqual(mounts(), []);
  });
});
