/** What checks of the kubelet's configuration share. */
import { parseDurationMs } from '../../api/duration.ts';
import type { KubeletConfigurationV1Beta1 } from './fields.ts';

export type Check = (c: KubeletConfigurationV1Beta1) => readonly (string | false)[];
export const ms = (text: string): number => parseDurationMs(text) ?? Number.NaN;
export const quoted = JSON.stringify;
export const between = (value: number, low: number, high: number): boolean => value >= low && value <= high;
export function negative(flag: string, name: string, value: number): string | false {
  return value < 0 && `${name} (--${flag}) ${value} must not be a negative number`;
}
