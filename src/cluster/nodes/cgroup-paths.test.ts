import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cgroupPaths, isInCgroup } from './cgroup-paths.ts';

const WHOLE = `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw`;
const IN_A_CONTAINER = '30 20 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw';

for (const [what, mountInfo, line, expected] of [
  ['the cgroup itself', WHOLE, '4:cpu:/keelson-1', true],
  ['one below it', WHOLE, '0::/keelson-1/kubepods/pod2/3', true],
  ['one whose name begins alike', WHOLE, '4:cpu:/keelson-12', false],
  ['one of this name in a container', WHOLE, '4:cpu:/docker/abc/keelson-1/kubepods', false],
  ['its own, in a container that shows the machine’s paths', IN_A_CONTAINER, '0::/docker/abc/keelson-1/kubepods', true],
  ['the machine’s, in a container', IN_A_CONTAINER, '0::/keelson-1', false],
  ['where there are no cgroups', '', '0::/keelson-1', false],
] as const)
  test(what, () => assert.equal(isInCgroup(line, cgroupPaths(mountInfo, '/keelson-1')), expected));
