// Validation of device taint rules. Upstream: resource/validation (ValidateDeviceTaintRule).
import type { Field } from '../field-error.ts';
import type { Condition } from '../gen/meta-v1.ts';
import type { DeviceTaint } from '../gen/resource-v1.ts';
import { validateConditions } from './common.ts';
import { validateDeviceTaint, validateDriverName, validateLabelLikeName, validatePoolName } from './device-parts.ts';

const MAX_RULE_CONDITIONS = 8;

/** A DeviceTaintRule of any version. */
export interface TaintRule {
  readonly spec?: {
    readonly deviceSelector?: { readonly driver?: string; readonly pool?: string; readonly device?: string };
    readonly taint: DeviceTaint;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Validates the device selector and the taint of a rule. */
export function validateDeviceTaintRule({ spec }: TaintRule, field: Field): void {
  const at = field.at('spec');
  const { driver, pool, device } = spec?.deviceSelector ?? {};
  const selector = at.at('deviceSelector');
  if (driver !== undefined) validateDriverName(driver, selector.at('driver'));
  if (pool !== undefined) validatePoolName(pool, selector.at('pool'));
  if (device !== undefined) validateLabelLikeName(device, selector.at('device'));
  validateDeviceTaint(spec?.taint ?? { key: '', effect: '' }, at.at('taint'));
}

export function validateDeviceTaintRuleStatus({ status }: TaintRule, field: Field): void {
  const at = field.at('status').at('conditions');
  const conditions = status?.conditions ?? [];
  validateConditions(conditions, at);
  if (conditions.length > MAX_RULE_CONDITIONS) at.tooMany(conditions.length, MAX_RULE_CONDITIONS);
}
