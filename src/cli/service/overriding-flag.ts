/** Flags in a service's unit, which take precedence over what the data directory remembers. */
import type { Platform } from '../../platform/platform.ts';
import { SYSTEM_UNITS, unitsOf } from './install-service.ts';

/**
 * The first of the flags in the unit of a data directory, or its `--config`, whose file may have them. Undefined
 * where there is none.
 */
export async function overridingFlag(
  deps: Pick<Platform, 'files' | 'exec'>,
  dataDir: string,
  flags: readonly string[],
): Promise<{ readonly unit: string; readonly flag: string } | undefined> {
  for (const { name, text } of await unitsOf(deps, SYSTEM_UNITS, dataDir)) {
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(text) ?? [];
    const words = command.split(' ');
    for (const wanted of [...flags, 'config']) {
      const flag = words.find((word) => word.replace(/^"/, '').startsWith(`--${wanted}=`));
      if (flag !== undefined) return { unit: `${SYSTEM_UNITS}/${name}`, flag };
    }
  }
  return undefined;
}
