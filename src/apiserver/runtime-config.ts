/**
 * Which resources are served: stable versions by default, others as `--runtime-config` says. Upstream:
 * server/options/api_enablement.go. Keys: `api/all`, `api/ga`, `api/beta`, `api/alpha`, `<group>/<version>` (`v1` for the
 * core group), `<group>/<version>/<resource>`. The most specific key wins.
 */
import { apiVersionOf } from '../api/resource-info.ts';
import type { ResourceDefinition } from './registry/resource-definition.ts';

/** Parsed `--runtime-config`. */
export type RuntimeConfig = ReadonlyMap<string, boolean>;

/** Reads `a=true,b=false`. Throws an Error that says what is wrong. */
export function parseRuntimeConfig(text: string): RuntimeConfig {
  const config = new Map<string, boolean>();
  for (const part of text.split(',').filter((one) => one !== '')) {
    const at = part.indexOf('=');
    const key = at < 0 ? part : part.slice(0, at);
    const value = at < 0 ? 'true' : part.slice(at + 1);
    if (value !== 'true' && value !== 'false')
      throw new Error(`runtime-config: invalid value of ${key}: ${JSON.stringify(value)} (true or false)`);
    config.set(key, value === 'true');
  }
  return config;
}

function stability(version: string): string {
  return version.includes('alpha') ? 'api/alpha' : version.includes('beta') ? 'api/beta' : 'api/ga';
}

/** Whether a resource is served. */
export function isServed(config: RuntimeConfig, definition: ResourceDefinition): boolean {
  const { info } = definition;
  // Custom resources are served as their definition says.
  if (definition.schema !== undefined) return definition.enabledByDefault;
  const groupVersion = apiVersionOf(info);
  for (const key of [`${groupVersion}/${info.resource}`, groupVersion, stability(info.version), 'api/all']) {
    const said = config.get(key);
    if (said !== undefined) return said;
  }
  return definition.enabledByDefault;
}
