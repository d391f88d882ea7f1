import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import { demoImage } from './demo-image.ts';
import { parseLdd } from './host-files.ts';
import { buildImage } from './image-archive.ts';
import { testImage } from './test-image.ts';

function member(archive: Buffer, path: string): Buffer {
  return execFileSync('tar', ['xOf', '-', path], { input: archive, maxBuffer: 1 << 30 });
}

function layerPaths(archive: Buffer): string[] {
  const layer = member(archive, 'layer.tar');
  return execFileSync('tar', ['tf', '-'], { input: layer, encoding: 'utf8' }).trimEnd().split('\n');
}

function sha256(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

test('an image refers to its configuration and layer by their digests', () => {
  const { archive, id, name } = buildImage({
    name: 'localhost/x:1',
    files: [{ path: 'a/b', kind: 'file', content: 'c' }],
    command: ['/a/b'],
    ports: [80],
    user: '65534',
  });
  const [manifest] = JSON.parse(member(archive, 'manifest.json').toString());
  assert.deepEqual(manifest.RepoTags, [name]);
  const config = member(archive, manifest.Config);
  assert.equal(sha256(config), id);
  const decoded = JSON.parse(config.toString());
  assert.deepEqual(decoded.rootfs.diff_ids, [sha256(member(archive, 'layer.tar'))]);
  assert.deepEqual(decoded.config.Cmd, ['/a/b']);
  assert.deepEqual(decoded.config.ExposedPorts, { '80/tcp': {} });
  assert.equal(decoded.config.User, '65534');
  assert.deepEqual(layerPaths(archive), ['a/', 'a/b']);
});

test('the demo image is the same each time and contains the files that it starts', () => {
  const { archive, id } = demoImage();
  assert.equal(demoImage().id, id);
  const paths = layerPaths(archive);
  for (const path of ['bin/busybox', 'bin/sh', 'bin/httpd', 'start', 'tmp/']) assert.ok(paths.includes(path), path);
  assert.equal(new Set(paths).size, paths.length);
});

test('the test image contains programs with their libraries, and its versions differ', () => {
  const first = testImage();
  const paths = layerPaths(first.archive);
  assert.equal(new Set(paths).size, paths.length);
  for (const pattern of [/^bin\/getent$/, /^bin\/bash$/, /libc\.so\.6$/, /ld-linux/, /^etc\/nsswitch\.conf$/]) {
    assert.ok(
      paths.some((path) => pattern.test(path)),
      String(pattern),
    );
  }
  assert.notEqual(testImage({ name: 'localhost/keelson/test:2', version: '2' }).id, first.id);
});

test('ldd output is parsed: libraries and the loader, without the kernel page', () => {
  const output = [
    '\tlinux-vdso.so.1 (0x00007ffd)',
    '\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)',
    '\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)',
    '',
  ];
  assert.deepEqual(parseLdd(output.join('\n'), 'x'), [
    '/lib/x86_64-linux-gnu/libc.so.6',
    '/lib64/ld-linux-x86-64.so.2',
  ]);
  assert.throws(() => parseLdd('\tlibfoo.so => not found\n', '/bin/x'), /\/bin\/x needs a library this machine lacks/);
});
