// Builds the image of the demo: this machine's busybox serving one page, so that no registry is needed.
//
//   node tools/demo-image.ts FILE    writes the archive
import { writeFileSync } from 'node:fs';

import { findProgram, programFiles } from './host-files.ts';
import { buildImage, type ImageArchive } from './image-archive.ts';
import { isMain } from './repository.ts';
import type { TarEntry } from './tar.ts';

/** The reference of the demo image in pods. */
export const DEMO_IMAGE_NAME = 'localhost/keelson/demo:1';

/** The commands of busybox that the image links. A static busybox crashes when a command such as nc resolves a name. */
export const busyboxCommands = `
awk base64 basename cat chmod chown cmp cp cut date dd df diff dirname du echo env expr false find free grep
head hostname httpd id ip kill killall less ln ls md5sum mkdir mkfifo mktemp mount mv nc netstat nproc od
paste pidof printf ps pwd readlink realpath rm rmdir sed seq sh sha256sum sleep sort stat stty sync tail tar
tee test time timeout top touch tr true truncate tty umount uname uniq vi watch wc which whoami xargs yes
`
  .trim()
  .split(/\s+/);

// The first process of a container receives no signal without a handler, and httpd has none, so the shell handles them.
const START_SCRIPT = `#!/bin/sh
mkdir -p /www
echo "Hello from $(hostname)" > /www/index.html
trap 'exit 0' TERM INT
httpd -f -p "\${PORT:-8080}" -h /www &
echo "serving on port \${PORT:-8080}"
wait
`;

/** The files of every image: users, a home, a writable /tmp, and busybox with its commands in /bin. */
export function baseFiles(): TarEntry[] {
  const busybox = findProgram('busybox');
  if (busybox === undefined) throw new Error('no busybox on this machine (Debian package busybox-static)');
  return [
    ...programFiles([busybox]),
    ...busyboxCommands.map((name): TarEntry => ({ path: `bin/${name}`, kind: 'link', target: 'busybox' })),
    { path: 'etc/passwd', kind: 'file', content: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' },
    { path: 'etc/group', kind: 'file', content: 'root:x:0:\nnogroup:x:65534:\n' },
    { path: 'root', kind: 'folder', mode: 0o700 },
    { path: 'tmp', kind: 'folder', mode: 0o1777 },
  ];
}

/** Builds the demo image: an HTTP server on port 8080 (or $PORT) whose page contains its host name. */
export function demoImage(name = DEMO_IMAGE_NAME): ImageArchive {
  return buildImage({
    name,
    files: [
      ...baseFiles(),
      { path: 'start', kind: 'file', content: START_SCRIPT, mode: 0o755 },
      { path: 'www/index.html', kind: 'file', content: 'Hello\n' },
    ],
    command: ['/start'],
    ports: [8080],
  });
}

if (isMain(import.meta.url)) {
  const path = process.argv[2];
  const { name, id, archive } = demoImage();
  if (path !== undefined) writeFileSync(path, archive);
  console.log(`${name} ${id} ${archive.length} bytes`);
}
