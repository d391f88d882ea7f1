// Files of this machine for images: programs with the libraries that they load.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

import type { TarEntry } from './tar.ts';

const programFolders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** The absolute path of a program of this machine, or undefined. */
export function findProgram(name: string): string | undefined {
  return programFolders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/**
 * The libraries that a program loads, as absolute paths, including the loader; empty for a static program.
 * @throws Error when one of them is missing on this machine
 */
export function librariesOf(path: string): string[] {
  if (isStatic(path)) return [];
  return parseLdd(execFileSync('ldd', [path], { encoding: 'utf8' }), path);
}

/** Parses the output of `ldd`. */
export function parseLdd(output: string, path: string): string[] {
  const libraries: string[] = [];
  for (const line of output.split('\n')) {
    const match = /^\s+(?:(\S+) => )?(\S+)(?: \(0x[0-9a-f]+\))?$/.exec(line);
    if (line.includes('not found')) throw new Error(`${path} needs a library this machine lacks:${line}`);
    if (match?.[2]?.startsWith('/')) libraries.push(match[2]);
  }
  return libraries;
}

// A program without an interpreter (program header of type 3, PT_INTERP) needs no loader and no libraries.
function isStatic(path: string): boolean {
  const file = readFileSync(path);
  if (file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2) throw new Error(`${path} is no 64-bit ELF program`);
  const tableOffset = Number(file.readBigUInt64LE(32));
  const entryBytes = file.readUInt16LE(54);
  const entries = file.readUInt16LE(56);
  for (let index = 0; index < entries; index++) {
    if (file.readUInt32LE(tableOffset + index * entryBytes) === 3) return false;
  }
  return true;
}

/** A file of this machine at a path of the image, by default the same path, with links resolved. */
export function hostFile(path: string, imagePath = path): TarEntry {
  return { path: imagePath.replace(/^\/+/, ''), kind: 'file', content: readFileSync(realpathSync(path)), mode: 0o755 };
}

/** Programs in `/bin` of the image with all libraries that they load, each file once. */
export function programFiles(paths: readonly string[]): TarEntry[] {
  const libraries = new Set(paths.flatMap(librariesOf));
  return [
    ...paths.map((path) => hostFile(path, `bin/${path.slice(path.lastIndexOf('/') + 1)}`)),
    ...[...libraries].map((path) => hostFile(path)),
  ];
}
