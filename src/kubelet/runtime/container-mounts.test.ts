import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FixtureWorld } from './runtime-fixture.ts';
import { readFileInside } from './open-inside.ts';
import { mountedAsResolved, resolveInside } from './subpath.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { configOf } from './container-config-fixture.ts';

describe('mounts', () => {
  const withVolume = (world: FixtureWorld) =>
    void world.volumes.set('data', {
      name: 'data',
      hostPath: '/vol/data',
      readOnly: false,
      selinuxRelabel: true,
      block: false,
    });

  it('are the volumes, the hosts file and the termination message file', async () => {
    const { mounts = [] } = await configOf({
      prepare: withVolume,
      container: {
        volumeMounts: [{ name: 'data', mountPath: 'data', readOnly: true, mountPropagation: 'HostToContainer' }],
        terminationMessagePath: '/dev/termination-log',
      },
    });
    assert.deepEqual(mounts.slice(0, 2), [
      {
        containerPath: '/data',
        hostPath: '/vol/data',
        readonly: true,
        recursiveReadOnly: false,
        selinuxRelabel: true,
        propagation: 'PROPAGATION_HOST_TO_CONTAINER',
      },
      {
        containerPath: '/etc/hosts',
        hostPath: '/var/kubelet/pods/uid-1/etc-hosts',
        readonly: false,
        selinuxRelabel: true,
      },
    ]);
    assert.equal(mounts[2]!.containerPath, '/dev/termination-log');
    assert.match(mounts[2]!.hostPath!, /^\/var\/kubelet\/pods\/uid-1\/containers\/main\/\w{8}$/);
  });

  const refusals: { about: string; mount: object; message: RegExp }[] = [
    {
      about: 'a volume that is not there',
      mount: { name: 'none', mountPath: '/x' },
      message: /cannot find volume "none" to mount into container "main"/,
    },
    {
      about: 'a sub-path expression without value',
      mount: { name: 'data', mountPath: '/x', subPathExpr: '$(NOPE)' },
      message: /missing value for "NOPE"/,
    },
    {
      about: 'a sub-path expression with the name of a property of every object',
      mount: { name: 'data', mountPath: '/x', subPathExpr: '$(constructor)' },
      message: /missing value for "constructor"/,
    },
    {
      about: 'recursive read-only where there is none',
      mount: { name: 'data', mountPath: '/x', readOnly: true, recursiveReadOnly: 'Enabled' },
      message: /not supported by the runtime/,
    },
    {
      about: 'a sub-path upwards',
      mount: { name: 'data', mountPath: '/x', subPath: '../y' },
      message: /failed to prepare subPath/,
    },
  ];
  for (const { about, mount, message } of refusals) {
    it(`refuse ${about}`, () =>
      assert.rejects(configOf({ prepare: withVolume, container: { volumeMounts: [mount as never] } }), message));
  }

  it("leave a hosts file of the container's own alone", async () => {
    const { mounts = [] } = await configOf({
      prepare: withVolume,
      container: { volumeMounts: [{ name: 'data', mountPath: '/etc/hosts' }] },
    });
    assert.deepEqual(
      mounts.map((mount) => mount.hostPath),
      ['/vol/data'],
    );
  });
});

describe('sub-paths', () => {
  const cases: { about: string; links: Record<string, string>; path: string; expected: string | RegExp }[] = [
    { about: 'plain', links: {}, path: 'a/b', expected: '/v/a/b' },
    { about: 'a link inside', links: { '/v/l': 'a' }, path: 'l/b', expected: '/v/a/b' },
    { about: 'an absolute link inside', links: { '/v/l': '/v/a' }, path: 'l', expected: '/v/a' },
    { about: 'a link up and back', links: { '/v/a/l': '../c' }, path: 'a/l', expected: '/v/c' },
    { about: 'a link out', links: { '/v/l': '../../etc' }, path: 'l', expected: /leaves the volume/ },
    { about: 'an absolute link out', links: { '/v/l': '/etc' }, path: 'l/x', expected: /leaves the volume/ },
    {
      about: 'a link to a name that only begins alike',
      links: { '/v/l': '/vx' },
      path: 'l',
      expected: /leaves the volume/,
    },
    { about: 'a circle', links: { '/v/l': 'm', '/v/m': 'l' }, path: 'l', expected: /too many symbolic links/ },
  ];
  for (const { about, links, path, expected } of cases) {
    it(about, async () => {
      const { files } = createSimPlatform();
      for (const directory of ['/v/a', '/v/c', '/etc', '/vx']) await files.makeDir(directory);
      for (const [link, target] of Object.entries(links)) await files.symlink(target, link);
      if (expected instanceof RegExp)
        await assert.rejects(resolveInside(files, { root: '/v', subPath: path }), expected);
      else assert.equal(await resolveInside(files, { root: '/v', subPath: path }), expected);
    });
  }

  for (const mode of [0o755, 0o777, 0o2775, 0o1777, 0o700])
    it(`that do not exist get the volume's mode, here ${mode.toString(8)}`, async () => {
      const { files } = createSimPlatform();
      await files.makeDir('/v', { mode });
      await files.makeDir('/v/there', { mode: 0o711 });
      assert.equal(await resolveInside(files, { root: '/v', subPath: 'there/new/deep' }), '/v/there/new/deep');
      const modes = await Promise.all(['there', 'there/new', 'there/new/deep'].map((path) => files.stat(`/v/${path}`)));
      // Upstream leaves out the sticky bit.
      assert.deepEqual(
        modes.map((stat) => stat.mode),
        [0o711, mode & 0o2777, mode & 0o2777],
      );
    });

  it('that are missing are created where they were resolved, although a container swaps a parent for a link', async () => {
    const { files } = createSimPlatform();
    for (const directory of ['/v/a', '/etc']) await files.makeDir(directory);
    const attacked = {
      ...files,
      async lstat(path: string) {
        const found = files.lstat(path);
        if (path !== '/v/a/new') return found;
        await found.catch(() => undefined);
        await files.rename('/v/a', '/v/b');
        await files.symlink('/etc', '/v/a');
        return found;
      },
    };
    await assert.rejects(resolveInside(attacked, { root: '/v', subPath: 'a/new' }), /the volume was changed meanwhile/);
    assert.deepEqual(await files.readDir('/etc'), []);
  });

  for (const kind of ['fifo', 'char', 'socket'] as const)
    it(`environment variables are read from no ${kind}, and from no file that is swapped for a link`, async () => {
      const { files } = createSimPlatform();
      await files.makeDir('/v/a');
      files.makeSpecial('/v/a/env', kind);
      await assert.rejects(readFileInside(files, { root: '/v', names: ['a', 'env'] }, 10), { code: 'EINVAL' });
      await files.remove('/v/a/env');
      await files.symlink('/secret', '/v/a/env');
      await assert.rejects(readFileInside(files, { root: '/v', names: ['a', 'env'] }, 10), { code: 'ELOOP' });
      await files.writeFile('/v/large', 'x'.repeat(11));
      await assert.rejects(readFileInside(files, { root: '/v', names: ['large'] }, 10), /more than 10 bytes/);
    });

  it('are compared with the mounts of the kernel', () => {
    const infos = [
      { device: '8:1', root: '/', path: '/' },
      { device: '8:2', root: '/vols/x', path: '/v' },
    ];
    const mounted = (root: string, device = '8:2') => [...infos, { device, root, path: '/t' }];
    assert.equal(mountedAsResolved(mounted('/vols/x/a'), '/v/a', '/t'), true);
    assert.equal(mountedAsResolved(mounted('/vols/x/b'), '/v/a', '/t'), false);
    assert.equal(mountedAsResolved(mounted('/etc', '8:1'), '/v/a', '/t'), false);
    assert.equal(mountedAsResolved(infos, '/v/a', '/t'), false);
  });
});
