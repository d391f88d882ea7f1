/**
 * Which resources are served: stable versions by default, others as `--runtime-config` says. Upstream:
 * server/options/api_enablement.go. Keys: `api/all`, `api/ga`, `api/beta`, `api/alpha`, `<group>/<version>`,
 * `<group>/<version>/<resource>`; the core group is `v1`, `/v1` (upstream) or `api/v1` (the early releases). The most
 * specific key wins.
 */
import { apiVersionOf } from '../api/resource-info.ts';
import type { ResourceDefinition } from './registry/resource-definition.ts';

/** Parsed `--runtime-config`. */
export type RuntimeConfig = ReadonlyMap<string, boolean>;

/** Parses `a=true,b=false`. Throws an Error for an invalid text and for enabling something that does not exist. */
export function parseRuntimeConfig(text: string, definitions: readonly ResourceDefinition[]): RuntimeConfig {
  const config = new Map<string, boolean>();
  for (const part of text.split(',').filter((one) => one !== '')) {
    const at = part.indexOf('=');
    const key = at < 0 ? part : part.slice(0, at);
    const value = at < 0 ? 'true' : part.slice(at + 1);
    if (value !== 'true' && value !== 'false')
      throw new Error(`runtime-config: invalid value of ${key}: ${JSON.stringify(value)} (true or false)`);
    const path = key.replace(/^(api)?\/(?=v1(\/|$))/, '');
    if (!WIDE_KEYS.includes(path)) checkKey(path, value === 'true', definitions);
    config.set(path, value === 'true');
  }
  return config;
}

const WIDE_KEYS: readonly string[] = ['api/all', 'api/ga', 'api/beta', 'api/alpha'];

/** A version or resource that does not exist can be disabled but not enabled. */
function checkKey(key: string, isEnabled: boolean, definitions: readonly ResourceDefinition[]): void {
  const [groupVersion, resource] = /^(v1|[^/]+\/[^/]+)(?:\/([^/]+))?$/.exec(key)?.slice(1) ?? [];
  if (groupVersion === undefined) throw new Error(`runtime-config: invalid key ${key}`);
  const group = groupVersion.slice(0, Math.max(0, groupVersion.indexOf('/')));
  const ofGroup = definitions.filter(({ info }) => info.group === group);
  if (ofGroup.length === 0) throw new Error(`runtime-config: unknown api groups ${group}`);
  const found = ofGroup.some(
    ({ info }) => apiVersionOf(info) === groupVersion && (resource === undefined || info.resource === resource),
  );
  if (isEnabled && !found) throw new Error(`runtime-config: there is no ${key} to serve`);
}

function stability(version: string): string {
  return version.includes('alpha') ? 'api/alpha' : version.includes('beta') ? 'api/beta' : 'api/ga';
}

export function isServed(config: RuntimeConfig, definition: ResourceDefinition): boolean {
  const { info } = definition;
  // Custom resources are served according to their definition.
  if (definition.schema !== undefined) return definition.enabledByDefault;
  const groupVersion = apiVersionOf(info);
  for (const key of [`${groupVersion}/${info.resource}`, groupVersion, stability(info.version), 'api/all']) {
    const configured = config.get(key);
    if (configured !== undefined) return configured;
  }
  return definition.enabledByDefault;
}
