// Completes package-lock.json: run it after `npm install` has changed the lock file.
// npm leaves an optional package out of the lock when the registry does not have it, and registries behind a firewall often lack
// the binaries of other platforms. `npm ci` then refuses the lock file everywhere. This program adds the missing entries: the
// dependant states the exact version, and the package's name the platform. Without an integrity hash, npm uses the one that the
// registry has at the time of the install, only on those platforms.
//
//   node tools/complete-lock.mjs
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const platform =
  /[-/](?<os>aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|wasm32|win32)-(?<cpu>[a-z0-9]+?)(?:-(?<abi>[a-z]+))?$/;

/** The `os`, `cpu` and `libc` of a package for one platform, from its name; undefined for other names. */
export function platformOf(name) {
  const match = platform.exec(name)?.groups;
  if (match === undefined) return undefined;
  if (match.os === 'wasm32') return { cpu: ['wasm32'] };
  const libc = match.abi?.startsWith('gnu') ? 'glibc' : match.abi?.startsWith('musl') ? 'musl' : undefined;
  return { os: [match.os], cpu: [match.cpu], ...(match.os === 'linux' && libc && { libc: [libc] }) };
}

/**
 * The lock with an entry for each optional package of one platform that it refers to but lacks.
 * @returns {{ lock: object, added: string[] }}
 */
export function completeLock(lock) {
  const packages = { ...lock.packages };
  const added = [];
  for (const [dependant, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const path = `node_modules/${name}`;
      const restrictions = platformOf(name);
      if (packages[path] || packages[`${dependant}/${path}`] || !restrictions || !/^\d[\w.+-]*$/.test(version))
        continue;
      packages[path] = { version, ...restrictions, ...(dev && { dev }), optional: true };
      added.push(path);
    }
  }
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  return { lock: { ...lock, packages: Object.fromEntries(sorted) }, added };
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const path = join(dirname(dirname(fileURLToPath(import.meta.url))), 'package-lock.json');
  const { lock, added } = completeLock(JSON.parse(readFileSync(path, 'utf8')));
  if (added.length > 0) writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${added.length} packages of other platforms added to package-lock.json`);
}
