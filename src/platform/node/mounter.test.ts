import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../sim/sim-platform.ts';
import { createNodeMounter } from './mounter.ts';
import { parseMountInfo } from './mountinfo.ts';

const mountinfo = [
  '22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro',
  '36 22 0:31 / /mnt/with\\040space\\011tab rw,noatime master:1 propagate_from:2 - tmpfs tmp\\134fs rw,size=1024k',
  '37 22 0:32 /sub /mnt/bind ro - ext4 /dev/vda rw',
  'garbage',
  '',
].join('\n');

test('mountinfo with optional fields and escapes', () => {
  assert.deepEqual(parseMountInfo(mountinfo), [
    { source: '/dev/vda', path: '/', type: 'ext4', options: ['rw', 'relatime', 'errors=remount-ro'] },
    { source: 'tmp\\fs', path: '/mnt/with space\ttab', type: 'tmpfs', options: ['rw', 'noatime', 'size=1024k'] },
    { source: '/dev/vda', path: '/mnt/bind', type: 'ext4', options: ['ro', 'rw'] },
  ]);
});

test('the programs are called as the kernel needs it', async () => {
  const { files, exec } = createSimPlatform();
  await files.makeDir('/proc/self');
  await files.writeFile('/proc/self/mountinfo', mountinfo);
  const mounter = createNodeMounter({ files, exec });
  let failing = '';
  for (const name of ['mount', 'umount']) {
    exec.program(name, ({ args }) =>
      failing !== '' && args.join(' ').includes(failing) ? { exitCode: 32, stderr: 'no\n' } : {},
    );
  }
  const calls = (): string[] => exec.invocations.map(({ file, args }) => [file, ...args].join(' '));
  await mounter.mount({ source: 'tmpfs', target: '/t', type: 'tmpfs', options: ['size=1m', 'noexec'] });
  await mounter.mount({ source: '/a', target: '/b', options: ['bind', 'ro'] });
  assert.deepEqual(calls(), [
    'mount -t tmpfs -o size=1m,noexec -- tmpfs /t',
    'mount -o bind -- /a /b',
    'mount -o bind,remount,ro -- /a /b',
  ]);
  exec.invocations.splice(0);
  failing = 'remount';
  await assert.rejects(
    mounter.mount({ source: '/a', target: '/b', options: ['bind', 'ro'] }),
    /mount failed: exit status 32\n.*remount.*\noutput: no/,
  );
  assert.equal(calls().at(-1), 'umount -- /b');
  failing = '--';
  await mounter.unmount('/not/mounted', { lazy: true });
  assert.equal(calls().at(-1), 'umount -l -- /not/mounted');
  await assert.rejects(mounter.unmount('/mnt/bind'), /umount failed/);
  assert.deepEqual([await mounter.isMountPoint('/mnt/bind/'), await mounter.isMountPoint('/mnt')], [true, false]);
});

test('thousands of simultaneous queries read the mounts twice, and see earlier mounts', async () => {
  let mounted = '/a';
  let readings = 0;
  const readText = async (): Promise<string> => {
    readings++;
    const text = `36 35 98:0 / ${mounted} rw - tmpfs tmpfs rw\n`;
    await Promise.resolve();
    return text;
  };
  const mounter = createNodeMounter({ files: { readText } as never, exec: {} as never });
  const first = mounter.isMountPoint('/b');
  mounted = '/b';
  const others = Array.from({ length: 5000 }, () => mounter.isMountPoint('/b/'));
  assert.equal(await first, false);
  assert.ok((await Promise.all(others)).every(Boolean));
  assert.equal(readings, 2);
  assert.equal(await mounter.isMountPoint('/b'), true);
  assert.equal(readings, 3);
});
