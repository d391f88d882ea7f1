/** The console's built files: beside the bundle, or in `dist/` of the checkout when the sources run unbundled. */
import { readFile } from 'node:fs/promises';
import type { ConsoleFile, ConsoleFiles, ConsolePorts } from '../../apiserver/console/contract.ts';
import { hasErrorCode } from '../../base/errors.ts';

const folder = new URL(import.meta.url.endsWith('.ts') ? '../../../dist/console/' : './console/', import.meta.url);

const consoleFiles: ConsoleFiles = {
  async index() {
    try {
      const text = await readFile(new URL('files.json', folder), 'utf8');
      return new Map(Object.entries(JSON.parse(text) as Record<string, ConsoleFile>));
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  },
  read: (name, encoding) => readFile(new URL(`${name}${suffixOf(encoding)}`, folder)),
};

function suffixOf(encoding: 'br' | 'gzip' | undefined): string {
  if (encoding === undefined) return '';
  return encoding === 'br' ? '.br' : '.gz';
}

/** The ports that the console needs of this process. */
export function consolePorts(platform: Pick<ConsolePorts, 'clock' | 'random'>): ConsolePorts {
  return { clock: platform.clock, random: platform.random, files: consoleFiles };
}
