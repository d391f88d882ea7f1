// Builds the image of the integration tests: the demo's, with programs of this machine that load their libraries and therefore
// can resolve names (getent, curl, wget), and bash. Other commands are busybox's.
//
//   node tools/test-image.ts FILE    writes the archive
import { existsSync, writeFileSync } from 'node:fs';

import { baseFiles } from './demo-image.ts';
import { findProgram, hostFile, programFiles } from './host-files.ts';
import { buildImage, type ImageArchive } from './image-archive.ts';
import { isMain } from './repository.ts';
import type { TarEntry } from './tar.ts';

/** The reference of the test image. `testImage` builds others with the same content, for rolling updates. */
export const TEST_IMAGE_NAME = 'localhost/keelson/test:1';

/** Programs that the image must have, and those that it has when this machine does. */
const required = ['bash', 'getent'];
const optional = ['curl', 'wget', 'stdbuf', 'timeout', 'tar', 'setpriv'];

// Loaded by name at run time, so that ldd does not list them. Since glibc 2.34 all but a stub is in libc itself.
const nameServiceLibraries = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2'];
const libraryFolders = ['/lib/x86_64-linux-gnu', '/lib/aarch64-linux-gnu', '/lib64', '/usr/lib64', '/usr/lib'];

// Serves /www on $PORT: /index.html and /cgi-bin/hostname; $GREETING is the page when it is set. Ends at once on TERM, or after
// $DRAIN_SECONDS, during which it continues to serve.
const SERVE_SCRIPT = `#!/bin/sh
mkdir -p /tmp/www/cgi-bin
cp /www/cgi-bin/* /tmp/www/cgi-bin/
echo "\${GREETING:-Hello from $(hostname)}" > /tmp/www/index.html
trap 'sleep "\${DRAIN_SECONDS:-0}"; exit 0' TERM INT
httpd -f -p "\${PORT:-8080}" -h /tmp/www &
echo "serving on port \${PORT:-8080}"
wait
`;

const cgi = (commands: string): string => `#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\n${commands}\n`;

/** Builds the test image with a name; `version` is served at /cgi-bin/version and changes the image id. */
export function testImage({ name = TEST_IMAGE_NAME, version = '1' } = {}): ImageArchive {
  const programs = [
    ...required.map((program) => {
      const path = findProgram(program);
      if (path === undefined) throw new Error(`no ${program} on this machine`);
      return path;
    }),
    ...optional.map(findProgram).filter((path) => path !== undefined),
  ];
  const files: TarEntry[] = [
    ...baseFiles(),
    ...programFiles(programs),
    ...nameServiceFiles(),
    { path: 'serve', kind: 'file', content: SERVE_SCRIPT, mode: 0o755 },
    { path: 'www/cgi-bin/hostname', kind: 'file', content: cgi('hostname'), mode: 0o755 },
    { path: 'www/cgi-bin/version', kind: 'file', content: cgi(`echo ${version}`), mode: 0o755 },
    { path: 'www/cgi-bin/client', kind: 'file', content: cgi('echo "$REMOTE_ADDR"'), mode: 0o755 },
    { path: 'etc/keelson-version', kind: 'file', content: `${version}\n` },
  ];
  // Of several files with one path (a program of this machine and busybox's, a library of several programs) the last counts.
  const unique = [...new Map(files.map((file) => [file.path, file])).values()];
  return buildImage({ name, files: unique, command: ['/serve'], ports: [8080] });
}

function nameServiceFiles(): TarEntry[] {
  const libraries = nameServiceLibraries.flatMap((library) => {
    const folder = libraryFolders.find((candidate) => existsSync(`${candidate}/${library}`));
    return folder === undefined ? [] : [hostFile(`${folder}/${library}`)];
  });
  const order = 'hosts: files dns\npasswd: files\ngroup: files\n';
  return [...libraries, { path: 'etc/nsswitch.conf', kind: 'file', content: order }];
}

if (isMain(import.meta.url)) {
  const path = process.argv[2];
  const { name, id, archive } = testImage();
  if (path !== undefined) writeFileSync(path, archive);
  console.log(`${name} ${id} ${archive.length} bytes`);
}
