/**
 * Flags of upstream that choose between ways of which there is one here: who sets what is done anyway is not refused, who
 * wants another way is told.
 */
import { FlagError, type OptionSet } from './flags.ts';

/** What is done, by flag; several: they come to the same. */
const fixed: Readonly<Record<string, readonly string[]>> = {
  profiling: ['false'],
  'contention-profiling': ['false'],
  'watch-cache': ['true'],
  'enable-garbage-collector': ['true'],
  // Requests reach the same servers either way.
  'enable-aggregator-routing': ['true', 'false'],
  'endpoint-reconciler-type': ['lease'],
  'authentication-token-webhook-version': ['v1'],
  'authorization-webhook-version': ['v1'],
  'audit-log-version': ['audit.k8s.io/v1'],
  'audit-webhook-version': ['audit.k8s.io/v1'],
  'logging-format': ['json'],
  'allow-privileged': ['true'],
};

const isBool = (values: readonly string[]): boolean => values[0] === 'true' || values[0] === 'false';

/** All of them. */
export const fixedOptions: OptionSet<void> = {
  flags: Object.entries(fixed).map(([name, values]) => ({
    name,
    type: isBool(values) ? 'bool' : 'string',
    description: `always ${values.join(' or ')} here`,
  })),
  read(values) {
    for (const [name, [value = '', ...others]] of Object.entries(fixed)) {
      const given = isBool([value]) ? values.bool(name)?.toString() : values.text(name);
      if (given === undefined || given === value || others.includes(given)) continue;
      const hint = name === 'allow-privileged' ? 'use Pod Security admission' : `it is always ${value} here`;
      throw new FlagError(`--${name}=${given}: ${hint}`);
    }
  },
};
