/**
 * The option sets that `keelson up` and `keelson server` take too (admission, authentication, authorization, audit, limits,
 * node ports), read from a command line of Go's grammar. The default of `--authorization-mode` differs, as upstream: the API
 * server alone allows everything.
 */
import { apiServerFlags, parseApiServerOptions, type ApiServerOptions } from '../options/api-server-options.ts';
import { OptionsError, type Flag as SharedFlag, type FlagValues as SharedValues } from '../options/flags.ts';
import { FlagError, type Flag, type FlagValues, type OptionSet } from '../../component-helpers/command-line/flags.ts';

/** All shared options as one set. */
export const sharedOptions: OptionSet<ApiServerOptions> = {
  flags: apiServerFlags.map(toFlag),
  read(values) {
    try {
      const fromFlags = sharedValuesOf(values);
      const unsaid = fromFlags['authorization-config'] === undefined ? { 'authorization-mode': 'AlwaysAllow' } : {};
      return parseApiServerOptions({ ...unsaid, ...fromFlags });
    } catch (error) {
      throw error instanceof OptionsError ? new FlagError(error.message) : error;
    }
  },
};

function typeOf({ list, value }: SharedFlag): Flag['type'] {
  if (list === true) return 'list';
  return value === '<bool>' ? 'bool' : 'string';
}

function toFlag(flag: SharedFlag): Flag {
  const { name, description, deprecated } = flag;
  return { name, type: typeOf(flag), description, deprecated };
}

function sharedValuesOf(values: FlagValues): SharedValues {
  const fromFlags: Record<string, string | readonly string[]> = {};
  for (const flag of apiServerFlags) {
    const { name } = flag;
    const type = typeOf(flag);
    const value =
      type === 'list' ? values.list(name) : type === 'bool' ? values.bool(name)?.toString() : values.text(name);
    if (value !== undefined) fromFlags[name] = value;
  }
  return fromFlags;
}
