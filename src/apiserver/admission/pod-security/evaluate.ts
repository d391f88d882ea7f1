/** Which rules a pod breaks at a level. Upstream: pod-security-admission/policy/registry.go. */
import type { PodSpec } from '../../../api/gen/core-v1.ts';
import type { ObjectMeta } from '../../../api/gen/meta-v1.ts';
import { baselineChecks } from './baseline-checks.ts';
import { type Check, checkedPod, type Violation } from './check.ts';
import type { LevelVersion } from './policy.ts';
import { restrictedChecks } from './restricted-checks.ts';

/** The version of these rules. */
const LATEST_MINOR = 36;

function checksFor(level: LevelVersion['level'], minor: number): Check[] {
  if (level === 'privileged') return [];
  const baseline = baselineChecks.filter(({ since }) => since <= minor);
  if (level === 'baseline') return baseline;
  const restricted = restrictedChecks.filter(({ since }) => since <= minor);
  const overridden = new Set(restricted.flatMap(({ overrides = [] }) => overrides));
  return [...baseline.filter(({ id }) => !overridden.has(id)), ...restricted];
}

/** The violations of the level, in upstream's order; empty: none. */
export function violationsOf(
  metadata: ObjectMeta | undefined,
  spec: PodSpec,
  { level, version }: LevelVersion,
): Violation[] {
  const minor = version === 'latest' ? LATEST_MINOR : Math.min(version, LATEST_MINOR);
  const pod = checkedPod(metadata, spec);
  return checksFor(level, minor)
    .map((check) => check.run(pod, minor))
    .filter((violation) => violation !== undefined);
}

/** `privileged, hostPort`. */
export function reasonsText(violations: readonly Violation[]): string {
  return violations.map(({ reason }) => reason).join(', ');
}

/** `privileged (container "a" must not …), hostPort (…)`. */
export function detailsText(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');
}
