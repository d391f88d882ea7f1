/** Validation of leases and lease candidates. Upstream: apis/coordination/validation. */
import { compare, semverOf } from '../cel/libraries/semver.ts';
import { FunctionError } from '../cel/runtime/values.ts';
import type { Field } from '../field-error.ts';
import type { Lease } from '../gen/coordination-v1.ts';
import type { LeaseCandidate } from '../gen/coordination-v1beta1.ts';
import { isConfigMapKey, isQualifiedName } from '../names.ts';
import { validateImmutable, validateNonnegative } from './common.ts';

const STRATEGIES = ['OldestEmulationVersion'];

/** As upstream, the path contains the field twice. */
function validateStrategy(strategy: string, field: Field): void {
  const place = field.at('strategy');
  if (strategy.includes('/')) place.complain(strategy, isQualifiedName(strategy));
  else if (!STRATEGIES.includes(strategy)) place.notSupported(strategy, STRATEGIES);
}

export function validateLease({ spec = {} }: Lease, field: Field): void {
  const place = field.at('spec');
  const { leaseDurationSeconds: seconds, leaseTransitions, strategy, preferredHolder = '' } = spec;
  if (seconds !== undefined && seconds <= 0)
    place.at('leaseDurationSeconds').invalid(seconds, 'must be greater than 0');
  validateNonnegative(leaseTransitions, place.at('leaseTransitions'));
  if (strategy !== undefined) validateStrategy(strategy, place.at('strategy'));
  if (preferredHolder !== '' && (strategy ?? '') === '')
    place.at('preferredHolder').forbidden('may only be specified if `strategy` is defined');
}

/** The name of a candidate must have the form of a config map's key. */
export function nameOfCandidate(name: string): string[] {
  return isConfigMapKey(name);
}

type Version = ReturnType<typeof semverOf>;

function validateVersion(text: string, field: Field): Version | undefined {
  try {
    return semverOf(text, false);
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    field.invalid(text, 'must be a valid semantic version');
    return undefined;
  }
}

export function validateLeaseCandidate(candidate: LeaseCandidate, field: Field): void {
  const { leaseName = '', emulationVersion = '', binaryVersion = '', strategy = '' } = candidate.spec ?? {};
  const place = field.at('spec');
  const zero = semverOf('0.0.0', false);
  if (leaseName === '') place.at('leaseName').required();
  const emulated =
    emulationVersion === '' ? zero : (validateVersion(emulationVersion, place.at('emulationVersion')) ?? zero);
  const binary = binaryVersion === '' ? zero : (validateVersion(binaryVersion, place.at('binaryVersion')) ?? zero);
  if (binaryVersion === '') place.at('binaryVersion').required();
  else if (emulationVersion !== '' && compare(binary, emulated) < 0n)
    place.at('binaryVersion').invalid(binaryVersion, 'must be greater than or equal to `emulationVersion`');
  if (strategy === '') return place.at('strategy').required();
  if (strategy === 'OldestEmulationVersion' && compare(emulated, zero) === 0n)
    place.at('emulationVersion').required("must be specified when `strategy` is 'OldestEmulationVersion'");
  validateStrategy(strategy, place.at('strategy'));
}

/** The lease of a candidate is immutable. */
export function validateLeaseCandidateUpdate(candidate: LeaseCandidate, old: LeaseCandidate, field: Field): void {
  validateLeaseCandidate(candidate, field);
  validateImmutable(candidate.spec?.leaseName, old.spec?.leaseName, field.at('spec').at('leaseName'));
}
