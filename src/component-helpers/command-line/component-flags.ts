/** Flags that all of upstream's components have: logs, metrics, profiling, versions. */
import type { FixedFlag, FixedFlags } from './fixed-flags.ts';

/** A flag whose values all have the same effect; a value other than upstream's default causes the note as a warning. */
export const anyValue = (usual: string, note: string, type: FixedFlag['type'] = 'string'): FixedFlag => ({
  type: usual === 'true' || usual === 'false' ? 'bool' : type,
  is: [usual],
  note,
  description: note,
});

/** Several such flags with the same note, by upstream's defaults. */
export const anyValues = (note: string, usual: Readonly<Record<string, string>>): FixedFlags =>
  Object.fromEntries(Object.entries(usual).map(([name, value]) => [name, anyValue(value, note)]));

/** A flag that accepts only upstream's default, since what it enables does not exist here. */
export const onlyDefault = (is: string, otherwise: string, description: string): FixedFlag => ({
  type: is === 'true' || is === 'false' ? 'bool' : 'string',
  is: [is],
  otherwise,
  description,
});

const UNLABELLED = 'metrics have the labels they have here';

export const componentFlags: FixedFlags = {
  profiling: {
    type: 'bool',
    is: ['false'],
    noted: { true: '/debug/pprof is not served; node --inspect and --cpu-prof profile this process' },
    description: 'nothing is served at /debug/pprof, whatever is asked for',
  },
  'contention-profiling': onlyDefault('false', 'there are no locks to profile', 'always false here'),
  'allow-metric-labels': onlyDefault('', UNLABELLED, 'not offered'),
  'allow-metric-labels-manifest': onlyDefault('', UNLABELLED, 'not offered'),
  'disabled-metrics': onlyDefault('', 'metrics cannot be left out here', 'not offered'),
  'show-hidden-metrics-for-version': anyValue('', 'no metric is hidden here'),
  'emulated-version': onlyDefault('1.36', 'only version 1.36 is served', 'always 1.36 here'),
  'min-compatibility-version': anyValue('1.35', 'read, without effect: no other version is emulated'),
  'emulation-forward-compatible': anyValue('false', 'read, without effect: no other version is emulated'),
  'log-flush-frequency': anyValue('5s', 'lines are written at once'),
  'log-json-info-buffer-size': anyValue('0', 'lines are written at once'),
  'log-json-split-stream': onlyDefault('false', 'there is one stream of lines', 'always false here'),
  'log-text-info-buffer-size': anyValue('0', 'lines are written at once'),
  'log-text-split-stream': onlyDefault('false', 'there is one stream of lines', 'always false here'),
  vmodule: anyValue('', 'read, without effect: verbosity is one for all'),
};
