/** Pod security levels and versions, and the policy a namespace's labels ask for. Upstream: pod-security-admission/api. */
import type { FieldCause } from '../../../api/status-error.ts';
import type { Labels } from '../../../api/label-selector.ts';

/** Levels from lax to strict. */
export const LEVELS = ['privileged', 'baseline', 'restricted'] as const;

export type Level = (typeof LEVELS)[number];

/** A level as of a minor version of Kubernetes; `latest`: the newest rules. */
export interface LevelVersion {
  readonly level: Level;
  readonly version: 'latest' | number;
}

/** The levels that are enforced, audited and warned of. */
export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

export type Mode = keyof Policy;

const MODES: readonly Mode[] = ['enforce', 'audit', 'warn'];

/** Prefix of the labels, and of audit annotations. */
export const PREFIX = 'pod-security.kubernetes.io/';

const ANYTHING: LevelVersion = { level: 'privileged', version: 'latest' };

/** The policy without any labels. */
export const PRIVILEGED_POLICY: Policy = { enforce: ANYTHING, audit: ANYTHING, warn: ANYTHING };

/** `restricted:latest`, `baseline:v1.25`. */
export function levelText({ level, version }: LevelVersion): string {
  return `${level}:${version === 'latest' ? version : `v1.${version}`}`;
}

/** Whether both mean the same. */
export function sameLevel(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.version === b.version;
}

/** Whether `a` is no stricter than `b`. */
export function isRelaxed(a: LevelVersion, b: LevelVersion): boolean {
  return a.version === b.version && LEVELS.indexOf(a.level) <= LEVELS.indexOf(b.level);
}

/** Parses a version; undefined when it is invalid. */
export function parseVersion(text: string): LevelVersion['version'] | undefined {
  if (text === 'latest') return text;
  const minor = /^v1\.(0|[1-9][0-9]*)$/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

/** The policy of a namespace, and the errors in its labels. An unknown level counts as the strictest. */
export function policyOf(labels: Labels, defaults: Policy): { readonly policy: Policy; readonly errors: FieldCause[] } {
  const errors: FieldCause[] = [];
  const complain = (key: string, value: string, text: string): void => {
    errors.push({
      reason: 'FieldValueInvalid',
      field: `metadata.labels[${key}]`,
      text: `Invalid value: ${JSON.stringify(value)}: ${text}`,
    });
  };
  const read = (mode: Mode): LevelVersion => {
    const level = labels?.[PREFIX + mode];
    const version = labels?.[`${PREFIX}${mode}-version`];
    const knownLevel = LEVELS.find((one) => one === level);
    if (level !== undefined && knownLevel === undefined)
      complain(PREFIX + mode, level, `must be one of ${LEVELS.join(', ')}`);
    const parsed = version === undefined ? undefined : parseVersion(version);
    if (version !== undefined && parsed === undefined)
      complain(`${PREFIX}${mode}-version`, version, 'must be "latest" or "v1.x"');
    return {
      level: level === undefined ? defaults[mode].level : (knownLevel ?? 'restricted'),
      version: version === undefined ? defaults[mode].version : (parsed ?? 'latest'),
    };
  };
  const [enforce, audit, warn] = MODES.map(read);
  return { policy: { enforce: enforce!, audit: audit!, warn: warn! }, errors };
}
